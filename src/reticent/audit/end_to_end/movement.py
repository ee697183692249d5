"""How far a noisy query moves between two worlds, against what its noise was made for; exactly.

Distances are first computed with more digits than the values have. Where one comes near its bound
they are compared as fractions, so that no rounding of the audit's own decides.
"""

import dataclasses
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np

from reticent.accounting.account import ACCOUNTANTS, account
from reticent.arrays import Floats
from reticent.guarantee import Composed, Event, Relation, Sensitivity
from reticent.guarantee.rounding import up
from reticent.mechanisms import AdditiveMechanism, Mechanism
from reticent.protect.recipe import composed_epsilon_of
from reticent.validation import NotCoveredError

_NEAR: Final = 1e-9
_SMALLEST: Final = 1e-300
"""A distance must be positive to be a sensitivity; nothing is lost by this one."""


class Movement(NamedTuple):
    """Distances of one query between two worlds in the norms that a sensitivity may bound."""

    noise: Mechanism
    l1: float
    l2: float
    linf: float
    ratio: float
    """The largest of them over its bound."""

    @property
    def moves(self) -> bool:
        """Whether the worlds differ at all."""
        return self.linf > 0

    def at_distance(self) -> Mechanism:
        """The same noise, for a function that moves just so far."""
        norms = {
            name: max(getattr(self, name), _SMALLEST)
            for name in ("l1", "l2", "linf")
            if getattr(self.noise.sensitivity, name) is not None
        }
        moved = Sensitivity(**norms, relation=self.noise.sensitivity.relation)
        return dataclasses.replace(self.noise, sensitivity=moved)


def movement(noise: Mechanism, one: Floats, other: Floats) -> Movement:
    """Of a query with this noise, from its exact values in both worlds."""
    apart = np.abs(one.ravel().astype(np.longdouble) - other.ravel().astype(np.longdouble))
    l1, linf = apart.sum(), apart.max(initial=np.longdouble(0))
    l2 = linf * np.sqrt(((apart / linf) ** 2).sum()) if linf > 0 else linf
    distances = {"l1": float(l1), "l2": float(l2), "linf": float(linf)}
    claimed = {
        name: bound for name in distances if (bound := getattr(noise.sensitivity, name)) is not None
    }
    ratios = [distances[name] / bound for name, bound in claimed.items()]
    ratio = max(ratios, default=0.0)
    if abs(ratio - 1) < _NEAR:
        within = all(_within(name, one, other, bound) for name, bound in claimed.items())
        ratio = min(ratio, 1.0) if within else max(ratio, float(np.nextafter(1.0, 2.0)))
    return Movement(noise=noise, **distances, ratio=ratio)


def _within(norm: str, one: Floats, other: Floats, bound: float) -> bool:
    """Whether the distance is at most the bound, in exact arithmetic."""
    apart = [
        abs(Fraction(a) - Fraction(b))
        for a, b in zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
    ]
    limit = Fraction(bound)
    if norm == "l1":
        return sum(apart) <= limit
    if norm == "l2":
        return sum(part * part for part in apart) <= limit * limit
    return max(apart, default=Fraction(0)) <= limit


def epsilon_of(moved: Iterable[Movement], *, delta: float, relation: Relation) -> float:
    """The ε at δ of queries that move so far, all of them seen; rounded up.

    Exact for Gaussian noise and for pure noise at δ = 0; else what the composition theorems give.
    """
    noises = [one.at_distance() for one in moved if one.moves]
    if not noises:
        return 0.0
    additive = [noise for noise in noises if isinstance(noise, AdditiveMechanism)]
    if len(additive) == len(noises) and len({type(noise) for noise in noises}) == 1:
        return composed_epsilon_of(additive, relation=relation, delta=delta)
    return min(_accounted(noises, delta, relation), _pure(noises))


def _accounted(noises: list[Mechanism], delta: float, relation: Relation) -> float:
    events: list[Event] = [noise.event() for noise in noises]
    methods = tuple(name for name in ACCOUNTANTS if name != "pld" or len(events) <= 2)
    whole: Any = events[0] if len(events) == 1 else Composed(events=tuple(events))
    try:
        return up(account(whole, relation=relation, delta=delta, methods=methods).epsilon)
    except NotCoveredError:
        return float("inf")


def _pure(noises: list[Mechanism]) -> float:
    try:
        return up(sum(noise.epsilon(delta=0.0) for noise in noises))
    except (NotCoveredError, ValueError):
        return float("inf")
