"""What a run or a study hands to whoever prints it: a titled table with notes."""

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from reticent.validation import InputError

_FIGURE: Final = re.compile(
    r"(?P<value>-?\d+\.\d+)(?: \[(?P<low>-?\d+\.\d+), (?P<high>-?\d+\.\d+)\])?"
)


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of text; the notes carry grades, sources and verdicts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "notes": list(self.notes),
        }


class Limits(NamedTuple):
    """A figure of a table between its limits."""

    value: float
    low: float
    high: float


def figure_of(cell: str) -> Limits:
    """The figure of a cell; where it stands without limits both are the figure.

    >>> figure_of("0.855 [0.833, 0.877]").low, figure_of("5.48").high
    (0.833, 5.48)
    """
    match = _FIGURE.fullmatch(cell)
    if match is None:
        raise InputError(f"a cell must be a figure, or one with its limits, got {cell!r}")
    value, low, high = match.groups()
    return Limits(float(value), float(low or value), float(high or value))
