"""One event by every accountant, side by side, those included that lack a rule for it.

Where an accountant does not cover an event it may cover one that is never less: a sampled release
without its sampling, and noise without an (ε, δ) of its own by one of its many. Such bounds are
what is commonly published (Lu et al. 2022, Table 4); they hold, and are never the smallest.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from reticent.accounting import advanced, basic, calibration, gdp, zcdp
from reticent.accounting.account import ACCOUNTANTS, account, epsilon_by
from reticent.guarantee import events
from reticent.guarantee.grade import Relation, as_relation
from reticent.validation import NotCoveredError, positive, probability

UNSAMPLED: Final = "without amplification: as if every step saw all records"
SPLIT: Final = "each release as one (ε₀, δ₀)"
_SHARES: Final = (0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99)
"""Of δ, for the steps' own δ₀ in advanced composition; each gives a bound that holds."""
_ROUNDING: Final = 1 - 1e-9
_TRIAL: Final = 2.0**-40
_LEAST_SPLIT: Final = ("gdp", "zcdp", "rdp")
"""Accountants of one step: the loss distribution of a single release adds nothing to these."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The ε of one accountant, or None; ``note`` says what was counted instead, or why not."""

    epsilon: float | None
    note: str = ""


def side_by_side(
    event: events.Event, *, relation: Relation | str, delta: float
) -> Mapping[str, Compared]:
    """Every accountant with a bound on the ε of ``event`` at δ; all hold, so the least is claimed.

    >>> from reticent.guarantee import GaussianEvent, PoissonSampled, Repeated
    >>> step = PoissonSampled(event=GaussianEvent(noise_multiplier=1.0), rate=0.01)
    >>> found = side_by_side(Repeated(event=step, count=500), relation="add-remove", delta=1e-5)
    >>> [name for name in sorted(found, key=lambda name: found[name].epsilon)]
    ['pld', 'rdp', 'advanced', 'gdp', 'zcdp', 'basic']
    """
    relation, delta = as_relation(relation), probability("delta", delta)
    return MappingProxyType({name: _one(name, event, relation, delta) for name in ACCOUNTANTS})


def calibrate_noise_by(
    name: str,
    event_of: calibration.EventOf,
    *,
    epsilon: float,
    delta: float,
    relation: Relation | str,
) -> float:
    """The smallest noise multiplier that one accountant allows, by its row of ``side_by_side``.

    >>> from reticent.guarantee import GaussianEvent, Repeated
    >>> def passes(noise):
    ...     return Repeated(event=GaussianEvent(noise_multiplier=noise), count=30)
    >>> terms = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"}
    >>> [round(calibrate_noise_by(name, passes, **terms)) for name in ("gdp", "zcdp", "basic")]
    [20, 22, 109]
    """
    target, delta = positive("epsilon", epsilon), probability("delta", delta)
    relation = as_relation(relation)

    def measure(noise: float) -> float:
        measured_epsilon = _one(name, event_of(noise), relation, delta).epsilon
        return math.inf if measured_epsilon is None else measured_epsilon

    return calibration.least_noise(measure, target)


def _one(name: str, event: events.Event, relation: Relation, delta: float) -> Compared:
    try:
        return Compared(epsilon=epsilon_by(name, event, relation=relation, delta=delta))
    except NotCoveredError as refusal:
        try:
            return _INSTEAD[name](event, relation, delta)
        except (NotCoveredError, KeyError):
            return Compared(epsilon=None, note=str(refusal))


def _without_sampling(name: str) -> Callable[[events.Event, Relation, float], Compared]:
    """A release on a sample is a mixture over samples, and divergences are jointly convex."""

    def bound(event: events.Event, relation: Relation, delta: float) -> Compared:
        whole = _unsampled(event)
        return Compared(
            epsilon=epsilon_by(name, whole, relation=relation, delta=delta), note=UNSAMPLED
        )

    return bound


def _split(
    name: str, shares: tuple[float, ...]
) -> Callable[[events.Event, Relation, float], Compared]:
    """Each release has an (ε₀, δ₀) for every δ₀; that with the same δ₀ for all of them."""

    def bound(event: events.Event, relation: Relation, delta: float) -> Compared:
        trial = _with_leaves(event, lambda _: events.ApproximateEvent(epsilon=0.0, delta=_TRIAL))
        spent = (
            basic.BASIC.value(trial, relation).delta / _TRIAL
        )  # an event's own δ counts as one more
        epsilons = []
        for share in shares:
            each = min(delta * share * _ROUNDING / spent, 0.5)
            parts = _with_leaves(event, lambda leaf, each=each: _approximate(leaf, each, relation))  # type: ignore[misc]
            epsilons.append(epsilon_by(name, parts, relation=relation, delta=delta))
        sampled = _unsampled(event) != event
        return Compared(epsilon=min(epsilons), note=SPLIT + (", amplified" if sampled else ""))

    return bound


_INSTEAD: Final[Mapping[str, Callable[[events.Event, Relation, float], Compared]]] = (
    MappingProxyType(
        {
            zcdp.ZCDP.name: _without_sampling(zcdp.ZCDP.name),
            gdp.GDP.name: _without_sampling(gdp.GDP.name),
            basic.BASIC.name: _split(basic.BASIC.name, (1.0,)),
            advanced.ADVANCED.name: _split(advanced.ADVANCED.name, _SHARES),
        }
    )
)


def _approximate(leaf: events.Event, delta: float, relation: Relation) -> events.Event:
    cost = account(leaf, relation=relation, delta=delta, methods=_LEAST_SPLIT)
    return events.ApproximateEvent(epsilon=cost.epsilon, delta=delta)


def _unsampled(event: events.Event) -> events.Event:
    """The same tree without its samples."""
    if isinstance(event, events.PoissonSampled | events.SampledWithoutReplacement):
        return _unsampled(event.event)
    return _rebuilt(event, _unsampled)


def _with_leaves(event: events.Event, leaf: Callable[[events.Event], events.Event]) -> events.Event:
    """The same tree with others in the place of releases that have no (ε, δ) of their own."""
    rebuilt = _rebuilt(event, lambda part: _with_leaves(part, leaf))
    if rebuilt is not event:
        return rebuilt
    try:
        basic.BASIC.release(event)
    except NotCoveredError:
        return leaf(event)
    return event


def _rebuilt(event: events.Event, part: Callable[[events.Event], events.Event]) -> events.Event:
    """With each event directly below replaced; a release, which has none, as it is."""
    if isinstance(event, events.Composed | events.Parallel | events.Mixture):
        return replace(event, events=tuple(part(one) for one in event.events))
    if isinstance(
        event,
        events.Repeated
        | events.PostProcessed
        | events.PoissonSampled
        | events.SampledWithoutReplacement,
    ):
        return replace(event, event=part(event.event))
    return event
