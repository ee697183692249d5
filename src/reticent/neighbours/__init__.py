"""Estimating sensitivities from neighbouring data sets; ``bounds`` proves, this layer samples."""

from reticent.neighbours.random_dp import (
    delivered_gamma,
    exchangeable_gamma,
    gamma_of,
    order_statistic,
    pairs_for,
)

__all__ = ["delivered_gamma", "exchangeable_gamma", "gamma_of", "order_statistic", "pairs_for"]
