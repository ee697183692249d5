"""What the cells of a column are, and what one cell becomes: numbers in [−1, 1], by itself.

A kind reads the text of one cell (``parse``) and knows nothing of the others: neither their range,
nor their list, nor their mean. Everything else that it needs is a public fact of the schema.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

import numpy as np

from reticent.arrays import Floats
from reticent.data.schema.form import FileForm, InvalidCellError
from reticent.validation import InputError, finite, line

_FIELDS: Final = frozenset("YmdHMSfyj%")
"""Of a date's format: those that no language changes."""
OTHER: Final = "other"


class Kind(ABC):
    """One type of column. Values are what ``parse`` reads; ``encode`` makes rows of them."""

    type: ClassVar[str]
    """Its name in a schema file."""

    @property
    @abstractmethod
    def rule(self) -> str:
        """What a cell must be, for messages."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """The largest norm of what a cell becomes."""

    @abstractmethod
    def names(self, column: str) -> tuple[str, ...]:
        """Of the features that a cell becomes."""

    @abstractmethod
    def parse(self, cell: str, form: FileForm) -> Any:
        """The value of a cell without spaces around it; InvalidCellError where it has none."""

    @abstractmethod
    def encode(self, values: Any) -> Floats:
        """A row for each value, of the width of ``names``, each of its value alone."""

    @abstractmethod
    def fact(self) -> str:
        """The public fact in a few words."""


class OneFeature(Kind):
    """A kind whose cells become one number in [−1, 1] each, the value itself unless it says so."""

    @property
    def bound(self) -> float:
        """1, the largest distance of an encoded value from zero."""
        return 1.0

    def names(self, column: str) -> tuple[str, ...]:
        """The name of its one feature, which is that of the column."""
        return (column,)

    def encode(self, values: Sequence[float] | Floats) -> Floats:
        """Parsed values as a matrix of one column, in float64."""
        return np.asarray(values, dtype=np.float64).reshape(-1, 1)


def scaled_to_range(values: Floats, low: float, high: float, zero: float) -> Floats:
    """(x − zero)/span of x cut to [low, high]: each of four roundings is of one cell."""
    span = max(high - zero, zero - low)
    scaled: Floats = (np.minimum(np.maximum(values, low), high) - zero) / span
    return scaled


@dataclass(frozen=True, kw_only=True)
class Number(OneFeature):
    """A number of a public range: cut to it, and scaled so that ``zero`` becomes 0.

    ``zero`` is 0 where the range holds it, and else its lower end. With ``log`` the feature is
    ln(1 + x − low)/ln(1 + high − low), for amounts that differ by factors.

    >>> Number(low=0.0, high=100.0).encode([25.0, 1e9]).tolist()
    [[0.25], [1.0]]
    """

    type: ClassVar[str] = "number"
    low: float
    high: float
    zero: float | None = None
    unit: str = ""
    log: bool = False

    def __post_init__(self) -> None:
        """Both ends are finite, the first is the smaller, and their distance is finite too."""
        check_range(self.low, self.high)
        if self.zero is not None and not self.low <= finite("zero", self.zero) <= self.high:
            raise InputError(f"zero must be in the range, got {self.zero}")
        if self.log and self.zero is not None:
            raise InputError("zero must not be said beside log, which begins at the lower end")
        if self.unit:
            line("unit", self.unit)

    @property
    def rule(self) -> str:
        """What a cell must be."""
        return "a number"

    def parse(self, cell: str, form: FileForm) -> float:
        """The float64 nearest to what is written."""
        return form.number(cell)

    def encode(self, values: Sequence[float] | Floats) -> Floats:
        """Numbers cut to the public range, whose farther end becomes 1; as logs if said."""
        numbers = np.asarray(values, dtype=np.float64).reshape(-1)
        if not self.log:
            zero = origin(self.low, self.high, self.zero)
            return scaled_to_range(numbers, self.low, self.high, zero)[:, None]
        whole = math.log1p(self.high - self.low)
        cut = np.minimum(np.maximum(numbers, self.low), self.high) - self.low
        # by the C library, one number at a time: numpy's own may round by the place in an array
        logs = [min(1.0, math.log1p(x) / whole) for x in cut.tolist()]
        return np.array(logs, dtype=np.float64)[:, None]

    def fact(self) -> str:
        """The range, with its unit."""
        unit = f" {self.unit}" if self.unit else ""
        return f"a number from {self.low:g} to {self.high:g}{unit}"


def origin(low: float, high: float, zero: float | None) -> float:
    """What becomes 0: as said, or 0 where the range holds it, or else its lower end."""
    if zero is not None:
        return zero
    return 0.0 if low <= 0 <= high else low


def check_range(low: object, high: object) -> None:
    """Two numbers in order, with a finite distance."""
    first, last = finite("range", low), finite("range", high)
    if not first < last or not math.isfinite(last - first):
        raise InputError(f"range must be two numbers, the smaller first, got {first} and {last}")


@dataclass(frozen=True, kw_only=True)
class Category(Kind):
    """One of a public list: a feature for each value, and one for any other where that is said.

    ``spellings`` are further texts for a value: pairs of (text, value).

    >>> Category(values=("a", "b"), other=True).encode([0, 2]).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    type: ClassVar[str] = "category"
    values: tuple[str, ...]
    other: bool = False
    spellings: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Values differ, and no text means two of them."""
        if not self.values:
            raise InputError("values must be at least one, got none")
        known = [*self.values, *(text for text, _ in self.spellings)]
        if any(line("value", text).strip() != text for text in known):
            raise InputError("values must have no spaces around them, got some")
        if len(set(known)) < len(known):
            raise InputError("values and spellings must differ, got one twice")
        if self.other and OTHER in self.values:
            raise InputError(f"values must not hold {OTHER!r} where other = true, got it")
        if strange := [value for _, value in self.spellings if value not in self.values]:
            raise InputError(f"spellings must be of the values, got {strange[0]!r}")
        places = {value: place for place, value in enumerate(self.values)}
        places |= {text: places[value] for text, value in self.spellings}
        object.__setattr__(self, "_places", places)

    @property
    def rule(self) -> str:
        """What a cell must be."""
        return f"one of the {len(self.values)} values of the schema"

    @property
    def bound(self) -> float:
        """1: one feature is 1."""
        return 1.0

    def names(self, column: str) -> tuple[str, ...]:
        """``column=value`` for each public value, and for the rest where others are allowed."""
        more = (OTHER,) if self.other else ()
        return tuple(f"{column}={value}" for value in (*self.values, *more))

    def parse(self, cell: str, form: FileForm) -> int:  # noqa: ARG002 - texts are the same in all
        """The place of the value in the list."""
        places: dict[str, int] = self.__dict__["_places"]
        place = places.get(cell, len(self.values) if self.other else -1)
        if place < 0:
            raise InvalidCellError
        return place

    def encode(self, values: Sequence[int]) -> Floats:
        """1 at the place of the value."""
        width = len(self.values) + self.other
        rows = np.zeros((len(values), width))
        rows[np.arange(len(values)), np.asarray(values, dtype=np.int64)] = 1.0
        return rows

    def fact(self) -> str:
        """How many values there are."""
        more = ", or another" if self.other else ""
        plural = "y" if len(self.values) == 1 else "ies"
        return f"{len(self.values)} categor{plural}{more}"


@dataclass(frozen=True, kw_only=True)
class TrueFalse(OneFeature):
    """True or false: 1 or 0, by the texts that the file's form names for either."""

    type: ClassVar[str] = "true-false"

    @property
    def rule(self) -> str:
        """What a cell must be."""
        return "true or false, as the schema writes them,"

    def parse(self, cell: str, form: FileForm) -> float:
        """1.0 for a word that stands for true, 0.0 for one of false; another is invalid."""
        if cell in form.true:
            return 1.0
        if cell in form.false:
            return 0.0
        raise InvalidCellError

    def fact(self) -> str:
        """The kind in words: it has no public number beside."""
        return "true or false"


