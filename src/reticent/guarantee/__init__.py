"""Values that say what a release promises: Grade, Relation, Sensitivity, Guarantee and events.

Nothing is computed here beyond the rules by which guarantees compose; the theorems live in
``mechanisms``, ``accounting`` and ``bounds``.
"""

from reticent.guarantee.composition import composed, group, mixture, parallel
from reticent.guarantee.events import (
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
    Repeated,
    SampledWithoutReplacement,
    ZcdpEvent,
)
from reticent.guarantee.grade import Grade, Relation, weakest
from reticent.guarantee.guarantee import Guarantee
from reticent.guarantee.sensitivity import Sensitivity

__all__ = [
    "ApproximateEvent",
    "BoundedRangeEvent",
    "Composed",
    "Event",
    "GaussianEvent",
    "Grade",
    "Guarantee",
    "LaplaceEvent",
    "LogisticEvent",
    "Mixture",
    "ObjectiveEvent",
    "Parallel",
    "PoissonSampled",
    "PostProcessed",
    "PureEvent",
    "Relation",
    "Repeated",
    "SampledWithoutReplacement",
    "Sensitivity",
    "ZcdpEvent",
    "composed",
    "group",
    "mixture",
    "parallel",
    "weakest",
]
