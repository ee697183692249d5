"""How far one record can move a function, by whose word."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from reticent.guarantee.grade import (
    Grade,
    Relation,
    as_grade,
    as_relation,
    check_gamma,
    refuse_proven,
    restored,
)
from reticent.validation import InputError, count, line, positive

NORMS: Final = ("l1", "l2", "linf", "l21", "nuclear")
"""The fields that hold a bound."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sensitivity:
    """The largest change of a function between neighbours, in one or more norms.

    >>> Sensitivity(l1=1.0, relation="add-remove", source="a count").l2_bound
    1.0
    """

    l1: float | None = None
    l2: float | None = None
    linf: float | None = None
    l21: float | None = None
    """The sum of the L2 norms of ``blocks`` equal parts, one after the other, of a vector."""
    nuclear: float | None = None
    """The sum of the singular values of a symmetric matrix; its vector is the upper triangle."""
    blocks: int | None = None
    grade: Grade = Grade.DECLARED
    relation: Relation = Relation.AS_DECLARED
    source: str = "given by the caller"
    gamma: float | None = None

    def __init_subclass__(cls) -> None:
        """A subclass could skip the checks and call itself proven."""
        raise TypeError("Sensitivity must not be subclassed")

    def __copy__(self) -> "Sensitivity":
        """Itself: it cannot be changed."""
        return self

    def __deepcopy__(self, memo: object) -> "Sensitivity":
        """Itself: it cannot be changed."""
        return self

    def __setstate__(self, state: list[object]) -> None:
        """A pickle proves nothing: what says proven is declared again."""
        restored(self, state)
        self._check()

    def __post_init__(self) -> None:
        """Check the fields; a caller can make at most a declared value."""
        refuse_proven(as_grade(self.grade), "sensitivity")
        self._check()

    @property
    def l2_bound(self) -> float | None:
        """The L2 norm, or the L1 norm, which is never smaller."""
        return _smallest(self.l2, self.l1)

    @property
    def range_bound(self) -> float:
        """A bound on max_c − min_c of the change: ≤ L1, ≤ √2·L2 and ≤ 2·L∞."""
        spread = _smallest(
            self.l1,
            None if self.l2 is None else math.nextafter(math.sqrt(2) * self.l2, math.inf),
            None if self.linf is None else 2 * self.linf,
        )
        if spread is None:
            raise InputError(f"sensitivity must have l1, l2 or linf, got only {self._norms()}")
        return spread

    def require_l1(self, who: str) -> float:
        """The L1 bound, or an error that names the mechanism that needs it."""
        if self.l1 is None:
            raise InputError(
                f"{who} needs an L1 sensitivity at delta = 0, got only {self._norms()}"
            )
        return self.l1

    def require_l2(self, who: str) -> float:
        """The L2 bound, or an error that names the mechanism that needs it."""
        bound = self.l2_bound
        if bound is None:
            raise InputError(f"{who} needs an L1 or L2 sensitivity, got only {self._norms()}")
        return bound

    def require_l21(self, who: str) -> float:
        """The bound on the sum of the blocks' L2 norms, or an error that names who needs it."""
        if self.l21 is None:
            raise InputError(f"{who} needs an L21 sensitivity with its blocks, got {self._norms()}")
        return self.l21

    def require_nuclear(self, who: str) -> float:
        """The bound in nuclear norm, or an error that names the mechanism that needs it."""
        if self.nuclear is None:
            raise InputError(f"{who} needs a sensitivity in nuclear norm, got {self._norms()}")
        return self.nuclear

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return {
            "l1": self.l1,
            "l2": self.l2,
            "linf": self.linf,
            "l21": self.l21,
            "nuclear": self.nuclear,
            "blocks": self.blocks,
            "grade": str(self.grade),
            "relation": str(self.relation),
            "source": self.source,
            "gamma": self.gamma,
        }

    def _check(self) -> None:
        for name in NORMS:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, positive(f"sensitivity {name}", value))
        if not self._norms():
            raise InputError("sensitivity must have l1, l2 or linf, got none")
        self._check_blocks()
        object.__setattr__(self, "grade", as_grade(self.grade))
        object.__setattr__(self, "relation", as_relation(self.relation))
        line("source", self.source)
        check_gamma(self.grade, self.gamma)
        self._check_order()

    def _check_blocks(self) -> None:
        """The norm L21 is one of a vector in so many parts."""
        if (self.l21 is None) != (self.blocks is None):
            raise InputError("sensitivity l21 must be given with its blocks, got one of them")
        if self.blocks is not None:
            object.__setattr__(self, "blocks", count("sensitivity blocks", self.blocks))

    def _check_order(self) -> None:
        """L∞ ≤ L2 ≤ L21 ≤ L1 for every vector, so the reverse is a slip of the pen.

        Of a symmetric matrix, the upper triangle is no longer than its nuclear norm.
        """
        for order in (("l1", "l21", "l2", "linf"), ("nuclear", "l2", "linf")):
            given = [(n, getattr(self, n)) for n in order if getattr(self, n) is not None]
            for (larger, above), (smaller, below) in pairwise(given):
                if below > above * (1 + 1e-12):
                    raise InputError(
                        f"sensitivity {smaller} must be <= {larger} = {above}, got {below}"
                    )

    def _norms(self) -> str:
        return " and ".join(n for n in NORMS if getattr(self, n) is not None)


def _smallest(*values: float | None) -> float | None:
    return min((value for value in values if value is not None), default=None)
