"""A penalty from public numbers alone: nothing is tuned on the private records.

A larger penalty needs less noise and fits less. On MNIST pixels and CIFAR-10 features the best
penalty put the standard deviation of the noise on one logit at about 0.3, whatever n was; solving
Δ₂·(std of the noise per unit of Δ₂)·R = 0.3 for λ gives the rule below.
"""

import math

from reticent.guarantee import Relation, Sensitivity, grade
from reticent.mechanisms.profiles import gaussian
from reticent.mechanisms.registry import MECHANISMS
from reticent.protect.terms import records_touched
from reticent.validation import count, positive

LOGIT_NOISE = 0.3
MEAN_NOISE = 0.05
LEAST_SHARE, LARGEST_SHARE = 0.01, 0.2


def public_penalty(  # noqa: PLR0913 - one argument for each public number
    *,
    records: int,
    radius: float,
    coordinates: int,
    epsilon: float,
    delta: float,
    relation: Relation | str,
    mechanism: str = "gaussian",
    max_records_per_person: int | None = None,
    residual: float = math.sqrt(2),
) -> float:
    """λ = k·m·r·R²·c/(0.3·N), c the std of the noise for Δ₂ = 1 at (ε, δ).

    ``coordinates`` is p = (C−1)·d, the number of released entries, and ``residual`` is r, the
    largest norm of a record's residual: √2 for softmax, √C for C labels of a sigmoid head.

    >>> round(
    ...     public_penalty(
    ...         records=60_000,
    ...         radius=1.0,
    ...         coordinates=7065,
    ...         epsilon=1.0,
    ...         delta=1e-5,
    ...         relation="add-remove",
    ...     ),
    ...     6,
    ... )
    0.000293
    """
    p = count("coordinates", coordinates)
    unit = Sensitivity(l1=math.sqrt(p), l2=1.0)
    noise = MECHANISMS.named(mechanism).calibrate(unit, epsilon=epsilon, delta=delta)
    touched = 1 if grade.as_relation(relation) is Relation.ADD_REMOVE else 2
    shift = touched * records_touched(max_records_per_person) * positive("residual", residual)
    scale = positive("radius", radius) ** 2 * noise.std_in(p)
    return shift * scale / (LOGIT_NOISE * count("records", records))


def mean_share(*, records: int, features: int, epsilon: float, delta: float) -> float:
    """The share of a budget for a noisy mean, so that its noise has norm 0.05·bound.

    The noise on the mean has norm √d·bound/(N·μ·√share), μ the budget in Gaussian DP (with δ = 0
    that of δ = 10⁻⁵, a mere choice); the share stays between 1 and 20 %.

    >>> mean_share(records=60_000, features=784, epsilon=1.0, delta=1e-5)
    0.01
    """
    mu = gaussian.shift(positive("epsilon", epsilon), delta if delta > 0 else 1e-5)
    norm = math.sqrt(count("features", features)) / (count("records", records) * mu)
    return min(max((norm / MEAN_NOISE) ** 2, LEAST_SHARE), LARGEST_SHARE)
