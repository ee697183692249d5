"""What a run or a study hands to whoever prints it: a titled table with notes.

People read texts and programs read values: a cell, a note or a table carries both, and the file of
a study keeps both (``to_dict``, ``from_dict``). Nothing is read out of a text again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from reticent.validation import InputError, describe

if TYPE_CHECKING:
    from reticent.audit import Measured


class Limits(NamedTuple):
    """A figure between its limits; all three are the figure where it has none."""

    value: float
    low: float
    high: float


CellValue = float | bool | Limits | None
VERDICTS: Final[Mapping[bool | None, str]] = {
    True: "holds",
    False: "does not hold",
    None: "cannot be told",
}


class Cell(str):
    """The text of a cell beside the value that it stands for.

    >>> Cell(".912", 0.912), Cell(".912", 0.912).value
    ('.912', 0.912)
    """

    __slots__ = ("value",)
    value: CellValue

    def __new__(cls, text: str, value: CellValue) -> Self:
        """Equal to its text, as any text is."""
        cell = super().__new__(cls, text)
        cell.value = value
        return cell

    @classmethod
    def of(cls, measured: "Measured", text: str | None = None) -> Self:
        """A measured figure; its text is its own unless another is said."""
        limits = Limits(measured.value, measured.low, measured.high)
        return cls(str(measured) if text is None else text, limits)

    @classmethod
    def verdict(cls, holds: bool | None) -> Self:
        """Whether a sentence holds; None where that cannot be told."""
        return cls(VERDICTS[holds], holds)


class Judged(str):
    """A note: a sentence of a paper, of what it was judged, and what the rows say of it."""

    __slots__ = ("at", "by", "claim", "holds", "not_at", "of", "why")
    claim: str
    of: str
    by: str
    holds: bool | None
    why: str
    at: tuple[float, ...]
    not_at: tuple[float, ...]

    def __new__(  # noqa: PLR0913 - one for each field of the file
        cls,
        text: str,
        *,
        claim: str,
        holds: bool | None,
        why: str,
        of: str = "",
        by: str = "",
        at: Sequence[float] = (),
        not_at: Sequence[float] = (),
    ) -> Self:
        """The printed note, and its parts.

        Args:
            text: What is printed.
            claim: The sentence.
            holds: Whether it holds wherever it was judged; None where that cannot be told.
            why: What decides.
            of: The rows that it was judged on.
            by: Whose rows of these.
            at: The ε where it holds.
            not_at: Those where it does not.
        """
        note = super().__new__(cls, text)
        note.claim, note.of, note.by = claim, of, by
        note.holds, note.why, note.at, note.not_at = holds, why, tuple(at), tuple(not_at)
        return note

    def to_dict(self) -> dict[str, object]:
        """Plain values beside the text."""
        return {
            "claim": self.claim,
            "of": self.of,
            "by": self.by,
            "holds": self.holds,
            "why": self.why,
            "at": list(self.at),
            "not_at": list(self.not_at),
        }


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of text, those that are read again with values; notes carry grades and verdicts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    figures: Mapping[str, CellValue] = field(default_factory=dict)
    """What notes say in numbers, and what the table was made of, by name."""

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file; beside texts what there is."""
        values = [[_plain(value_of(cell)) for cell in row] for row in self.rows]
        judged = [note.to_dict() if isinstance(note, Judged) else None for note in self.notes]
        own = {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "values": values if any(one is not None for row in values for one in row) else None,
            "notes": list(self.notes),
            "judged": judged if any(judged) else None,
            "figures": {name: _plain(value) for name, value in self.figures.items()} or None,
        }
        return {name: value for name, value in own.items() if value is not None}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Table":
        """The table of a file, each cell and note with what stands beside its text."""
        columns, rows, notes = values["columns"], values["rows"], values["notes"]
        texts = all(isinstance(text, str) for row in (columns, notes, *rows) for text in row)
        if not texts or any(len(row) != len(columns) for row in rows):
            raise InputError("a table must have rows of texts, one for each column, got others")
        beside = values.get("values", [[None] * len(row) for row in rows])
        judged = values.get("judged", [None] * len(notes))
        return cls(
            title=values["title"],
            columns=tuple(columns),
            rows=tuple(
                tuple(_cell(text, value) for text, value in zip(row, own, strict=True))
                for row, own in zip(rows, beside, strict=True)
            ),
            notes=tuple(
                text if own is None else Judged(text, **own)
                for text, own in zip(notes, judged, strict=True)
            ),
            figures={name: _value(value) for name, value in values.get("figures", {}).items()},
        )

    @property
    def judged(self) -> tuple[Judged, ...]:
        """The notes that are sentences with a verdict."""
        return tuple(note for note in self.notes if isinstance(note, Judged))


def value_of(cell: str) -> CellValue:
    """The value of a cell; None where it is a text alone."""
    return cell.value if isinstance(cell, Cell) else None


def limits_of(cell: str | CellValue) -> Limits:
    """A figure with its limits; a cell without one is refused.

    >>> limits_of(Cell("0.86 [0.83, 0.88]", Limits(0.86, 0.83, 0.88))).low, limits_of(5.5).high
    (0.83, 5.5)
    """
    value = value_of(cell) if isinstance(cell, str) else cell
    if isinstance(value, Limits):
        return value
    if value is None or isinstance(value, bool):
        raise InputError(f"a cell must have a figure beside its text, got {describe(cell)}")
    return Limits(value, value, value)


def _plain(value: CellValue) -> object:
    return list(value) if isinstance(value, Limits) else value


def _cell(text: str, plain: Any) -> str:
    return text if plain is None else Cell(text, _value(plain))


def _value(plain: Any) -> CellValue:
    """A number or a verdict; of a list a figure with its limits."""
    several = isinstance(plain, list)
    numbers = plain if several else [plain]
    if len(numbers) != (3 if several else 1) or not all(
        isinstance(one, int | float) for one in numbers
    ):
        raise InputError(f"a value beside a cell must be a number or three, got {describe(plain)}")
    return Limits(*numbers) if several else plain
