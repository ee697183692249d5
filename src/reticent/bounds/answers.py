"""How far one record can move the answer to one query of a softmax head (docs/theory.md D.6).

A record moves the head's coordinates by at most Δ, so the logits W h of a query with ‖h‖ ≤ R move
by at most B = Δ·R in L2, along the zero-sum space. The norms below are the largest that such a
change can have, and each is reached. Answers are bounded *as computed*: what floats can add is
charged too. Everything here is a public number; no data is looked at.
"""

import math
from dataclasses import dataclass, fields

from reticent.bounds.heads import softmax_head
from reticent.guarantee import Relation, Sensitivity, minting, rounding
from reticent.validation import InputError, count

_UNIT = 2.0**-53
_ROOM = 2
"""A data set has at most this many times N records (docs/theory.md D.2)."""
_MOST = 2**40
"""Of classes and features: γ_k stays far below 1."""


@dataclass(frozen=True, kw_only=True)
class SoftmaxAnswers:
    """The public numbers of a certified softmax head that is asked, and what a record can move.

    λ ``penalty``, N ``records``, R ``radius`` of training rows and queries alike, τ ``tolerance``;
    ``features`` is the length of h, constant included.

    >>> head = SoftmaxAnswers(
    ...     classes=3,
    ...     features=4,
    ...     penalty=0.01,
    ...     records=1000,
    ...     radius=1.0,
    ...     tolerance=1e-9,
    ...     relation="add-remove",
    ... )
    >>> change = head.logits()
    >>> change.grade, round(change.l2, 4), round(change.l1, 4), round(change.range_bound, 4)
    (<Grade.PROVEN: 'proven'>, 0.1414, 0.2309, 0.2)
    """

    classes: int
    features: int
    penalty: float
    records: int
    radius: float
    tolerance: float
    relation: Relation | str
    largest_weight: float = 1.0
    max_records_per_person: int = 1

    def __post_init__(self) -> None:
        """Sizes; the theorem about the head checks the rest."""
        for name, least in (("classes", 2), ("features", 1)):
            if count(name, getattr(self, name), at_least=least) > _MOST:
                raise InputError(f"{name} must be <= 2**40, got a larger number")
        self._head()

    def logits(self) -> Sensitivity:
        """All C logits U V h: L2 ≤ B, L∞ ≤ B√((C−1)/C), L1 ≤ B√C, for odd C B√(C − 1/C).

        The range max − min of the change is at most √2·B: ``range_bound``.
        """
        C, basis = self.classes, 1 + self.classes * 2.0**-50
        exact, rounded = self._moved() * basis, 2 * (self._coordinates_off() + self._product_off())
        steepest = math.sqrt(C) if C % 2 == 0 else math.sqrt(C - 1 / C)
        return self._minted(
            f"all {C} logits of one query",
            l1=steepest * exact + math.sqrt(C) * rounded,
            l2=exact + rounded,
            linf=math.sqrt((C - 1) / C) * exact + rounded,
        )

    def coordinates(self) -> Sensitivity:
        """The C − 1 coordinates V h in the basis of the zero-sum space: L2 ≤ B, L1 ≤ B√(C−1)."""
        shift = self._moved() + 2 * self._coordinates_off()
        return self._minted(
            f"the {self.classes - 1} zero-sum coordinates of one query",
            l1=math.sqrt(self.classes - 1) * shift,
            l2=shift,
            linf=shift,
        )

    def _minted(self, what: str, *, l1: float, l2: float, linf: float) -> Sensitivity:
        head = self._head()
        return minting.proven(
            Sensitivity(
                l1=rounding.up(l1),
                l2=rounding.up(l2),
                linf=rounding.up(linf),
                relation=head.relation,
                source=f"{what}, theory D.6, d = {self.features}; {head.source}",
            )
        )

    def _moved(self) -> float:
        """B = Δ·R."""
        return self._head().require_l2("an answer") * self.radius

    def _coordinates_off(self) -> float:
        """How far V h as computed is from V h: γ_d·‖V‖·R, in any order of summation."""
        return 1.01 * _gamma(self.features) * self._reach()

    def _product_off(self) -> float:
        """How far U·(V h) as computed is from the product: γ_C·‖U‖_F·‖V h‖, ‖U‖_F ≤ √C."""
        return 1.01 * _gamma(self.classes) * math.sqrt(self.classes) * self._reach()

    def _reach(self) -> float:
        """R times the largest norm of certified coordinates of any data set of ≤ 2N records."""
        steep = self.largest_weight * math.sqrt(2) * self.radius / self.penalty
        idle = self.largest_weight * math.log(self.classes) / self.penalty
        optimum = min(_ROOM * steep, math.sqrt(2 * _ROOM * idle))
        return self.radius * (optimum + self.tolerance / self.penalty)

    def _head(self) -> Sensitivity:
        names = [field.name for field in fields(self)]
        public = {name: getattr(self, name) for name in names if name not in _OF_A_QUERY}
        return softmax_head(**public)


_OF_A_QUERY = ("classes", "features")


def _gamma(operations: int) -> float:
    """γ_k = kυ/(1 − kυ) (Higham 2002, Lemma 3.1)."""
    return operations * _UNIT / (1 - operations * _UNIT)
