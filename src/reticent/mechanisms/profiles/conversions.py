"""From ρ-zCDP, Rényi-DP and μ-GDP to (ε, δ), and back by a search that ends on the safe side."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy import optimize

from reticent.arrays import ArrayLike, Floats

_STEPS = 200
"""More halvings than a float has bits: the search ends when the bracket cannot shrink."""


def smallest_above(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest value in [low, high] where ``holds``, up to floats; ``high`` must hold.

    The value returned has been seen to hold.
    """
    if holds(low):
        return low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def largest_below(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest value in [low, high] where ``holds``, up to floats; ``low`` must hold.

    The value returned has been seen to hold, or is ``low``.
    """
    if holds(high):
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


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

    def epsilon(excess: Floats) -> Floats:
        return _balle(1 + excess, (1 + excess) * rho, delta)

    return max(0.0, _least(epsilon))


def zcdp_to_delta(rho: float, epsilon: float) -> float:
    """The δ of ρ-zCDP at ε: the same conversion read the other way, minimised over α."""
    if rho == 0:
        return 0.0
    if math.isinf(rho):
        return 1.0

    def log_delta(excess: Floats) -> Floats:
        alpha = 1 + excess
        return excess * (alpha * rho - epsilon + np.log1p(-1 / alpha)) - np.log(alpha)

    return math.exp(min(0.0, _least(log_delta)))


@lru_cache(maxsize=1024)  # every part of one plan asks for the same (ε, δ)
def zcdp_for(epsilon: float, delta: float) -> float:
    """The largest ρ whose ε at δ is at most ``epsilon``."""
    if delta == 0:
        return 0.0
    too_much = 1.0
    while zcdp_to_epsilon(too_much, delta) <= epsilon:
        too_much *= 2
    return largest_below(lambda rho: zcdp_to_epsilon(rho, delta) <= epsilon, 0.0, too_much)


_EXCESS = np.logspace(-9, 12, 211)
"""Values of α − 1 that bracket the best order of every ρ and δ a float can hold in practice."""


def _least(loss: Callable[[Floats], Floats]) -> float:
    """The least value of a function of α − 1: a coarse grid, then a search between its points.

    Every α is valid, so an imperfect minimum costs tightness and never truth.
    """
    best = int(np.clip(np.argmin(loss(_EXCESS)), 1, _EXCESS.size - 2))
    bounds = (math.log(_EXCESS[best - 1]), math.log(_EXCESS[best + 1]))
    minimum = optimize.minimize_scalar(
        lambda position: float(loss(np.exp(position))),
        bounds=bounds,
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(minimum.fun)


def _balle(alpha: Floats, divergence: Floats, delta: float) -> Floats:
    if delta == 0:
        return np.full_like(divergence, math.inf)
    with np.errstate(invalid="ignore"):
        result: Floats = (
            divergence + np.log1p(-1 / alpha) - (math.log(delta) + np.log(alpha)) / (alpha - 1)
        )
    return result
