"""What happened to the data, without the data: leaves are releases, nodes combine them.

An event is what an accountant needs to know of a release. Noise is given per unit of
sensitivity, so an event holds under the neighbouring relation of that sensitivity.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final

from reticent import validation

MOST_REPEATS = 10**15

_LARGEST_MULTIPLIER: Final = 1e100
_SMALLEST_COST: Final = 1e-100
"""Beyond these the squares that accountants form would be zero, and so the printed ε. Less noise
or a larger cost is accounted instead, which is an upper bound as well."""


class Event:
    """Base of all events; equality and hashing are by value."""

    def to_dict(self) -> dict[str, object]:
        """Plain values with the event's type, as they stand in a JSON file."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {"type": _name(type(self)), **{key: _plain(value) for key, value in values.items()}}

    @staticmethod
    def from_dict(values: Mapping[str, object]) -> "Event":
        """An event from plain values; unknown types and fields are refused, never skipped."""
        if not isinstance(values, Mapping):
            raise validation.InputError(
                f"event must be a JSON object, got {validation.describe(values)}"
            )
        rest = dict(values)
        kind = EVENT_TYPES.get(str(rest.pop("type", None)))
        if kind is None:
            known = ", ".join(EVENT_TYPES)
            raise validation.InputError(
                f"event type must be one of {known}, got {values.get('type')!r}"
            )
        names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
        if set(rest) != set(names):
            got = ", ".join(sorted(map(str, rest))) or "none"
            raise validation.InputError(
                f"{_name(kind)} event must have the fields {', '.join(names)}, got {got}"
            )
        return kind(**{key: _event_value(key, value) for key, value in rest.items()})

    def __post_init__(self) -> None:
        """Check each field by its name: a NaN multiplier would be accounted as ε = 0 elsewhere."""
        for field in fields(self):  # type: ignore[arg-type]
            if check := _CHECKS.get(field.name):
                value = check(field.name, getattr(self, field.name))
                object.__setattr__(self, field.name, value)


@dataclass(frozen=True, kw_only=True)
class GaussianEvent(Event):
    """Gaussian noise; noise_multiplier = σ/Δ₂."""

    noise_multiplier: float


@dataclass(frozen=True, kw_only=True)
class LaplaceEvent(Event):
    """Laplace noise; noise_multiplier = b/Δ in the norm ``norm`` ("l1" or "l2")."""

    noise_multiplier: float
    norm: str = "l1"


@dataclass(frozen=True, kw_only=True)
class LogisticEvent(Event):
    """Logistic noise; noise_multiplier = s/Δ in the norm ``norm`` ("l1" or "l2")."""

    noise_multiplier: float
    norm: str = "l1"


@dataclass(frozen=True, kw_only=True)
class ObjectiveEvent(Event):
    """The exact minimum of a convex loss with a random linear term (objective perturbation).

    noise_multiplier = σ/L, L the norm of what one unit adds to the gradient; ``curvature`` bounds
    the logarithm of the ratio of determinants that it causes, and ``directions`` is in how many
    fixed directions its gradient may point (docs/theory.md I.2).
    """

    noise_multiplier: float
    curvature: float
    directions: int


@dataclass(frozen=True, kw_only=True)
class PureEvent(Event):
    """Any release of which pure ε-DP alone is known."""

    epsilon: float


@dataclass(frozen=True, kw_only=True)
class ResponseEvent(PureEvent):
    """One label among ``classes`` by randomised response; no answer is e^ε times as likely."""

    classes: int


@dataclass(frozen=True, kw_only=True)
class BoundedRangeEvent(Event):
    """An ε-bounded-range release: the exponential mechanism."""

    epsilon: float


@dataclass(frozen=True, kw_only=True)
class ApproximateEvent(Event):
    """Any release of which (ε, δ)-DP alone is known."""

    epsilon: float
    delta: float


@dataclass(frozen=True, kw_only=True)
class ZcdpEvent(Event):
    """Any release of which ρ-zCDP alone is known."""

    rho: float


@dataclass(frozen=True, kw_only=True)
class Composed(Event):
    """All of these on the same data, one after the other, adaptively."""

    events: tuple[Event, ...]


@dataclass(frozen=True, kw_only=True)
class Repeated(Event):
    """The same kind of event ``count`` times on the same data."""

    event: Event
    count: int


