"""Noise without a floating-point leak: correctly rounded functions of exact continuous noise."""

from reticent.mechanisms.rounded.grid import Saturation, default_grid, saturation
from reticent.mechanisms.rounded.l2_laplace import l2_laplace_grid, rounded_l2_laplace
from reticent.mechanisms.rounded.release import (
    noisy_argmax_exponential,
    noisy_argmax_gumbel,
    rounded_gaussian,
    rounded_laplace,
    rounded_logistic,
)

__all__ = [
    "Saturation",
    "default_grid",
    "l2_laplace_grid",
    "noisy_argmax_exponential",
    "noisy_argmax_gumbel",
    "rounded_gaussian",
    "rounded_l2_laplace",
    "rounded_laplace",
    "rounded_logistic",
    "saturation",
]
