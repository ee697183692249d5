"""The least noise that keeps a family of events within (ε, δ).

A search on a logarithmic scale whose result has been accounted for: the noise returned is one at
which an upper bound on ε was seen to be at most the ε asked for.
``calibrated_steps`` compares additive mechanisms when each release is one of many steps.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from scipy import optimize

from reticent.accounting.account import ACCOUNTANTS, STATED, account, theorem_line
from reticent.guarantee import Grade, Guarantee, Relation, Sensitivity, events, grade, weakest
from reticent.mechanisms import Calibrated, Gaussian, Laplace, Logistic
from reticent.mechanisms.mechanism import SCALE_SLACK
from reticent.validation import InputError, NotCoveredError, positive, probability

EventOf = Callable[[float], events.Event]

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
    relation = grade.as_relation(relation)
    low, high = _checked(bracket)
    measure = _measure(event_of, high, relation, delta)
    noise = least_noise(measure, target, low, high)
    cost = account(event_of(noise), relation=relation, delta=delta)
    return Calibration(
        noise_multiplier=noise, epsilon=cost.epsilon, delta=delta, method=cost.method
    )


def least_noise(
    measure: Callable[[float], float], target: float, low: float = 1.0, high: float = 1.0
) -> float:
    """The smallest σ, to 10⁻⁴, with measure(σ) ≤ target; ``measure`` falls in σ.

    >>> round(least_noise(lambda noise: 1 / noise, 0.25), 2)
    4.0
    """
    return _narrowed(measure, target, *_bracketed(measure, target, low, high))


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


Kind = type[Laplace] | type[Logistic] | type[Gaussian]
Release = Callable[[float], events.Event]

RELEASES: tuple[tuple[Kind, str, Release], ...] = (
    (Laplace, "l1", lambda noise: events.LaplaceEvent(noise_multiplier=noise, norm="l1")),
    (Laplace, "l2", lambda noise: events.LaplaceEvent(noise_multiplier=noise, norm="l2")),
    (Logistic, "l1", lambda noise: events.LogisticEvent(noise_multiplier=noise, norm="l1")),
    (Logistic, "l2", lambda noise: events.LogisticEvent(noise_multiplier=noise, norm="l2")),
    (Gaussian, "l2", lambda noise: events.GaussianEvent(noise_multiplier=noise)),
)


def calibrated_steps(
    sensitivity: Sensitivity,
    *,
    epsilon: float,
    delta: float,
    steps: Callable[[events.Event], events.Event],
) -> list[Calibrated]:
    """A row for every noise that these sensitivities and an accountant allow.

    ``steps`` turns one release into all of them: repeated, sampled. A combination that no
    accountant covers has no row.
    """
    rows = []
    for kind, norm, release in RELEASES:
        bound = _bound(sensitivity, kind, norm)
        if bound is None:
            continue
        try:
            calibration = calibrate_noise(
                lambda noise, release=release: steps(release(noise)),  # type: ignore[misc]
                epsilon=epsilon,
                delta=delta,
                relation=sensitivity.relation,
            )
        except NotCoveredError:
            continue
        scale = calibration.noise_multiplier * bound * (1 + SCALE_SLACK)
        route = f"{ACCOUNTANTS[calibration.method].name}, {norm.upper()}"
        claim = _claim(sensitivity, epsilon, delta, calibration.method)
        mechanism = kind(scale=scale, sensitivity=sensitivity)
        rows.append(
            Calibrated(
                mechanism=kind.name, route=route, scale=scale, std=mechanism.std, guarantee=claim
            )
        )
    return rows


def _bound(sensitivity: Sensitivity, kind: Kind, norm: str) -> float | None:
    """The bound in that norm; an L1 bound serves as an L2 bound for Gaussian noise."""
    if norm == "l1":
        return sensitivity.l1
    return sensitivity.l2_bound if kind is Gaussian else sensitivity.l2


def _claim(sensitivity: Sensitivity, epsilon: float, delta: float, method: str) -> Guarantee:
    return Guarantee(
        epsilon=epsilon,
        delta=delta,
        grade=weakest((Grade.DECLARED, sensitivity.grade)),
        relation=sensitivity.relation,
        gamma=sensitivity.gamma,
        checked=(theorem_line(method),),
        stated=(STATED, f"the sensitivity: {sensitivity.source}"),
    )
