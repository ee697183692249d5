"""Printing: one JSON document for programs, or tables and lines for people.

Whatever is printed passes ``printable``: names, labels and texts come from files, and none of their
characters reaches a terminal that could move its cursor or turn its lines round.
"""

import json
from collections.abc import Mapping, Sequence

import typer
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from reticent.results.table import Table
from reticent.validation import printable


def print_json(document: Mapping[str, object]) -> None:
    """One JSON object; NaN and infinities never leave, and odd characters leave as escapes."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)
    typer.echo("".join(sign if sign == "\n" else _escaped(sign) for sign in text))


def _escaped(sign: str) -> str:
    return sign if sign.isprintable() else json.dumps(sign)[1:-1]


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A title and a table; numbers come in as text, already rounded the safe way."""
    table = RichTable(show_edge=False, pad_edge=False)
    for index, column in enumerate(columns):
        numeric = all(_is_number(row[index]) for row in rows)
        table.add_column(
            Text(printable(column)), justify="right" if numeric else "left", overflow="fold"
        )
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    print_line(title)
    _console().print(table)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell == "–"
    return True


def print_titled(table: Table) -> None:
    """A table of a run or a study with its notes, and an empty line after it."""
    print_table(table.title, table.columns, table.rows)
    for note in table.notes:
        print_line(note)
    print_line()


def print_line(line: str = "") -> None:
    """A line, wrapped at the terminal's width, exactly as it stands: no markup."""
    _console().print(printable(line), markup=False, highlight=False)


def print_warning(line: str) -> None:
    """One line on the error stream: whoever reads the answer as JSON is not disturbed."""
    shown = f"reticent: {printable(line)}"
    _Console(stderr=True, highlight=False).print(shown, markup=False, soft_wrap=True)


class _Console(Console):
    """rich ends the program with code 1 where the reader has gone; ``main`` knows better."""

    def on_broken_pipe(self) -> None:
        """Let it be caught above."""
        raise BrokenPipeError


def _console() -> Console:
    # Made anew for each print, so that the stream and the width are those of the moment.
    return _Console(highlight=False)