@dataclass(frozen=True, kw_only=True)
class Date(OneFeature):
    """A day or a moment within a public span: 0 at its start, 1 at its end, cut to it.

    Written as in ISO 8601, or in ``format`` (Python's strptime: %Y, %m, %d, %H, %M, %S alone).

    >>> day = Date(start="2020-01-01", end="2020-01-11")
    >>> day.encode([day.parse("2020-01-06", FileForm())]).tolist()
    [[0.5]]
    """

    type: ClassVar[str] = "date"
    start: str
    end: str
    format: str = ""

    def __post_init__(self) -> None:
        """Both ends are dates, in order; a format has fields that no language changes."""
        try:
            ends = [_moment(end, "") for end in (self.start, self.end)]
        except InvalidCellError:
            raise InputError(
                f"span must be two dates as 2020-12-31, got {self.start!r} and {self.end!r}"
            ) from None
        if not ends[0] < ends[1]:
            raise InputError(f"span must begin before it ends, got {self.start} and {self.end}")
        odd = set(re.findall(r"%(.?)", self.format)) - _FIELDS
        if odd or (self.format and "%" not in self.format):
            raise InputError(f"format must be of %Y, %m, %d, %H, %M, %S, got {self.format!r}")
        object.__setattr__(self, "_ends", tuple(ends))

    @property
    def rule(self) -> str:
        """What a cell must be."""
        return f"a date as {self.format or '2020-12-31'}"

    def parse(self, cell: str, form: FileForm) -> float:  # noqa: ARG002 - dates have their own form
        """The share of the span that has passed, the float nearest to it."""
        start, end = self.__dict__["_ends"]
        moment = min(max(self.moment(cell), start), end)
        passed: float = (moment - start) / (end - start)  # of whole microseconds: rounded once
        return passed

    def moment(self, cell: str) -> datetime:
        """The day or moment that is written, within the span or not."""
        return _moment(cell, self.format)

    def fact(self) -> str:
        """The public span of the dates, in words."""
        return f"a date from {self.start} to {self.end}"


def _moment(written: str, form: str) -> datetime:
    """A moment without a zone; one with a zone is taken to UTC."""
    try:
        moment = datetime.strptime(written, form) if form else datetime.fromisoformat(written)
        if moment.tzinfo is None:
            return moment
        return moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise InvalidCellError from None
