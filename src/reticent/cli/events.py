"""From options to an event: one mechanism, repeated and sampled, or a file of events."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from reticent import strict_json
from reticent.guarantee import events
from reticent.validation import InputError


class MechanismName(StrEnum):
    """Releases that can be named on the command line."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"
    LOGISTIC = "logistic"
    LAPLACE_L2 = "laplace-l2"
    LOGISTIC_L2 = "logistic-l2"
    PURE = "pure"
    EXPONENTIAL = "exponential"
    ZCDP = "zcdp"


def noise_event(mechanism: MechanismName, noise_multiplier: float) -> events.Event:
    """One release with noise of scale noise_multiplier·sensitivity."""
    if mechanism is MechanismName.GAUSSIAN:
        return events.GaussianEvent(noise_multiplier=noise_multiplier)
    kind = events.LaplaceEvent if mechanism.startswith("laplace") else events.LogisticEvent
    return kind(noise_multiplier=noise_multiplier, norm="l2" if mechanism.endswith("-l2") else "l1")


COSTS: dict[MechanismName, Callable[[float], events.Event]] = {
    MechanismName.PURE: lambda cost: events.PureEvent(epsilon=cost),
    MechanismName.EXPONENTIAL: lambda cost: events.BoundedRangeEvent(epsilon=cost),
    MechanismName.ZCDP: lambda cost: events.ZcdpEvent(rho=cost),
}


def release_event(
    mechanism: MechanismName, noise_multiplier: float | None, cost: float | None
) -> events.Event:
    """One release; noise is described by its multiplier, the others by what one release costs."""
    if mechanism in COSTS:
        if cost is None or noise_multiplier is not None:
            raise InputError(f"--cost must be given for {mechanism}, and no --noise-multiplier")
        return COSTS[mechanism](cost)
    if noise_multiplier is None or cost is not None:
        raise InputError(f"--noise-multiplier must be given for {mechanism}, and no --cost")
    return noise_event(mechanism, noise_multiplier)


def sampled_steps(
    event: events.Event, times: int, rate: float | None, size: int | None, population: int | None
) -> events.Event:
    """The event on a sample, as often as it is repeated."""
    if rate is not None and (size is not None or population is not None):
        raise InputError("sampling must be said once: --sampling-rate or --sample-size")
    if (size is None) != (population is None):
        raise InputError("--sample-size and --population must be given together, got one of them")
    if rate is not None:
        event = events.PoissonSampled(event=event, rate=rate)
    elif size is not None and population is not None:
        event = events.SampledWithoutReplacement(event=event, size=size, population=population)
    return event if times == 1 else events.Repeated(event=event, count=times)


def read_event(path: Path) -> events.Event:
    """An event from a JSON file."""
    return events.Event.from_dict(strict_json.read(path, role="--events"))