@dataclass(frozen=True, kw_only=True)
class Parallel(Event):
    """Events on disjoint parts of the data set; add-remove only."""

    events: tuple[Event, ...]


@dataclass(frozen=True, kw_only=True)
class Mixture(Event):
    """One of these, chosen by a coin that does not look at the data."""

    events: tuple[Event, ...]


@dataclass(frozen=True, kw_only=True)
class PostProcessed(Event):
    """Anything computed from the outcome of an event alone."""

    event: Event


@dataclass(frozen=True, kw_only=True)
class PoissonSampled(Event):
    """An event on a subsample that takes each record with probability ``rate``; add-remove."""

    event: Event
    rate: float


@dataclass(frozen=True, kw_only=True)
class SampledWithoutReplacement(Event):
    """An event on ``size`` of ``population`` records, drawn without replacement; replace-one."""

    event: Event
    size: int
    population: int

    def __post_init__(self) -> None:
        """Check the fields, and that the sample fits the population."""
        super().__post_init__()
        if self.size > self.population:
            raise validation.InputError(
                f"size must be <= population = {self.population}, got {self.size}"
            )
        for inner in _samples_within(self.event):
            if inner.population != self.size:
                raise validation.InputError(
                    f"population of a sample within a sample of {self.size} must be {self.size}, "
                    f"got {inner.population}"
                )


def _samples_within(event: Event) -> list[SampledWithoutReplacement]:
    """The outermost samples without replacement inside an event."""
    if isinstance(event, SampledWithoutReplacement):
        return [event]
    parts = getattr(event, "events", ()) or (getattr(event, "event", None),)
    return [sample for part in parts if part is not None for sample in _samples_within(part)]


def _name(kind: type[Event]) -> str:
    return kind.__name__.removesuffix("Event")


EVENT_TYPES: dict[str, type[Event]] = {
    _name(kind): kind
    for kind in (
        GaussianEvent,
        LaplaceEvent,
        LogisticEvent,
        ObjectiveEvent,
        PureEvent,
        ResponseEvent,
        BoundedRangeEvent,
        ApproximateEvent,
        ZcdpEvent,
        Composed,
        Repeated,
        Parallel,
        Mixture,
        PostProcessed,
        PoissonSampled,
        SampledWithoutReplacement,
    )
}


def _multiplier(name: str, value: object) -> float:
    return min(validation.positive(name, value), _LARGEST_MULTIPLIER)


def _cost(name: str, value: object) -> float:
    cost = validation.non_negative(name, value)
    return max(cost, _SMALLEST_COST) if cost else cost


def _repeats(name: str, value: object) -> int:
    repeats = validation.count(name, value)
    if repeats > MOST_REPEATS:
        raise validation.InputError(f"count must be <= {MOST_REPEATS}, got a larger number")
    return repeats


def _classes(name: str, value: object) -> int:
    return validation.count(name, value, at_least=2)


def _norm(name: str, value: object) -> object:
    if value not in ("l1", "l2"):
        raise validation.InputError(f"{name} must be l1 or l2, got {value!r}")
    return value


def _event(_: str, value: object) -> Event:
    if not isinstance(value, Event) or type(value) is Event:
        raise validation.InputError(f"event must be an Event, got {validation.describe(value)}")
    return value


def _events(name: str, value: object) -> tuple[Event, ...]:
    if not isinstance(value, Sequence) or not value:
        raise validation.InputError(
            f"{name} must be a non-empty list of events, got {validation.describe(value)}"
        )
    return tuple(_event(name, event) for event in value)


_CHECKS: Final[Mapping[str, Callable[[str, object], object]]] = {
    "noise_multiplier": _multiplier,
    "norm": _norm,
    "epsilon": _cost,
    "delta": validation.probability,
    "rho": _cost,
    "curvature": _cost,
    "directions": validation.count,
    "classes": _classes,
    "event": _event,
    "events": _events,
    "count": _repeats,
    "rate": validation.sampling_rate,
    "size": validation.count,
    "population": validation.count,
}
"""By the name of a field."""


def _plain(value: object) -> object:
    if isinstance(value, Event):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _event_value(name: str, value: object) -> object:
    if name == "event":
        return Event.from_dict(value)  # type: ignore[arg-type]
    if name == "events" and isinstance(value, (list, tuple)):
        return tuple(Event.from_dict(item) for item in value)
    return value
