"""Estimating sensitivities from neighbouring data sets; ``bounds`` proves, this layer samples."""

from reticent.neighbours.published import RefittedPairs, published_sensitivity, refitted_pairs
from reticent.neighbours.random_dp import (
    delivered_gamma,
    exchangeable_gamma,
    gamma_of,
    order_statistic,
    pairs_for,
)

__all__ = [
    "RefittedPairs",
    "delivered_gamma",
    "exchangeable_gamma",
    "gamma_of",
    "order_statistic",
    "pairs_for",
    "published_sensitivity",
    "refitted_pairs",
]
