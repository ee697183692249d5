"""A row of the index: what a paper states, what we have, and the verdict that follows from both.

A verdict is never written down. It is a function of the published value, of ours and of the
tolerance, which stand in the row as text, so that a reader (and a test) can take it again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple

from reticent.results.table import VERDICTS, Judged, Table, limits_of
from reticent.studies.index.sizes import run_on


class Verdict(StrEnum):
    """What can be said of an item."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    FALSE = "claim is false"
    DATA_MISSING = "cannot be: data missing"
    NOT_RUN = "not yet run"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number of ours with its interval; both ends are the number where it is exact."""

    value: float
    low: float
    high: float
    places: int = 4
    text: str | None = None
    """As the table prints it that it was taken from."""

    @classmethod
    def exact(cls, value: float, places: int = 4) -> "Figure":
        """A number that is computed, not measured."""
        return cls(value=value, low=value, high=value, places=places)

    @classmethod
    def of(cls, cell: str) -> "Figure":
        """A cell of a study's table: a number, perhaps with its interval."""
        return cls(**limits_of(cell)._asdict(), text=str(cell))

    def __str__(self) -> str:
        """With its interval, where it has one."""
        if self.text is not None:
            return self.text
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
        verdict = VERDICTS[self.holds]
        return f"{verdict}: {self.why}" if self.why else verdict


class Missing(NamedTuple):
    """Data that the item needs and nobody here has."""

    what: str

    def __str__(self) -> str:
        """What would have to be there."""
        return f"needs {self.what}"


Ours = Figure | Counted | Held | Missing | None
"""None: a study that can be run and has no committed file."""
Kind = Literal["exact", "trained"]
Document = Mapping[str, Any]
Files = Callable[[str], Document | None]
"""The document of a committed file by its name, None where it is not there."""


@dataclass(frozen=True)
class Reader:
    """What we have, taken from the one committed file that holds it; None without the file."""

    file: str
    take: Callable[[Document], Ours]

    def __call__(self, files: Files) -> Ours:
        """As the entries ask for it."""
        document = files(self.file)
        return None if document is None else self.take(document)


def read_from(file: str) -> Callable[[Callable[[Document], Ours]], Reader]:
    """Makes a reader of a function from the document of this file to what we have."""
    return lambda take: Reader(file, take)


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
        command: What makes it, behind ``reticent reproduce``, or a target of make; empty where
            nothing does.
        file: The committed file that it is read from, where no ``Reader`` says it.
        also: Other committed files that it is read from.
        on: The one data set, of several in the file, that the item is about.
        theorem: The sentence is one of mathematics: where it does not hold, it is false.
    """

    item: str
    kind: Kind = "trained"
    source: str
    published: str
    ours: Callable[[Files], Ours]
    command: str
    tolerance: float = 0.0
    file: str | None = None
    also: tuple[str, ...] = ()
    on: str | None = None
    theorem: bool = False

    @property
    def read_from(self) -> str | None:
        """The name of the committed file, None where there is none."""
        return self.ours.file if isinstance(self.ours, Reader) else self.file

    def size(self, files: Files) -> str:
        """On what, and on how little of it, where that is not what the paper had."""
        names = (self.read_from, *self.also)
        return run_on([files(name) for name in names if name is not None], self.on)


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
    """The row, its verdict taken from what stands in it, its size from the committed file."""
    ours = entry.ours(files)
    verdict = verdict_of(entry, ours)
    figures = isinstance(ours, Figure | Counted)
    size = entry.size(files)
    return Row(
        paper=paper,
        item=f"{entry.item} [{size}]" if size else entry.item,
        kind=entry.kind,
        source=entry.source,
        published=entry.published,
        ours="–" if ours is None else str(ours),
        tolerance=f"{entry.tolerance:g}" if figures else "–",
        verdict=str(verdict),
        command=_called(entry.command),
        file="–" if entry.read_from is None else f"{entry.read_from}.json",
    )


def _called(command: str) -> str:
    if command.startswith("make "):
        return command
    return f"reticent reproduce {command}" if command else "–"


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


def table_of(document: Document, number: int = 0) -> Table:
    """A table of a committed file, its cells and notes with their values."""
    return Table.from_dict(document["tables"][number])


def rows_of(document: Document, table: int = 0) -> list[dict[str, str]]:
    """The rows of a table, each by the names of its columns."""
    own = table_of(document, table)
    return [dict(zip(own.columns, row, strict=True)) for row in own.rows]


def number(cell: str) -> float:
    """The number of a cell."""
    return limits_of(cell).value


def cells(document: Document | None, table: int, **where: str) -> dict[str, str] | None:
    """The first row of a table whose cells are these; None without a file, or without such a row.

    Columns that are no identifiers are asked for by the names of ``_COLUMN``.
    """
    if document is None or table >= len(document["tables"]):
        return None
    for row in rows_of(document, table):
        if all(row.get(_COLUMN.get(key, key)) == value for key, value in where.items()):
            return row
    return None


_COLUMN: Final = {"epsilon": "ε", "alpha": "α"}


def judged_of(document: Document, table: int = 0, **wanted: str) -> list[Judged]:
    """The judged sentences below a table whose parts (``claim``, ``of``, ``by``) are these."""
    notes = table_of(document, table).judged
    return [note for note in notes if all(getattr(note, k) == v for k, v in wanted.items())]


def figure_at(file: str, table: int, column: str, **where: str) -> Reader:
    """A cell of a committed table as a figure; its interval in the cell, or beside it."""

    @read_from(file)
    def read(document: Document) -> Ours:
        row = cells(document, table, **where)
        if row is None or row[column] == "–":
            return None
        if "low" in row and "high" in row:
            value, low, high = (number(row[name]) for name in (column, "low", "high"))
            return Figure(value=value, low=low, high=high)
        return Figure.of(row[column])

    return read


def missing(what: str) -> Callable[[Files], Ours]:
    """Data that nobody here has."""
    return lambda _: Missing(what)


def or_missing(read: Callable[[Files], Ours], what: str) -> Callable[[Files], Ours]:
    """What a committed file holds, once somebody who has the data has made it."""

    def read_or_missing(files: Files) -> Ours:
        ours = read(files)
        return Missing(what) if ours is None else ours

    return read_or_missing


def computed(compute: Callable[[], Ours]) -> Callable[[Files], Ours]:
    """An exact item: computed when it is asked for."""
    return lambda _: compute()


def exact_entry(
    item: str,
    published: str,
    compute: Callable[[], Ours],
    *,
    source: str | None = None,
    **more: Any,
) -> Entry:
    """An item that is computed; its source is its name, where nothing else is said."""
    return Entry(
        item=item,
        kind="exact",
        source=item if source is None else source,
        published=published,
        ours=computed(compute),
        **more,
    )
