"""The least noise that keeps a family of events within (ε, δ).

A search on a logarithmic scale whose result has been accounted for: the noise returned is one at
which an upper bound on ε was seen to be at most the ε asked for.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from scipy import optimize

from reticent.accounting.account import account
from reticent.guarantee.events import Event
from reticent.guarantee.grade import Relation, as_relation
from reticent.validation import InputError, NotCoveredError, positive, probability

EventOf = Callable[[float], Event]

_TOLERANCE = 1e-4
"""How far, relatively, the noise returned may lie above the least one."""
_SMALLEST, _LARGEST = 1e-6, 1e12
_TIGHT = "pld"
"""Tight up to its grid wherever it covers, so the search need not ask the others."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """A noise multiplier, and the ε that ``method`` proves for it, at most the one asked for."""

    noise_multiplier: float
    epsilon: float
    delta: float
    method: str


def calibrate_noise(
    event_of: EventOf,
    *,
    epsilon: float,
    delta: float,
    relation: Relation | str,
    bracket: tuple[float, float] | None = None,
) -> Calibration:
    """The smallest noise multiplier σ, to 10⁻⁴, with ε(event_of(σ)) ≤ ε at δ.

    More noise must cost less. ``bracket`` is where the search starts; it widens by itself.

    >>> from reticent.guarantee import GaussianEvent
    >>> found = calibrate_noise(
    ...     lambda noise: GaussianEvent(noise_multiplier=noise),
    ...     epsilon=1.0,
    ...     delta=1e-5,
    ...     relation="add-remove",
    ... )
    >>> round(found.noise_multiplier, 3)
    3.731
    """
    target, delta = positive("epsilon", epsilon), probability("delta", delta)
    relation = as_relation(relation)
    low, high = _checked(bracket)
    measure = _measure(event_of, high, relation, delta)
    noise = _narrowed(measure, target, *_bracketed(measure, target, low, high))
    found = account(event_of(noise), relation=relation, delta=delta)
    return Calibration(
        noise_multiplier=noise, epsilon=found.epsilon, delta=delta, method=found.method
    )


def _checked(bracket: tuple[float, float] | None) -> tuple[float, float]:
    if bracket is None:
        return 1.0, 1.0
    low, high = positive("bracket low", bracket[0]), positive("bracket high", bracket[1])
    if not low < high:
        raise InputError(f"bracket must rise, got {low} and {high}")
    return low, high


def _measure(
    event_of: EventOf, start: float, relation: Relation, delta: float
) -> Callable[[float], float]:
    """σ ↦ ε by the tight method if it covers the family, else by the best of all; ∞ if none."""

    @cache
    def best(noise: float, methods: tuple[str, ...] | None) -> float:
        return account(event_of(noise), relation=relation, delta=delta, methods=methods).epsilon

    methods: tuple[str, ...] | None = (_TIGHT,)
    try:
        best(start, methods)
    except NotCoveredError:
        methods = None
        best(start, methods)

    def measure(noise: float) -> float:
        try:
            return best(noise, methods)
        except NotCoveredError:
            return math.inf

    return measure


def _bracketed(
    measure: Callable[[float], float], target: float, low: float, high: float
) -> tuple[float, float]:
    """A noise that is too small and one that is enough, by widening."""
    while (cost := measure(high)) > target:
        if high > _LARGEST:
            raise NotCoveredError(f"no noise multiplier up to {_LARGEST:g} gives epsilon {target}")
        low, high = high, high * min(max(cost / target, 1.5), 64.0)
    while (cost := measure(low)) <= target:
        if low < _SMALLEST:
            raise InputError(f"epsilon must need some noise, got {target}, which needs none")
        ratio = target / cost if cost > 0 else 4.0
        low, high = low / min(max(ratio, 1.5), 4.0), low
    return low, high


def _narrowed(measure: Callable[[float], float], target: float, low: float, high: float) -> float:
    """A noise just above the one that costs the target; its cost has been seen to be enough."""
    width = math.log(high / low)

    def at(share: float) -> float:
        return low * math.exp(share * width) if share < 1 else high

    def excess(share: float) -> float:
        return math.log(min(max(measure(at(share)) / target, 1e-3), 1e3))

    noise = at(float(optimize.brentq(excess, 0.0, 1.0, xtol=_TOLERANCE / 4 / width)))
    while measure(noise) > target:
        noise *= 1 + _TOLERANCE / 2
    return noise
