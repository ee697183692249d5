"""How far a claim can be trusted, and which data sets count as neighbours."""

import dataclasses
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from reticent.validation import InputError, open_probability


class Grade(StrEnum):
    """Where a claim comes from, strongest first."""

    PROVEN = "proven"
    """A theorem covers every pair of neighbours; its assumptions are listed with the claim."""
    DECLARED = "declared"
    """The caller gave the sensitivity; what follows from it is proven."""
    SAMPLED = "sampled"
    """A random-DP statement with its γ; it says nothing about the worst case."""
    PUBLISHED = "published"
    """A paper's own claim, reproduced for comparison, known not to hold."""

    @property
    def rank(self) -> int:
        """0 for the strongest grade."""
        return list(Grade).index(self)

    @property
    def meaning(self) -> str:
        """What the grade says about a claim: the same words on every page and card."""
        return _MEANINGS[self]


_MEANINGS = {
    Grade.PROVEN: "a theorem covers every pair of neighbours, under the assumptions listed below",
    Grade.DECLARED: "somebody's word, and what follows from it; a certificate read from a file has"
    " this grade at most: anybody can compute it anew, and nobody can see who wrote it",
    Grade.SAMPLED: "it holds for pairs of records drawn at random, but for a share γ of them, and"
    " says nothing about the worst case: an unusual record may have no protection",
    Grade.PUBLISHED: "a paper's own claim, reproduced for comparison and known not to hold: this is"
    " no guarantee",
}


class Relation(StrEnum):
    """Which two data sets are neighbours."""

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"
    AS_DECLARED = "as declared with the sensitivity"
    """The caller measured the sensitivity and did not say for which neighbours."""


def weakest(grades: Iterable[Grade]) -> Grade:
    """The grade of a claim that rests on all of these."""
    return max(grades, key=lambda grade: grade.rank)


def as_grade(value: object) -> Grade:
    """A Grade from itself or its name."""
    if isinstance(value, str) and value in set(Grade):
        return Grade(value)
    raise InputError(f"grade must be one of {', '.join(Grade)}, got {value!r}")


def as_relation(value: object) -> Relation:
    """A Relation from itself or its name."""
    if isinstance(value, str) and value in set(Relation):
        return Relation(value)
    raise InputError(f"relation must be one of {', '.join(Relation)}, got {value!r}")


def refuse_proven(grade: Grade, what: str) -> None:
    """Only a function that implements a theorem may call its result proven (minting.py)."""
    if grade is Grade.PROVEN:
        raise InputError(
            f"grade of a {what} made by a caller must be at most declared, got proven; "
            "proven ones come from reticent.bounds and reticent.protect"
        )


def restored(value: Any, state: Sequence[object]) -> None:
    """Fill a frozen value from a pickle, which proves nothing: proven becomes declared again.

    The grade may come as a text: it is compared, not identified.
    """
    for field, part in zip(dataclasses.fields(value), state, strict=True):
        forged = field.name == "grade" and part == Grade.PROVEN
        object.__setattr__(value, field.name, Grade.DECLARED if forged else part)


def check_gamma(grade: Grade, gamma: float | None) -> None:
    """γ, the share of pairs a sampled claim may miss, goes with SAMPLED and with nothing else."""
    if gamma is None and grade is Grade.SAMPLED:
        raise InputError("gamma must be given with the grade sampled, got None")
    if gamma is not None:
        open_probability("gamma", gamma)
    if gamma is not None and grade in (Grade.PROVEN, Grade.DECLARED):
        raise InputError(f"gamma must be None with the grade {grade}, got {gamma}")
