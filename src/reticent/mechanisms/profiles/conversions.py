"""From ρ-zCDP, Rényi-DP and μ-GDP to (ε, δ), and back by a search that ends on the safe side."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from reticent.mechanisms.profiles.search import largest_below


def rdp_to_epsilon(orders: ArrayLike, values: ArrayLike, delta: float) -> tuple[float, float]:
    """The smallest ε over the given orders and the order that gives it.

    ε = D_α + ln(1 − 1/α) − (ln δ + ln α)/(α−1) (Balle et al. 2020, Theorem 21). Every order gives
    a valid ε, so the grid decides tightness and never truth. Infinite at δ = 0, except where an
    order is infinite.
    """
    alpha = np.asarray(orders, dtype=np.float64)
    divergence = np.asarray(values, dtype=np.float64)
    candidates = np.where(np.isinf(alpha), divergence, _balle(alpha, divergence, delta))
    best = int(np.nanargmin(candidates))
    return max(0.0, float(candidates[best])), float(alpha[best])


def zcdp_to_epsilon(rho: float, delta: float) -> float:
    """The ε of ρ-zCDP at δ: the conversion of its RDP line αρ, minimised over α."""
    if rho == 0:
        return 0.0
    if delta == 0 or math.isinf(rho):
        return math.inf
    # Around the order that is best for the simpler conversion ρ + 2√(ρ·ln(1/δ)).
    centre = math.log(max(math.sqrt(math.log(1 / delta) / rho), 1e-12))

    def loss(log_order_minus_one: float) -> float:
        alpha = 1 + math.exp(log_order_minus_one)
        return float(_balle(np.array(alpha), np.array(alpha * rho), delta))

    found = optimize.minimize_scalar(loss, bounds=(centre - 6, centre + 6), method="bounded")
    return max(0.0, min(float(found.fun), loss(centre)))


def zcdp_to_delta(rho: float, epsilon: float) -> float:
    """The δ of ρ-zCDP at ε: the same conversion read the other way, minimised over α."""
    if rho == 0:
        return 0.0
    if math.isinf(rho):
        return 1.0
    centre = math.log(max((epsilon - rho) / (2 * rho), 1e-6))

    def log_delta(log_order_minus_one: float) -> float:
        excess = math.exp(log_order_minus_one)
        alpha = 1 + excess
        return excess * (alpha * rho - epsilon + math.log1p(-1 / alpha)) - math.log(alpha)

    found = optimize.minimize_scalar(log_delta, bounds=(centre - 6, centre + 6), method="bounded")
    return math.exp(min(0.0, float(found.fun), log_delta(centre)))


def zcdp_for(epsilon: float, delta: float) -> float:
    """The largest ρ whose ε at δ is at most ``epsilon``."""
    if delta == 0:
        return 0.0
    too_much = 1.0
    while zcdp_to_epsilon(too_much, delta) <= epsilon:
        too_much *= 2
    return largest_below(lambda rho: zcdp_to_epsilon(rho, delta) <= epsilon, 0.0, too_much)


def _balle(
    alpha: NDArray[np.float64], divergence: NDArray[np.float64], delta: float
) -> NDArray[np.float64]:
    if delta == 0:
        return np.full_like(divergence, math.inf)
    with np.errstate(invalid="ignore"):
        result: NDArray[np.float64] = (
            divergence + np.log1p(-1 / alpha) - (math.log(delta) + np.log(alpha)) / (alpha - 1)
        )
    return result
