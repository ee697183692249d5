"""One event of every kind, with noise as a parameter: what the laws are tested on."""

from collections.abc import Callable
from dataclasses import dataclass

from reticent.guarantee import (
    ApproximateEvent,
    BoundedRangeEvent,
    Composed,
    Event,
    GaussianEvent,
    LaplaceEvent,
    LogisticEvent,
    Mixture,
    ObjectiveEvent,
    Parallel,
    PoissonSampled,
    PostProcessed,
    PureEvent,
    Relation,
    Repeated,
    SampledWithoutReplacement,
    ZcdpEvent,
)
from reticent.guarantee.events import ResponseEvent


@dataclass(frozen=True)
class Family:
    """Events with more or less noise under one relation."""

    name: str
    event: Callable[[float], Event]
    relation: Relation = Relation.AS_DECLARED

    def __str__(self) -> str:
        return self.name


def gaussian(noise: float) -> Event:
    return GaussianEvent(noise_multiplier=noise)


def laplace(noise: float) -> Event:
    return LaplaceEvent(noise_multiplier=noise)


def logistic(noise: float) -> Event:
    return LogisticEvent(noise_multiplier=noise)


RELEASES = [
    Family("gaussian", gaussian),
    Family("laplace", laplace),
    Family("laplace-l2", lambda noise: LaplaceEvent(noise_multiplier=noise, norm="l2")),
    Family("logistic", logistic),
    Family("logistic-l2", lambda noise: LogisticEvent(noise_multiplier=noise, norm="l2")),
    Family("pure", lambda noise: PureEvent(epsilon=1 / noise)),
    Family("response", lambda noise: ResponseEvent(epsilon=1 / noise, classes=7)),
    Family("bounded-range", lambda noise: BoundedRangeEvent(epsilon=1 / noise)),
    Family("approximate", lambda noise: ApproximateEvent(epsilon=1 / noise, delta=1e-9)),
    Family("zcdp", lambda noise: ZcdpEvent(rho=0.5 / noise**2)),
]

NODES = [
    Family(
        "objective",  # which no accountant covers on a sample
        lambda noise: ObjectiveEvent(noise_multiplier=noise, curvature=0.1 / noise, directions=3),
    ),
    Family("composed", lambda noise: Composed(events=(gaussian(noise), logistic(2 * noise)))),
    Family("repeated", lambda noise: Repeated(event=laplace(noise), count=7)),
    Family("mixture", lambda noise: Mixture(events=(gaussian(noise), gaussian(3 * noise)))),
    Family("post-processed", lambda noise: PostProcessed(event=logistic(noise))),
    Family(
        "parallel",
        lambda noise: Parallel(events=(laplace(noise), laplace(2 * noise))),
        Relation.ADD_REMOVE,
    ),
]


def sampled(inner: Family) -> list[Family]:
    return [
        Family(
            f"poisson-{inner}",
            lambda noise: PoissonSampled(event=inner.event(noise), rate=0.02),
            Relation.ADD_REMOVE,
        ),
        Family(
            f"without-replacement-{inner}",
            lambda noise: SampledWithoutReplacement(
                event=inner.event(noise), size=20, population=1000
            ),
            Relation.REPLACE_ONE,
        ),
    ]


SAMPLED = [family for inner in RELEASES for family in sampled(inner)]
FAMILIES = RELEASES + NODES + SAMPLED
