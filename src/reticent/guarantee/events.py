"""What happened to the data, without the data: leaves are releases, nodes combine them.

An event is what an accountant needs to know of a release. Noise is given per unit of
sensitivity, so an event holds under the neighbouring relation of that sensitivity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields

from reticent.validation import (
    InputError,
    count,
    describe,
    non_negative,
    positive,
    probability,
    sampling_rate,
)

MOST_REPEATS = 10**15


class Event:
    """Base of all events; equality and hashing are by value."""

    def to_dict(self) -> dict[str, object]:
        """Plain values with the event's type, as they stand in a JSON file."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {"type": _name(type(self)), **{key: _plain(value) for key, value in values.items()}}

    @staticmethod
    def from_dict(values: Mapping[str, object]) -> Event:
        """An event from plain values; unknown types and fields are refused, never skipped."""
        if not isinstance(values, Mapping):
            raise InputError(f"event must be a JSON object, got {describe(values)}")
        rest = dict(values)
        kind = EVENT_TYPES.get(str(rest.pop("type", None)))
        if kind is None:
            known = ", ".join(EVENT_TYPES)
            raise InputError(f"event type must be one of {known}, got {values.get('type')!r}")
        names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
        if set(rest) != set(names):
            got = ", ".join(sorted(map(str, rest))) or "none"
            raise InputError(
                f"{_name(kind)} event must have the fields {', '.join(names)}, got {got}"
            )
        return kind(**{key: _event_value(key, value) for key, value in rest.items()})

    def _set(self, name: str, check: Callable[[str, object], float]) -> None:
        object.__setattr__(self, name, check(name, getattr(self, name)))


@dataclass(frozen=True, kw_only=True)
class GaussianEvent(Event):
    """Gaussian noise; noise_multiplier = σ/Δ₂."""

    noise_multiplier: float

    def __post_init__(self) -> None:
        """Refuse NaN and zero: a NaN multiplier would be accounted as ε = 0 elsewhere."""
        self._set("noise_multiplier", positive)


@dataclass(frozen=True, kw_only=True)
class LaplaceEvent(Event):
    """Laplace noise; noise_multiplier = b/Δ in the norm ``norm`` ("l1" or "l2")."""

    noise_multiplier: float
    norm: str = "l1"

    def __post_init__(self) -> None:
        """Check multiplier and norm."""
        self._set("noise_multiplier", positive)
        _check_norm(self.norm)


@dataclass(frozen=True, kw_only=True)
class LogisticEvent(Event):
    """Logistic noise; noise_multiplier = s/Δ in the norm ``norm`` ("l1" or "l2")."""

    noise_multiplier: float
    norm: str = "l1"

    def __post_init__(self) -> None:
        """Check multiplier and norm."""
        self._set("noise_multiplier", positive)
        _check_norm(self.norm)


@dataclass(frozen=True, kw_only=True)
class PureEvent(Event):
    """Any release of which pure ε-DP alone is known."""

    epsilon: float

    def __post_init__(self) -> None:
        """Check ε."""
        self._set("epsilon", non_negative)


@dataclass(frozen=True, kw_only=True)
class BoundedRangeEvent(Event):
    """An ε-bounded-range release: the exponential mechanism."""

    epsilon: float

    def __post_init__(self) -> None:
        """Check ε."""
        self._set("epsilon", non_negative)


@dataclass(frozen=True, kw_only=True)
class ApproximateEvent(Event):
    """Any release of which (ε, δ)-DP alone is known."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        """Check ε and δ."""
        self._set("epsilon", non_negative)
        self._set("delta", probability)


@dataclass(frozen=True, kw_only=True)
class ZcdpEvent(Event):
    """Any release of which ρ-zCDP alone is known."""

    rho: float

    def __post_init__(self) -> None:
        """Check ρ."""
        self._set("rho", non_negative)


@dataclass(frozen=True, kw_only=True)
class Composed(Event):
    """All of these on the same data, one after the other, adaptively."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        """Check the parts."""
        _check_events(self)


@dataclass(frozen=True, kw_only=True)
class Repeated(Event):
    """The same kind of event ``count`` times on the same data."""

    event: Event
    count: int

    def __post_init__(self) -> None:
        """Check the part and the count."""
        _check_event(self.event)
        self._set("count", count)
        if self.count > MOST_REPEATS:
            raise InputError(f"count must be <= {MOST_REPEATS}, got a larger number")


@dataclass(frozen=True, kw_only=True)
class Parallel(Event):
    """Events on disjoint parts of the data set; add-remove only."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        """Check the parts."""
        _check_events(self)


@dataclass(frozen=True, kw_only=True)
class Mixture(Event):
    """One of these, chosen by a coin that does not look at the data."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        """Check the parts."""
        _check_events(self)


@dataclass(frozen=True, kw_only=True)
class PostProcessed(Event):
    """Anything computed from the outcome of an event alone."""

    event: Event

    def __post_init__(self) -> None:
        """Check the part."""
        _check_event(self.event)


@dataclass(frozen=True, kw_only=True)
class PoissonSampled(Event):
    """An event on a subsample that takes each record with probability ``rate``; add-remove."""

    event: Event
    rate: float

    def __post_init__(self) -> None:
        """Check the part and the rate."""
        _check_event(self.event)
        self._set("rate", sampling_rate)


@dataclass(frozen=True, kw_only=True)
class SampledWithoutReplacement(Event):
    """An event on ``size`` of ``population`` records, drawn without replacement; replace-one."""

    event: Event
    size: int
    population: int

    def __post_init__(self) -> None:
        """Check the part and that the sample fits the population."""
        _check_event(self.event)
        self._set("size", count)
        self._set("population", count)
        if self.size > self.population:
            raise InputError(f"size must be <= population = {self.population}, got {self.size}")
        for inner in _samples_within(self.event):
            if inner.population != self.size:
                raise InputError(
                    f"population of a sample within a sample of {self.size} must be {self.size}, "
                    f"got {inner.population}"
                )


def _samples_within(event: Event) -> list[SampledWithoutReplacement]:
    """The outermost samples without replacement inside an event."""
    if isinstance(event, SampledWithoutReplacement):
        return [event]
    parts = getattr(event, "events", ()) or (getattr(event, "event", None),)
    return [found for part in parts if part is not None for found in _samples_within(part)]


def _name(kind: type[Event]) -> str:
    return kind.__name__.removesuffix("Event")


EVENT_TYPES: dict[str, type[Event]] = {
    _name(kind): kind
    for kind in (
        GaussianEvent,
        LaplaceEvent,
        LogisticEvent,
        PureEvent,
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


def _check_norm(norm: str) -> None:
    if norm not in ("l1", "l2"):
        raise InputError(f"norm must be l1 or l2, got {norm!r}")


def _check_event(event: object) -> None:
    if not isinstance(event, Event) or type(event) is Event:
        raise InputError(f"event must be an Event, got {describe(event)}")


def _check_events(node: Composed | Parallel | Mixture) -> None:
    if not isinstance(node.events, Sequence) or not node.events:
        raise InputError(f"events must be a non-empty list of events, got {describe(node.events)}")
    for event in node.events:
        _check_event(event)
    object.__setattr__(node, "events", tuple(node.events))


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
