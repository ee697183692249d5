"""Composition, repetition, sampling: the one place where an event's structure is walked.

An accountant brings the arithmetic of its values and one rule for each kind of release; the walk
below applies it. What stands inside a sampled event is composed first and amplified after: two
releases on one subsample share the coin that chose it, so amplifying each and then adding is false.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Generic, NoReturn, TypeVar

from reticent.guarantee import events, rounding
from reticent.guarantee.grade import Relation, as_relation
from reticent.validation import InputError, NotCoveredError

Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True)
class Accountant(Generic[Value]):
    """The arithmetic of one way of accounting.

    ``release`` is a singledispatch function with a rule for each kind of release that is covered;
    ``compose`` takes (value, count) pairs; ``worst`` bounds any one of its values; ``poisson`` and
    ``without_replacement`` amplify a composed value by the share of records drawn;
    ``epsilon`` reads off the ε of a value at δ, rounded up. Whatever is not covered raises
    NotCoveredError.
    """

    name: str
    theorem: str
    release: Callable[[events.Event], Value]
    compose: Callable[[Sequence[tuple[Value, int]]], Value]
    worst: Callable[[Sequence[Value]], Value]
    poisson: Callable[[Value, float], Value]
    without_replacement: Callable[[Value, float], Value]
    epsilon: Callable[[Value, float], float]

    def value(self, event: events.Event, relation: Relation) -> Value:
        """What this accountant knows of the event, for neighbours under ``relation``."""
        value: Value = _walk(event, self, as_relation(relation))
        return value


def refuse(event: events.Event, accountant: str, why: str = "") -> NoReturn:
    """An event without a rule is refused by name."""
    name = type(event).__name__
    norm = getattr(event, "norm", None)
    kind = f"{name} with norm {norm}" if norm else name
    raise NotCoveredError(f"{accountant} does not cover {kind}" + (f": {why}" if why else ""))


def no_amplification(accountant: str) -> Callable[[Any, float], Any]:
    """The rule of an accountant for which there is no amplification theorem here."""

    def rule(_: Any, share: float) -> NoReturn:
        raise NotCoveredError(f"{accountant} does not cover sampled events, got the share {share}")

    return rule


@singledispatch
def _walk(event: events.Event, accountant: Accountant[Any], relation: Relation) -> Any:  # noqa: ARG001
    """A release, or an event that no accountant knows and each refuses."""
    return accountant.release(event)


@_walk.register
def _(event: events.Composed, accountant: Accountant[Any], relation: Relation) -> Any:
    counts = Counter(event.events)
    return accountant.compose(
        [(_walk(part, accountant, relation), count) for part, count in counts.items()]
    )


@_walk.register
def _(event: events.Repeated, accountant: Accountant[Any], relation: Relation) -> Any:
    return accountant.compose([(_walk(event.event, accountant, relation), event.count)])


@_walk.register
def _(event: events.Parallel, accountant: Accountant[Any], relation: Relation) -> Any:
    """One record stands in one part, so the largest value covers; add-remove only."""
    _require(relation, Relation.ADD_REMOVE, "parallel composition")
    return accountant.worst(_distinct(event.events, accountant, relation))


@_walk.register
def _(event: events.Mixture, accountant: Accountant[Any], relation: Relation) -> Any:
    """The coin does not look at the data: every divergence used here is jointly convex."""
    return accountant.worst(_distinct(event.events, accountant, relation))


@_walk.register
def _(event: events.PostProcessed, accountant: Accountant[Any], relation: Relation) -> Any:
    return _walk(event.event, accountant, relation)


@_walk.register
def _(event: events.PoissonSampled, accountant: Accountant[Any], relation: Relation) -> Any:
    _require(relation, Relation.ADD_REMOVE, "Poisson sampling")
    inner = _walk(event.event, accountant, relation)
    return inner if event.rate == 1 else accountant.poisson(inner, event.rate)


@_walk.register
def _(
    event: events.SampledWithoutReplacement, accountant: Accountant[Any], relation: Relation
) -> Any:
    _require(relation, Relation.REPLACE_ONE, "sampling without replacement")
    inner = _walk(event.event, accountant, relation)
    if event.size == event.population:
        return inner
    return accountant.without_replacement(
        inner, min(rounding.up(event.size / event.population), 1.0)
    )


def _distinct(
    events: Iterable[events.Event], accountant: Accountant[Value], relation: Relation
) -> list[Value]:
    return [_walk(event, accountant, relation) for event in dict.fromkeys(events)]


def _require(got: Relation, needed: Relation, what: str) -> None:
    if got is not needed:
        raise InputError(f"relation must be {needed} for {what}, got {got}")
