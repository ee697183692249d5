"""The least noise that keeps a family of events within (ε, δ).

A search on a logarithmic scale whose result has been accounted for: the noise returned is one at
which an upper bound on ε was seen to be at most the ε asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from reticent.accounting.account import account
from reticent.guarantee.events import Event
from reticent.guarantee.grade import Relation, as_relation
from reticent.validation import InputError, NotCoveredError, positive, probability

EventOf = Callable[[float], Event]

_TOLERANCE = 1e-4
"""The noise returned is at most this far, relatively, above one that was seen to be too small."""
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
    noise = _narrowed(measure, target, _bracketed(measure, target, low, high))
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

    def best(noise: float, methods: tuple[str, ...] | None) -> float:
        return account(event_of(noise), relation=relation, delta=delta, methods=methods).epsilon

    methods: tuple[str, ...] | None = (_TIGHT,)
    try:
        best(start, methods)
    except NotCoveredError:
        methods = None
        best(start, methods)

    @cache
    def measure(noise: float) -> float:
        try:
            return best(noise, methods)
        except NotCoveredError:
            return math.inf

    return measure


@dataclass(frozen=True)
class _Bracket:
    """``low`` costs ``too_much``; ``high`` costs ``enough``, at most the target."""

    low: float
    high: float
    too_much: float
    enough: float

    @property
    def closed(self) -> bool:
        """Narrow enough to stop."""
        return self.high <= self.low * (1 + _TOLERANCE)

    def with_value(self, noise: float, epsilon: float, target: float) -> _Bracket:
        """The half that holds the target."""
        if epsilon > target:
            return replace(self, low=noise, too_much=epsilon)
        return replace(self, high=noise, enough=epsilon)


def _bracketed(
    measure: Callable[[float], float], target: float, low: float, high: float
) -> _Bracket:
    """A noise that is too small and one that is enough, by widening."""
    enough = measure(high)
    bracket = _Bracket(low, high, measure(low) if enough <= target else math.inf, enough)
    while bracket.enough > target:
        if bracket.high > _LARGEST:
            raise NotCoveredError(f"no noise multiplier up to {_LARGEST:g} gives epsilon {target}")
        wider = bracket.high * min(max(bracket.enough / target, 1.5), 64.0)
        bracket = _Bracket(bracket.high, wider, bracket.enough, measure(wider))
    while bracket.too_much <= target:
        if bracket.low < _SMALLEST:
            raise InputError(f"epsilon must need some noise, got {target}, which needs none")
        ratio = target / bracket.too_much if bracket.too_much > 0 else 4.0
        wider = bracket.low / min(max(ratio, 1.5), 4.0)
        bracket = _Bracket(wider, bracket.low, measure(wider), bracket.too_much)
    return bracket


def _narrowed(measure: Callable[[float], float], target: float, bracket: _Bracket) -> float:
    """The enough side of a closed bracket: chords of ln ε over ln σ, halved when they stall."""
    while not bracket.closed:
        width = bracket.high / bracket.low
        for guess in (_chord(bracket, target), math.sqrt(bracket.low * bracket.high)):
            inside = min(
                max(guess, bracket.low * (1 + _TOLERANCE / 2)), bracket.high * (1 - _TOLERANCE / 2)
            )
            if bracket.low < inside < bracket.high and not bracket.closed:
                bracket = bracket.with_value(inside, measure(inside), target)
            if bracket.high / bracket.low < math.sqrt(width):
                break
    return bracket.high


def _chord(bracket: _Bracket, target: float) -> float:
    """Where the chord of ln ε over ln σ meets the target."""
    if not (bracket.enough > 0 and bracket.too_much < math.inf):
        return math.sqrt(bracket.low * bracket.high)
    drop = math.log(bracket.too_much / bracket.enough)
    share = math.log(bracket.too_much / target) / drop
    return bracket.low * math.exp(share * math.log(bracket.high / bracket.low))
