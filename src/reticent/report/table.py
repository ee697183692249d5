"""A table as values: printed in the page, and written with all digits into a file."""

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from reticent.data.cells import no_formula
from reticent.report.numbers import NOTHING

INTERVAL: Final = ("value", "low", "high", "confidence")


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column: how a value is printed, and which of its parts a file has columns for."""

    name: str
    show: Callable[[Any], str] = str
    numeric: bool = False
    parts: tuple[str, ...] = ()
    below: bool = False
    """Printed in a line under the row, over the whole width: long words, and what is looked up."""

    @property
    def headers(self) -> tuple[str, ...]:
        """Of the columns in a file."""
        return tuple(f"{self.name} {part}" for part in self.parts) or (self.name,)

    def shown(self, cell: object) -> str:
        """A value as it is printed."""
        return NOTHING if cell is None else self.show(cell)

    def plain(self, cell: object) -> Iterable[object]:
        """A value as it stands in a file."""
        if not self.parts:
            return (no_formula(cell),)
        return (None if cell is None else no_formula(attrgetter(part)(cell)) for part in self.parts)


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of values under columns, with a caption."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    marked: frozenset[int] = frozenset()
    """Rows that stand out."""
    bad: frozenset[int] = frozenset()
    """Rows of refuted claims."""
    most: int | None = None
    """Rows on the page; all of them are in the file."""

    @property
    def across(self) -> tuple[Column, ...]:
        """The columns that stand side by side on the page."""
        return tuple(column for column in self.columns if not column.below)

    @property
    def printed(self) -> list[tuple[list[tuple[Column, str]], list[tuple[str, str]]]]:
        """Rows as the page shows them: cells with their columns, and names and texts below."""
        return [self._printed(row) for row in self.rows[: self.most]]

    def _printed(self, row: tuple[Any, ...]) -> tuple[list[tuple[Column, str]], list[Any]]:
        cells = list(zip(self.columns, row, strict=True))
        across = [(column, column.shown(cell)) for column, cell in cells if not column.below]
        below = [
            (column.name, column.shown(cell))
            for column, cell in cells
            if column.below and cell is not None
        ]
        return across, below

    def csv(self) -> str:
        """All values with all digits."""
        target = io.StringIO()
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow([header for column in self.columns for header in column.headers])
        for row in self.rows:
            pairs = zip(self.columns, row, strict=True)
            writer.writerow([part for column, cell in pairs for part in column.plain(cell)])
        return target.getvalue()


def places(flags: Iterable[bool]) -> frozenset[int]:
    """Where a flag is set."""
    return frozenset(place for place, flag in enumerate(flags) if flag)
