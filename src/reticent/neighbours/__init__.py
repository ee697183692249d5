"""Estimating sensitivities from neighbouring data sets; ``bounds`` proves, this layer samples."""

from reticent.neighbours.differences import Differences, Norms
from reticent.neighbours.leave_one_out import LeaveOneOut
from reticent.neighbours.published import RefittedPairs, published_sensitivity, refitted_pairs
from reticent.neighbours.random_dp import (
    delivered_gamma,
    exchangeable_gamma,
    gamma_of,
    order_statistic,
    pairs_for,
)

__all__ = [
    "Differences",
    "LeaveOneOut",
    "Norms",
    "RefittedPairs",
    "delivered_gamma",
    "exchangeable_gamma",
    "gamma_of",
    "order_statistic",
    "pairs_for",
    "published_sensitivity",
    "refitted_pairs",
]
