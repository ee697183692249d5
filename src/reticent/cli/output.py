"""Printing: one JSON document for programs, or tables and lines for people.

Whatever is printed passes ``printable``: names, labels and texts come from files, and none of their
characters reaches a terminal that could move its cursor or turn its lines round. A table is as wide
as the terminal at most, and breaks lines between words alone (``column_widths``). With ``--quiet``
details are left out: what stands beside a verdict, and lines on the error stream.
"""

import codecs
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Final

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from reticent.cli.quiet import is_quiet
from reticent.results.table import Table
from reticent.validation import printable


def print_json(document: Mapping[str, object]) -> None:
    """One JSON object; NaN and infinities never leave, and odd characters leave as escapes."""
    text = json.dumps(document, ensure_ascii=not _is_utf8(), allow_nan=False, indent=2)
    typer.echo("".join(sign if sign == "\n" else _escaped(sign) for sign in text))


def _is_utf8() -> bool:
    """Whether every character can be printed; a stream without an encoding takes them all."""
    encoding = getattr(sys.stdout, "encoding", None)
    return encoding is None or codecs.lookup(encoding).name == "utf-8"


def _escaped(sign: str) -> str:
    return sign if sign.isprintable() else json.dumps(sign)[1:-1]


def print_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, detail: bool = False
) -> None:
    """A title and a table; numbers come in as text, already rounded the safe way.

    Where not even the longest words of all columns fit beside each other, each row is a block of
    lines. A ``detail`` is left out with ``--quiet``.
    """
    if detail and is_quiet():
        return
    print_line(title)
    names = [printable(column) for column in columns]
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = column_widths(names, cells, _console().width)
    if widths is None:
        _print_blocks(names, cells)
        return
    table = RichTable(show_edge=False, pad_edge=False)
    for index, (name, width) in enumerate(zip(names, widths, strict=True)):
        numeric = all(_is_number(row[index]) for row in rows)
        table.add_column(
            Text(name), justify="right" if numeric else "left", overflow="fold", width=width
        )
    for row in cells:
        table.add_row(*map(Text, row))
    _console().print(table)


def _print_blocks(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Each row as lines of a name and a cell; the first cell stands alone."""
    for row in rows:
        print_line(row[0])
        for name, cell in zip(names[1:], row[1:], strict=True):
            _console().print(Padding(Text(f"{name}: {cell}" if name else cell), (0, 0, 0, 2)))


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


def print_line(line: str = "", *, detail: bool = False) -> None:
    """A line, wrapped at the terminal's width, exactly as it stands: no markup.

    A ``detail`` is left out with ``--quiet``.
    """
    if detail and is_quiet():
        return
    _console().print(printable(line), markup=False, highlight=False)


def print_warning(line: str) -> None:
    """One line on the error stream: whoever reads the answer as JSON is not disturbed.

    With ``--quiet`` only what begins with "warning:" is said. A terminal gets it wrapped at words.
    """
    if is_quiet() and not line.startswith("warning:"):
        return
    console = _Console(stderr=True, highlight=False)
    shown = f"reticent: {printable(line)}"
    console.print(shown, markup=False, soft_wrap=not console.is_terminal)


class _Console(Console):
    """rich ends the program with code 1 where the reader has gone; ``main`` knows better."""

    def on_broken_pipe(self) -> None:
        """Let it be caught above."""
        raise BrokenPipeError


def _console() -> Console:
    # Made anew for each print, so that the stream and the width are those of the moment.
    return _Console(highlight=False)


BETWEEN: Final = 3
"""Characters between two columns: a line with a space on either side."""


def column_widths(
    names: Sequence[str], rows: Sequence[Sequence[str]], available: int
) -> list[int] | None:
    """The width of each column, together with what is between them at most ``available``.

    Columns are as wide as their longest cell where there is room. Else each begins with its longest
    word, and what is left goes where lines are longest. None where the longest words do not fit.

    >>> rows = [("noisy-gradient, proven", "0.853 [0.841, 0.865]")]
    >>> [column_widths(("release", "accuracy"), rows, width) for width in (60, 40, 20)]
    [[22, 20], [19, 18], None]
    """
    columns = [[name, *(row[place] for row in rows)] for place, name in enumerate(names)]
    widest = [max(map(cell_len, column)) for column in columns]
    room = available - BETWEEN * (len(columns) - 1)
    if sum(widest) <= room:
        return widest
    widths = [max(_longest_word(cell) for cell in column) for column in columns]
    if sum(widths) > room:
        return None
    for _ in range(room - sum(widths)):
        lines = [wide / max(width, 1) for wide, width in zip(widest, widths, strict=True)]
        widths[lines.index(max(lines))] += 1
    return [min(width, wide) for width, wide in zip(widths, widest, strict=True)]


def _longest_word(cell: str) -> int:
    return max(map(cell_len, cell.split()), default=0)
