"""Columns that become a vector: lists of numbers, and texts by an encoder."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from reticent.arrays import Array, Floats
from reticent.data.schema import kinds
from reticent.data.schema.form import FileForm, InvalidCellError
from reticent.validation import InputError, count, finite, line, positive

ENCODED: Final = {"minilm": 384}
"""How many numbers an encoder makes of a text, where its schema does not say it."""


@dataclass(frozen=True, kw_only=True)
class NumberList(kinds.Kind):
    """A list of numbers of one public range, as an embedding; scaled as a Number is.

    With ``norm`` longer lists are shortened to it, after they are scaled. In a text file a cell is
    a JSON list.
    """

    type: ClassVar[str] = "numbers"
    length: int
    low: float
    high: float
    zero: float | None = None
    norm: float | None = None

    def __post_init__(self) -> None:
        """As for numbers."""
        count("length", self.length, at_least=2)
        kinds.check_range(self.low, self.high)
        if self.zero is not None and not self.low <= finite("zero", self.zero) <= self.high:
            raise InputError(f"zero must be in the range, got {self.zero}")
        if self.norm is not None:
            positive("norm", self.norm)

    @property
    def rule(self) -> str:
        """What a cell must be."""
        return f"a list of {self.length} numbers"

    @property
    def bound(self) -> float:
        """√length of entries up to 1 in size, or the ``norm`` that lists are shortened to."""
        return math.sqrt(self.length) if self.norm is None else self.norm

    def names(self, column: str) -> tuple[str, ...]:
        """``column[0]``, ``column[1]`` and so on."""
        return tuple(f"{column}[{place}]" for place in range(self.length))

    def parse(self, cell: str, form: FileForm) -> list[float]:  # noqa: ARG002 - JSON has one form
        """The list that is written."""
        try:
            values = json.loads(cell)
            if isinstance(values, list) and all(type(one) in (int, float) for one in values):
                return self.checked([float(one) for one in values])
        except (ValueError, OverflowError, RecursionError):
            pass
        raise InvalidCellError

    def checked(self, values: list[float]) -> list[float]:
        """Of the right length, and finite."""
        if len(values) != self.length or not all(map(math.isfinite, values)):
            raise InvalidCellError
        return values

    def encode(self, values: Sequence[Sequence[float]] | Array) -> Floats:
        """A row for each list: entries scaled into their range, rows shortened to ``norm``."""
        rows = np.asarray(values, dtype=np.float64).reshape(-1, self.length)
        scaled = kinds.scaled_to_range(
            rows, self.low, self.high, kinds.origin(self.low, self.high, self.zero)
        )
        return scaled if self.norm is None else shortened(scaled, self.norm)

    def fact(self) -> str:
        """The public length, range and norm, in words."""
        norm = "" if self.norm is None else f", of norm at most {self.norm:g}"
        return f"{self.length} numbers from {self.low:g} to {self.high:g}{norm}"


def shortened(rows: Floats, norm: float) -> Floats:
    """Rows of at most this norm, but for rounding; each by its own entries, in their order."""
    lengths = np.array([math.hypot(*row) for row in rows.tolist()], dtype=np.float64)
    factors = np.minimum(1.0, norm / np.maximum(lengths, norm))
    short: Floats = rows * factors[:, None]
    return short


@dataclass(frozen=True, kw_only=True)
class Text(kinds.Kind):
    """A text for an encoder that never saw the private records, by its name.

    The encoder is asked elsewhere (``training.encoders.schema_texts``): it is above the readers.
    """

    type: ClassVar[str] = "text"
    encoder: str
    length: int
    norm: float = 1.0

    def __post_init__(self) -> None:
        """A name, and how many numbers it makes of a text, of which norm at most."""
        line("encoder", self.encoder)
        count("length", self.length, at_least=2)
        positive("norm", self.norm)

    @property
    def rule(self) -> str:
        """What a cell must be."""
        return "a text"

    @property
    def bound(self) -> float:
        """``norm``: longer vectors are shortened to it."""
        return self.norm

    def names(self, column: str) -> tuple[str, ...]:
        """``column[0]``, ``column[1]`` and so on."""
        return tuple(f"{column}[{place}]" for place in range(self.length))

    def parse(self, cell: str, form: FileForm) -> str:  # noqa: ARG002 - any text is one
        """The cell as it is: every text is valid."""
        return cell

    def encode(self, values: Any) -> Floats:
        """Vectors that the encoder made, each shortened to the norm by itself."""
        rows = np.asarray(values, dtype=np.float64).reshape(-1, self.length)
        return shortened(rows, self.norm)

    def fact(self) -> str:
        """By whom it is read."""
        return f"a text, by the encoder {self.encoder}"


KINDS: Final[dict[str, type[kinds.Kind]]] = {
    kind.type: kind
    for kind in (kinds.Number, kinds.Category, kinds.TrueFalse, kinds.Date, NumberList, Text)
}
