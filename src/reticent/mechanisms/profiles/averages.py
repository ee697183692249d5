"""Averages of smooth functions over an interval: Rényi divergences without cancellation.

The Rényi divergence of every noise here is (k(β₁) − k(½))/(α − 1), the average of k′ between
two points. For orders near 1 and for small shifts that difference cancels in floats, the
average does not.
"""

import math
from collections.abc import Callable

import numpy as np

from reticent.arrays import Floats

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)

SAFE = 1 + 2.0**-48
"""Where ε(δ) is a difference of a shift and a logarithm, its error is that of the shift: it is
charged to the shift, so that an ε near 0 is not rounded below the truth."""

Vectorised = Callable[[Floats], Floats]


def average(function: Vectorised, lower: float, upper: float) -> float:
    """The mean of ``function`` over [lower, upper], by 20-point Gauss–Legendre quadrature.

    For intervals of length at most 1 and functions that are analytic within distance 3/2 the
    error is below 1e-15 of the value.
    """
    points = lower + (upper - lower) * (_NODES + 1) / 2
    return float(np.dot(_WEIGHTS, function(points))) / 2


def langevin(x: Floats) -> Floats:
    """coth x − 1/x for x ≥ 0, the derivative of ln(sinh x / x)."""
    squared = x * x
    # The series alternates and stops after a plus: an upper bound, within 1e-15 for x < 0.1.
    tail = 2 / 945 - squared * (1 / 4725 - squared * 2 / 93555)
    small = x * (1 / 3 - squared * (1 / 45 - squared * tail))
    large = np.where(x < 0.1, 1.0, x)
    return np.where(x < 0.1, small, 1 / np.tanh(large) - 1 / large)


def x_minus_tanh(x: Floats) -> Floats:
    """X − tanh x for x ≥ 0."""
    squared = x * x
    small = x * squared * (1 / 3 - squared * (2 / 15 - squared * (17 / 315 - squared * 62 / 2835)))
    return np.where(x < 0.03, small, x - np.tanh(x))


def log_sinhc(x: float) -> float:
    """ln(sinh x / x) for x > 0, without overflow."""
    if x < 0.05:
        return x * x / 6 - x**4 / 180 + x**6 / 2835
    return x + math.log(-math.expm1(-2 * x)) - math.log(2 * x)


def log_cosh(x: float) -> float:
    """Ln cosh x for x ≥ 0, without overflow."""
    return x + math.log1p(math.exp(-2 * x)) - math.log(2)
