"""What a release promises: ε, δ, for which neighbours, by whose word, under which assumptions.

A line under *checked* that nothing checks would be a promise of the code's author. So each ends
with the function that checks it in brackets, and a test breaks every one of these functions and
sees that the line is found untrue.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from reticent.guarantee.grade import (
    Grade,
    Relation,
    as_grade,
    as_relation,
    check_gamma,
    refuse_proven,
    restored,
)
from reticent.guarantee.rounding import upper_text
from reticent.notebook_html import block, folded
from reticent.strict_json import parsed
from reticent.validation import InputError, describe, line, lines, non_negative, probability

ONE_RECORD = "one record"


def claim_line(
    *,
    epsilon: float,
    delta: float,
    grade: Grade,
    relation: str,
    unit: str,
    gamma: float | None = None,
) -> str:
    """A claim on one line, a function of its figures alone: nobody can type another beside them."""
    missed = "" if gamma is None else f" with γ ≤ {upper_text(gamma)}"
    return (
        f"ε ≤ {upper_text(epsilon)}, δ ≤ {upper_text(delta)} "
        f"({grade}{missed}; neighbours: {relation}; unit: {unit})"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Guarantee:
    """A claim of (ε, δ)-differential privacy with its grade.

    The constructor and JSON make at most a *declared* one; a file that says *proven* loads as
    declared, since nothing in the file can prove it (``reticent verify`` recomputes instead).

    >>> print(Guarantee(epsilon=1.0, delta=1e-5, relation="add-remove"))
    ε ≤ 1, δ ≤ 1e-5 (declared; neighbours: add-remove; unit: one record)
    """

    epsilon: float
    delta: float
    grade: Grade = Grade.DECLARED
    relation: Relation
    unit: str = ONE_RECORD
    checked: tuple[str, ...] = ()
    stated: tuple[str, ...] = ()
    gamma: float | None = None
    composed_of: tuple[Guarantee, ...] = ()

    def __init_subclass__(cls) -> None:
        """A subclass could skip the checks and call itself proven."""
        raise TypeError("Guarantee must not be subclassed")

    def __copy__(self) -> Guarantee:
        """Itself: it cannot be changed."""
        return self

    def __deepcopy__(self, memo: object) -> Guarantee:
        """Itself: it cannot be changed."""
        return self

    def __setstate__(self, state: list[object]) -> None:
        """A pickle proves nothing: what says proven is declared again."""
        restored(self, state)
        self._check()

    def __post_init__(self) -> None:
        """Check the fields; a caller can make at most a declared value."""
        refuse_proven(as_grade(self.grade), "guarantee")
        self._check()

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "grade": str(self.grade),
            "relation": str(self.relation),
            "unit": self.unit,
            "checked": list(self.checked),
            "stated": list(self.stated),
            "gamma": self.gamma,
            "composed_of": [part.to_dict() for part in self.composed_of],
        }

    def to_json(self) -> str:
        """The guarantee as one JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Guarantee:
        """A guarantee from plain values, at most declared; unknown names are refused."""
        known = {field.name for field in fields(cls)}
        if not isinstance(values, Mapping):
            raise InputError(f"guarantee must be a JSON object, got {describe(values)}")
        if unknown := sorted(map(str, set(values) - known)):
            raise InputError(f"guarantee must have known fields only, got {unknown[0]!r}")
        if missing := sorted({"epsilon", "delta", "relation"} - set(values)):
            raise InputError(f"guarantee must have the field {missing[0]!r}, got none")
        plain = dict(values)
        if plain.get("grade") == Grade.PROVEN:
            plain["grade"] = Grade.DECLARED
        parts = plain.pop("composed_of", ())
        if not isinstance(parts, (list, tuple)):
            raise InputError(f"composed_of must be a list, got {describe(parts)}")
        return cls(composed_of=tuple(cls.from_dict(part) for part in parts), **plain)  # type: ignore[arg-type]

    @classmethod
    def from_json(cls, document: str) -> Guarantee:
        """A guarantee from a JSON object, at most declared."""
        return cls.from_dict(parsed(document, source="guarantee"))

    def __str__(self) -> str:
        """One line; ε and δ are rounded up, neighbours and unit always stand beside them."""
        return claim_line(
            epsilon=self.epsilon,
            delta=self.delta,
            grade=self.grade,
            relation=self.relation,
            unit=self.unit,
            gamma=self.gamma,
        )

    def _repr_html_(self) -> str:
        """For notebooks: the line, and what it rests on in two lists."""
        parts = [str(part) for part in self.composed_of]
        return block(
            "guarantee of differential privacy",
            self,
            folded("checked by the code", self.checked),
            folded("stated by you", self.stated),
            folded("composed of", parts),
        )

    def _check(self) -> None:
        object.__setattr__(self, "epsilon", non_negative("epsilon", self.epsilon))
        object.__setattr__(self, "delta", probability("delta", self.delta))
        object.__setattr__(self, "grade", as_grade(self.grade))
        object.__setattr__(self, "relation", as_relation(self.relation))
        object.__setattr__(self, "checked", lines("checked", self.checked))
        object.__setattr__(self, "stated", lines("stated", self.stated))
        line("unit", self.unit)
        check_gamma(self.grade, self.gamma)
        if any(type(part) is not Guarantee for part in self.composed_of):
            raise InputError("composed_of must hold guarantees only")
        object.__setattr__(self, "composed_of", tuple(self.composed_of))


_LINE = re.compile(r".* \[([a-z_0-9.]+(?:\.[A-Za-z_0-9]+)+)\]")


def checked_by(sentence: str, function: str) -> str:
    """A line: what is true, and the function of this package that makes sure of it.

    >>> checked_by("no row is longer than the bound", "training.features.clip_rows")
    'no row is longer than the bound [training.features.clip_rows]'
    """
    return f"{sentence} [{function}]"


def name_of_check(line: str) -> str:
    """The function that a line names."""
    named = _LINE.fullmatch(line)
    if named is None:
        raise InputError(f"a checked line must end with the function that checks it, got {line!r}")
    return named[1]
