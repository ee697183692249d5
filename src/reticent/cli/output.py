"""Printing: one JSON document for programs, or tables and lines for people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import typer
from rich.console import Console
from rich.table import Table


def print_json(document: Mapping[str, object]) -> None:
    """One JSON object; NaN and infinities never leave."""
    typer.echo(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table with a title; numbers come in as text, already rounded the safe way."""
    table = Table(title=title, title_justify="left", title_style="bold", show_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    _console().print(table)


def print_line(line: str = "") -> None:
    """A line, wrapped at the terminal's width, exactly as it stands: no markup."""
    _console().print(line, markup=False, highlight=False)


def _console() -> Console:
    # Made anew for each print, so that the stream and the width are those of the moment.
    return Console(highlight=False)
