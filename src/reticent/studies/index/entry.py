"""A row of the index: what a paper states, what we have, and the verdict that follows from both.

A verdict is never written down. It is a function of the published value, of ours and of the
tolerance, which stand in the row as text, so that a reader (and a test) can take it again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple


class Verdict(StrEnum):
    """What can be said of an item."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    FALSE = "claim is false"
    DATA_MISSING = "cannot be: data missing"
    NOT_RUN = "not yet run"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number of ours with its interval; both ends are the number where it is exact.

    >>> Figure.read("0.617 [0.609, 0.625]").low
    0.609
    """

    value: float
    low: float
    high: float
    places: int = 4

    @classmethod
    def exact(cls, value: float, places: int = 4) -> Figure:
        """A number that is computed, not measured."""
        return cls(value=value, low=value, high=value, places=places)

    @classmethod
    def read(cls, text: str) -> Figure:
        """As tables of studies have it: a number, perhaps with its interval behind it."""
        parts = re.findall(r"-?\d*\.?\d+(?:e-?\d+)?", text)
        numbers = [float(part) for part in parts]
        value, low, high = numbers if len(numbers) == 3 else (numbers[0],) * 3
        places = len(parts[0].partition(".")[2])
        return cls(value=value, low=low, high=high, places=places)

    def __str__(self) -> str:
        """With its interval, where it has one."""
        shown = [f"{number:.{self.places}f}" for number in (self.value, self.low, self.high)]
        return shown[0] if self.low == self.high else f"{shown[0]} [{shown[1]}, {shown[2]}]"


class Counted(NamedTuple):
    """So many of what was published came out."""

    matched: int
    whole: int

    def __str__(self) -> str:
        """Both numbers."""
        return f"{self.matched} of {self.whole}"


class Held(NamedTuple):
    """Whether a sentence holds, and what decides it."""

    holds: bool
    why: str = ""

    def __str__(self) -> str:
        """The words first."""
        said = "holds" if self.holds else "does not hold"
        return f"{said}: {self.why}" if self.why else said


class Missing(NamedTuple):
    """Data that the item needs and nobody here has."""

    what: str

    def __str__(self) -> str:
        """What would have to be there."""
        return f"needs {self.what}"


Ours = Figure | Counted | Held | Missing | None
"""None: a study that can be run and has no committed file."""
Kind = Literal["exact", "trained"]
Files = Callable[[str], Mapping[str, Any] | None]
"""The document of a committed file by its name, None where it is not there."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One item of a paper.

    Args:
        item: Its name in the checklist.
        kind: Whether it is computed or needs training.
        source: Page, table, equation or section.
        published: As the source has it.
        ours: From committed files; exact ones look at none.
        tolerance: How far a figure may be from the published one, how many may differ.
        command: What makes it, behind ``reticent reproduce``; empty where no study does.
        file: The committed file that it is read from.
        theorem: The sentence is one of mathematics: where it does not hold, it is false.
    """

    item: str
    kind: Kind
    source: str
    published: str
    ours: Callable[[Files], Ours]
    command: str
    tolerance: float = 0.0
    file: str | None = None
    theorem: bool = False


class Row(NamedTuple):
    """An entry as it is printed."""

    paper: str
    item: str
    kind: str
    source: str
    published: str
    ours: str
    tolerance: str
    verdict: str
    command: str
    file: str


COLUMNS: Final = Row._fields


def row_of(paper: str, entry: Entry, files: Files) -> Row:
    """The row, its verdict taken from what stands in it."""
    ours = entry.ours(files)
    verdict = verdict_of(entry, ours)
    figures = isinstance(ours, Figure | Counted)
    return Row(
        paper=paper,
        item=entry.item,
        kind=entry.kind,
        source=entry.source,
        published=entry.published,
        ours="–" if ours is None else str(ours),
        tolerance=f"{entry.tolerance:g}" if figures else "–",
        verdict=str(verdict),
        command=f"reticent reproduce {entry.command}" if entry.command else "–",
        file="–" if entry.file is None else f"{entry.file}.json",
    )


def verdict_of(entry: Entry, ours: Ours) -> Verdict:
    """Near enough, all of them, or true.

    A figure is reproduced where the published value is within the tolerance of its interval.
    """
    if ours is None:
        return Verdict.NOT_RUN
    if isinstance(ours, Missing):
        return Verdict.DATA_MISSING
    if isinstance(ours, Figure):
        near = is_near(float(entry.published), ours, entry.tolerance)
    elif isinstance(ours, Counted):
        near = ours.whole - ours.matched <= entry.tolerance
    else:
        near = ours.holds
    if near:
        return Verdict.REPRODUCED
    return Verdict.FALSE if entry.theorem else Verdict.NOT_REPRODUCED


def is_near(published: float, ours: Figure, tolerance: float) -> bool:
    """Whether the published value is at most so far from the interval."""
    below, above = ours.low - published, published - ours.high
    return max(below, above, 0.0) <= tolerance + 1e-12


# ---------------------------------------------------------------------- reading committed tables


def cells(document: Mapping[str, Any] | None, table: int, **where: str) -> dict[str, str] | None:
    """The first row of a table whose cells are these; None without a file, or without such a row.

    Columns that are no identifiers are asked for by ``columns_of``.
    """
    if document is None or table >= len(document["tables"]):
        return None
    found = document["tables"][table]
    for row in found["rows"]:
        named = dict(zip(found["columns"], row, strict=True))
        if all(named.get(_COLUMN.get(key, key)) == value for key, value in where.items()):
            return named
    return None


_COLUMN: Final = {"epsilon": "ε", "alpha": "α"}


def figure_at(file: str, table: int, column: str, **where: str) -> Callable[[Files], Ours]:
    """A cell of a committed table as a figure; its interval in the cell, or beside it."""

    def read(files: Files) -> Ours:
        row = cells(files(file), table, **where)
        if row is None or row[column] == "–":
            return None
        if "low" in row and "high" in row:
            value, low, high = (float(row[name]) for name in (column, "low", "high"))
            return Figure(value=value, low=low, high=high)
        return Figure.read(row[column])

    return read


def constant(ours: Ours) -> Callable[[Files], Ours]:
    """Nothing is read."""
    return lambda _: ours


def missing(what: str) -> Callable[[Files], Ours]:
    """Data that nobody here has."""
    return constant(Missing(what))


def not_run(_: Files) -> Ours:
    """A study that was not run."""
    return None


def computed(compute: Callable[[], Ours]) -> Callable[[Files], Ours]:
    """An exact item: computed when it is asked for."""
    return lambda _: compute()
