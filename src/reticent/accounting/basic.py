"""Basic composition: ε and δ add up, exactly; amplified by sampling for (ε, δ).

Covers releases that have an (ε, δ) of their own. Gaussian noise has one for every δ and none by
itself: the other accountants cover it.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from reticent.accounting.accountant import Accountant, refuse
from reticent.guarantee import events, rounding
from reticent.validation import NotCoveredError


class Spent(NamedTuple):
    """What was spent, as one pair (ε, δ)."""

    epsilon: float
    delta: float


@singledispatch
def release(event: events.Event) -> Spent:
    """The (ε, δ) that a release has by itself."""
    refuse(event, "composition of (ε, δ)", "it has none of its own")


@release.register
def _(event: events.PureEvent | events.BoundedRangeEvent) -> Spent:
    return Spent(event.epsilon, 0.0)


@release.register
def _(event: events.ApproximateEvent) -> Spent:
    return Spent(event.epsilon, event.delta)


@release.register
def _(event: events.LaplaceEvent | events.LogisticEvent) -> Spent:
    """ε = Δ₁/scale; an L2 bound gives no pure ε without the dimension."""
    if event.norm != "l1":
        refuse(event, "composition of (ε, δ)", "it is pure under an L1 bound only")
    return Spent(reciprocal_up(event.noise_multiplier), 0.0)


def compose(parts: Sequence[tuple[Spent, int]]) -> Spent:
    """ε and δ add up (Dwork et al. 2006), adaptively too."""
    return Spent(
        weighted_sum_up((part.epsilon, count) for part, count in parts),
        weighted_sum_up((part.delta, count) for part, count in parts),
    )


def worst(parts: Sequence[Spent]) -> Spent:
    """The largest ε and the largest δ."""
    return Spent(max(part.epsilon for part in parts), max(part.delta for part in parts))


def amplify(spent: Spent, share: float) -> Spent:
    """(ln(1 + q(e^ε − 1)), qδ) (Balle, Barthe & Gaboardi 2018, Theorems 8 and 9).

    Poisson sampling under add-remove, or sampling without replacement under replace-one.
    """
    return Spent(
        rounding.up(amplified_epsilon(spent.epsilon, share)), rounding.up(share * spent.delta)
    )


def amplified_epsilon(epsilon: float, share: float) -> float:
    """ln(1 + q(e^ε − 1)), without overflow."""
    if share == 1:
        return epsilon
    if epsilon < 700:
        return math.log1p(share * math.expm1(epsilon))
    return float(np.logaddexp(math.log1p(-share), math.log(share) + epsilon))


def epsilon(spent: Spent, delta: float) -> float:
    """The sum of the ε, if the sum of the δ fits."""
    if spent.delta > delta:
        raise NotCoveredError(f"basic spends delta = {spent.delta:.3g}, more than {delta:.3g}")
    return spent.epsilon


def weighted_sum_up(parts: Iterable[tuple[float, int]]) -> float:
    """Σ count·value, exact where a float can hold it and rounded up where not."""
    try:
        exact = sum((Fraction(value) * count for value, count in parts), Fraction(0))
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def reciprocal_up(value: float) -> float:
    """1/value, rounded up where a float cannot hold it."""
    nearest = 1 / value
    enough = math.isinf(nearest) or Fraction(nearest) * Fraction(value) >= 1
    return nearest if enough else math.nextafter(nearest, math.inf)


BASIC: Accountant[Spent] = Accountant(
    name="basic",
    theorem="basic composition: ε and δ add up",
    release=release,
    compose=compose,
    worst=worst,
    poisson=amplify,
    without_replacement=amplify,
    epsilon=epsilon,
)
