"""One column of a schema: its role, its kind, what a gap means, and where its facts come from."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np

from reticent.arrays import Array, Flags, Floats, Integers
from reticent.data.schema.file_cells import Numbers, Texts
from reticent.data.schema.form import FileForm, InvalidCellError
from reticent.data.schema.kinds import Kind, Number, TrueFalse
from reticent.data.schema.vectors import NumberList, Text
from reticent.validation import InputError, line

PRIVATE: Final = "private table"
"""Where a source says so, its fact was taken from the private records."""


TextEncoder = Callable[[Text, list[str]], Floats]
"""Makes a vector of each text, one text at a time."""


class Role(StrEnum):
    """What a column is for."""

    FEATURE = "feature"
    LABEL = "label"
    PERSON = "person"
    IGNORED = "ignored"


@dataclass(frozen=True, kw_only=True)
class Gap:
    """What an empty cell becomes: a constant, a feature of its own, or an invalid record.

    ``constant`` is written as a cell of its column is, with a decimal point.
    """

    constant: str | None = None
    indicator: bool = False

    @property
    def refused(self) -> bool:
        """Whether a record with a gap is invalid."""
        return self.constant is None and not self.indicator


class Encoded(NamedTuple):
    """Rows of a column and which of them are of valid cells; the others are zeros."""

    rows: Floats
    valid: Flags

    def taken(self, places: Integers) -> "Encoded":
        """The rows of cells that name these places."""
        return Encoded(self.rows[places], self.valid[places])


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column by its name in the file. ``kind`` is None where no cell becomes a feature or label.

    ``source`` says where its facts come from: a law, a codebook, a public table. One that names the
    private table makes every release declared.
    """

    name: str
    role: Role = Role.FEATURE
    kind: Kind | None = None
    gap: Gap = Gap()
    source: str = ""

    def __post_init__(self) -> None:
        """A kind where one is needed, and a gap that it can fill."""
        line("name", self.name)
        if (self.kind is None) != (self.role in (Role.PERSON, Role.IGNORED)):
            what = "a type" if self.kind is None else "no type"
            raise InputError(f"column {self.name!r} must have {what}: its role is {self.role}")
        if self.role is Role.LABEL and not self.gap.refused:
            raise InputError(f"column {self.name!r} must have no rule for gaps: it is the label")
        if self.kind is not None:
            self._check_source()
            self._check_gap()

    def _check_source(self) -> None:
        if not self.source.strip():
            raise InputError(
                f"column {self.name!r} must say where its facts come from, got no source: a law, a"
                f' codebook, a public table, or "{PRIVATE}"'
            )
        line(f"source of {self.name!r}", self.source)

    def _check_gap(self) -> None:
        if isinstance(self.kind, Text) and self.gap.indicator:
            raise InputError(f"column {self.name!r} must have no indicator: an empty text is one")
        if self.gap.constant is None or self.kind is None:
            return
        try:
            self.kind.parse(self.gap.constant, FileForm())
        except InvalidCellError:
            raise InputError(
                f"gap of column {self.name!r} must be {self.kind.rule}, got {self.gap.constant!r}"
            ) from None

    @property
    def inferred(self) -> bool:
        """Whether its facts were taken from the private records."""
        return self.kind is not None and is_private(self.source)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the features that a cell becomes; none where it is no feature."""
        if self.role is not Role.FEATURE or self.kind is None:
            return ()
        more = (f"{self.name} is missing",) if self.gap.indicator else ()
        return (*self.kind.names(self.name), *more)

    @property
    def bound(self) -> float:
        """The largest norm of what a cell becomes; a gap is zeros, and 1 in its own feature."""
        if self.role is not Role.FEATURE or self.kind is None:
            return 0.0
        return max(self.kind.bound, 1.0) if self.gap.indicator else self.kind.bound

    @property
    def reads_numbers(self) -> bool:
        """Whether numbers that a file stores as such are taken as they are."""
        return isinstance(self.kind, (Number, NumberList))

    def encoded(
        self, cells: Texts | Numbers, form: FileForm, encode: TextEncoder | None = None
    ) -> Encoded:
        """What its cells become, each by itself: each distinct text is read once."""
        if isinstance(cells, Numbers):
            return _of_numbers(self, cells)
        assert self.kind is not None
        values, gaps, valid = self._parsed(cells.distinct, form)
        if isinstance(self.kind, Text):
            if encode is None:
                raise InputError(
                    f"column {self.name!r} is a text: read the table with"
                    " reticent.training.encoders.schema_texts.read_with_schema"
                )
            values = list(encode(self.kind, [str(value) for value in values]))
        rows = np.zeros((len(cells.distinct), len(self.names)))
        width = len(self.kind.names(self.name))
        rows[valid & ~gaps, :width] = self.kind.encode(values)
        return Encoded(*self.filled(rows, gaps, valid)).taken(cells.places)

    def _parsed(self, texts: list[str | None], form: FileForm) -> tuple[list[object], Flags, Flags]:
        assert self.kind is not None
        values: list[object] = []
        gaps, valid = np.zeros(len(texts), dtype=bool), np.ones(len(texts), dtype=bool)
        for place, text in enumerate(texts):
            cell = "" if text is None else text.strip()
            if form.is_gap(cell):
                gaps[place] = True
                if not isinstance(self.kind, Text) or self.gap.constant is None:
                    continue
                gaps[place], cell = False, self.gap.constant  # the encoder reads it as well
            try:
                values.append(self.kind.parse(cell, form))
            except InvalidCellError:
                valid[place] = False
        return values, gaps, valid

    def filled(self, rows: Floats, gaps: Flags, valid: Flags) -> tuple[Floats, Flags]:
        """The rows of gaps by the rule of the column."""
        assert self.kind is not None
        if self.gap.indicator:
            rows[gaps, -1] = 1.0
        elif self.gap.constant is not None and not isinstance(self.kind, Text):
            rows[gaps] = self.kind.encode([self.kind.parse(self.gap.constant, FileForm())])
        else:
            valid = valid & ~gaps
        return rows, valid

    def labels(self, cells: Texts, form: FileForm) -> tuple[Array, Flags]:
        """The labels of its cells, and which are of valid cells.

        Places among the classes; 0 or 1 of a column that is true or false; the numbers themselves.
        """
        values, gaps, valid = self._parsed(cells.distinct, form)
        valid &= ~gaps
        kind = np.float64 if isinstance(self.kind, Number) else np.int64
        labels = np.zeros(len(cells.distinct), dtype=kind)
        labels[valid] = np.asarray(values, dtype=kind)
        return labels[cells.places], valid[cells.places]

    def words(self) -> str:
        """What a cell becomes, in words for ``reticent schema``: its fact, features and gaps."""
        if self.kind is None:
            return "says whose a record is" if self.role is Role.PERSON else "not read"
        if self.role is Role.LABEL:
            the = "a" if isinstance(self.kind, TrueFalse) else "the"
            return f"{the} label: {self.kind.fact().replace('categories', 'classes')}"
        made = len(self.names)
        gap = "a record without it is invalid"
        if self.gap.indicator:
            gap = "a gap has a feature of its own"
        elif self.gap.constant is not None:
            gap = f"a gap counts as {self.gap.constant!r}"
        return f"{self.kind.fact()}: {made} feature{'' if made == 1 else 's'}; {gap}"


def _of_numbers(column: Column, cells: Numbers) -> Encoded:
    """Numbers of a file that stores them as such; NaN is a gap, infinity no number."""
    assert column.kind is not None
    rows = np.zeros((len(cells), len(column.names)))
    width = len(column.kind.names(column.name))
    gaps = cells.gaps
    valid = (cells.finite & cells.valid) | gaps
    rows[valid & ~gaps, :width] = column.kind.encode(cells.values[valid & ~gaps])
    return Encoded(*column.filled(rows, gaps, valid))


def is_private(source: str) -> bool:
    """Whether a source is the private table, however it is written."""
    return PRIVATE in " ".join(source.casefold().replace("-", " ").split())
