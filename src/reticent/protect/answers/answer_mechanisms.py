"""How one query can be answered: which noise, on which numbers.

"coordinates" are the C − 1 coordinates of the logits in a fixed basis of the zero-sum space,
"logits" all C of them, "label" the index of one class. Noise on the coordinates is never more than
noise on the logits: there are fewer of them, and softmax does not see what they leave out.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

from reticent import mechanisms
from reticent.arrays import FrozenMapping
from reticent.bounds import SoftmaxAnswers
from reticent.guarantee import Sensitivity, events
from reticent.mechanisms.additive import CoordinatewiseMechanism
from reticent.mechanisms.registry import MECHANISMS, for_any_vector
from reticent.validation import InputError

Space = Literal["coordinates", "logits", "label"]
Kind = type[mechanisms.AdditiveMechanism] | type[mechanisms.SelectionMechanism]

LABEL: Final[Mapping[str, type[mechanisms.SelectionMechanism]]] = FrozenMapping(
    {kind.name: kind for kind in (mechanisms.Exponential, mechanisms.PermuteAndFlip)}
)
_OWN = [name for name in for_any_vector() if MECHANISMS.is_own(name)]
WAYS: Final[Mapping[str, Kind]] = FrozenMapping(
    {**{name: MECHANISMS[name] for name in _OWN}, **LABEL}
)


class Family(NamedTuple):
    """Releases of one kind by their scale over ``bound``: what an accountant sees of one."""

    bound: float
    event: Callable[[float], events.Event]


def kind_of(mechanism: str) -> Kind:
    """The mechanism of that name."""
    if not isinstance(mechanism, str) or mechanism not in WAYS:
        raise InputError(f"mechanism must be one of {', '.join(WAYS)}, got {mechanism!r}")
    return WAYS[mechanism]


def space_of(mechanism: str, wanted: str | None) -> Space:
    """Which numbers are noised: as wanted, by default the coordinates, or the label."""
    if mechanism in LABEL:
        if wanted not in (None, "label"):
            raise InputError(f"space must be 'label' for {mechanism}, got {wanted!r}")
        return "label"
    for space in ("coordinates", "logits"):
        if wanted == space or wanted is None:
            return space
    raise InputError(f"space must be 'coordinates' or 'logits' for {mechanism}, got {wanted!r}")


def sensitivity_of(answers: SoftmaxAnswers, space: Space) -> Sensitivity:
    """How far a record moves the numbers that are noised."""
    return answers.coordinates() if space == "coordinates" else answers.logits()


def noise_of(
    mechanism: str, *, scale: float, sensitivity: Sensitivity, space: Space, classes: int
) -> mechanisms.Mechanism:
    """The noise of one answer."""
    noise = kind_of(mechanism)(scale=scale, sensitivity=sensitivity)
    if isinstance(noise, mechanisms.L2Laplace):
        return noise.in_dimension(classes - 1 if space == "coordinates" else classes)
    return noise


def events_of(noise: mechanisms.Mechanism) -> tuple[events.Event, ...]:
    """One answer as accountants may see it: each of these is true of it."""
    if isinstance(noise, CoordinatewiseMechanism):
        return noise.event(), noise.event_l2()
    return (noise.event(),)


def families(kind: Kind, sensitivity: Sensitivity) -> tuple[Family, ...]:
    """The same for every scale, to be searched through."""
    if issubclass(kind, mechanisms.Gaussian):
        return (Family(sensitivity.require_l2(kind.name), _multiplied(events.GaussianEvent)),)
    if issubclass(kind, CoordinatewiseMechanism):
        return (
            Family(sensitivity.require_l1(kind.name), _multiplied(kind.event_type, norm="l1")),
            Family(sensitivity.require_l2(kind.name), _multiplied(kind.event_type, norm="l2")),
        )
    if issubclass(kind, mechanisms.Exponential):  # ε-bounded-range and, by that, ρ = ε²/8
        return (
            Family(sensitivity.range_bound, lambda s: events.BoundedRangeEvent(epsilon=1 / s)),
            Family(sensitivity.range_bound, lambda s: events.ZcdpEvent(rho=1 / (8 * s * s))),
        )
    # Permute-and-flip is not bounded-range: no more is used than that it is ε-DP.
    selects = issubclass(kind, mechanisms.PermuteAndFlip)
    bound = sensitivity.range_bound if selects else sensitivity.require_l2(kind.name)
    return (Family(bound, lambda s: events.PureEvent(epsilon=1 / s)),)


def is_pure(kind: Kind) -> bool:
    """Whether an answer has an ε at δ = 0."""
    return not issubclass(kind, mechanisms.Gaussian)


def logit_noise(noise: mechanisms.Mechanism) -> float:
    """The standard deviation on a difference of two logits, over √2.

    That of one logit where each has its own noise; isotropic noise on the coordinates has the same
    on every difference as independent noise of that std on all logits. A label is the argmax of
    logits with Gumbel noise (exponential mechanism) or exponential noise (permute-and-flip).
    """
    if isinstance(noise, mechanisms.AdditiveMechanism):
        return noise.std
    return noise.scale * (
        math.pi / math.sqrt(6) if isinstance(noise, mechanisms.Exponential) else 1.0
    )


def _multiplied(kind: Any, **fixed: str) -> Callable[[float], events.Event]:
    def event(multiplier: float) -> events.Event:
        answer_event: events.Event = kind(noise_multiplier=multiplier, **fixed)
        return answer_event

    return event
