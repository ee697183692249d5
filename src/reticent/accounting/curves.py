"""Rényi divergences of one release at many orders at once, as functions of a = sensitivity/scale.

The same forms as in ``mechanisms.profiles``, for arrays of orders. Each D_α is the mean of a slope
over [½, α − ½], which is how it is evaluated where the closed form would cancel.
"""

import math
from collections.abc import Callable

import numpy as np

from reticent.arrays import Floats
from reticent.mechanisms.profiles.averages import langevin, log_cosh, log_sinhc, x_minus_tanh

Array = Floats

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def linear(slope: float) -> Callable[[Array], Array]:
    """D_α = slope·α: Gaussian noise (slope μ²/2) and ρ-zCDP."""

    def curve(orders: Array) -> Array:
        return slope * orders if slope > 0 else np.zeros_like(orders)

    return curve


def logistic(shift: float) -> Callable[[Array], Array]:
    """D_α = (φ((α−½)a) − φ(a/2))/(α−1), φ(x) = ln(sinh x/x); D_∞ = a (theory A)."""

    def far(orders: Array) -> Array:
        return (_log_sinhc((orders - 0.5) * shift) - log_sinhc(shift / 2)) / (orders - 1)

    return _curve(shift, far, lambda beta: shift * langevin(beta * shift))


def pure(epsilon: float) -> Callable[[Array], Array]:
    """D_α = (ln cosh((α−½)ε) − ln cosh(ε/2))/(α−1); D_∞ = ε: randomised response."""

    def far(orders: Array) -> Array:
        return (_log_cosh((orders - 0.5) * epsilon) - log_cosh(epsilon / 2)) / (orders - 1)

    return _curve(epsilon, far, lambda beta: epsilon * np.tanh(beta * epsilon))


def laplace(shift: float) -> Callable[[Array], Array]:
    """D_α = ln(α/(2α−1)·e^{(α−1)a} + (α−1)/(2α−1)·e^{−αa})/(α−1); D_∞ = a."""

    def far(orders: Array) -> Array:
        tail = (orders - 1) / orders * np.exp(-(2 * orders - 1) * shift)
        return shift + (np.log(orders / (2 * orders - 1)) + np.log1p(tail)) / (orders - 1)

    def slope(beta: Array) -> Array:
        x = beta * shift
        tanh = np.tanh(x)
        slopes: Array = (shift * tanh + x_minus_tanh(x) / (2 * beta**2)) / (1 + tanh / (2 * beta))
        return slopes

    return _curve(shift, far, slope)


def _curve(
    largest: float, far: Callable[[Array], Array], slope: Callable[[Array], Array]
) -> Callable[[Array], Array]:
    """The mean of ``slope`` while (α−1)·a ≤ 1, the closed form beyond, a itself at α = ∞."""

    def curve(orders: Array) -> Array:
        values = np.full(orders.shape, largest)
        if largest == 0:
            return values
        finite = np.isfinite(orders)
        close = finite & (orders - 1 <= 1 / largest)
        beyond = finite & ~close
        points = 0.5 + (orders[close, None] - 1) * (_NODES + 1) / 2
        values[close] = slope(points) @ (_WEIGHTS / 2)
        with np.errstate(over="ignore"):
            values[beyond] = np.minimum(far(orders[beyond]), largest)
        return values

    return curve


def _log_sinhc(x: Array) -> Array:
    """ln(sinh x / x) for x > 1/2."""
    values: Array = x + np.log(-np.expm1(-2 * x)) - np.log(2 * x)
    return values


def _log_cosh(x: Array) -> Array:
    values: Array = x + np.log1p(np.exp(-2 * x)) - math.log(2)
    return values
