"""The worst that any ε₀-DP release can do (randomised response), and the same for bounded range.

Upper bounds for a particular mechanism, exact for the class: every ε₀-DP release is a
post-processing of randomised response (Kairouz, Oh, Viswanath 2015).
"""

import math

import numpy as np
from scipy import special

from reticent.mechanisms.profiles import averages, logistic


def delta(pure: float, epsilon: float) -> float:
    """δ(ε) = (e^{ε₀} − e^ε)/(1 + e^{ε₀}) below ε = ε₀, else 0."""
    if epsilon >= pure:
        return 0.0
    return -math.expm1(epsilon - pure) / (1 + math.exp(-pure))


def epsilon(pure: float, delta: float) -> float:
    """ε(δ) = ε₀ + ln(1 − δ(1 + e^{−ε₀})), at least 0."""
    kept = delta * (1 + math.exp(-pure))
    if delta == 0:
        return pure
    return max(0.0, pure * averages.SAFE + math.log1p(-kept)) if kept < 1 else 0.0


def shift(epsilon: float, delta: float) -> float:
    """The largest ε₀ with δ(ε) ≤ δ: e^{ε₀} = (e^ε + δ)/(1 − δ)."""
    return epsilon + math.log1p(delta * math.exp(-epsilon)) - math.log1p(-delta)


def rdp(pure: float, order: float) -> float:
    """D_α = (ln cosh((α−½)ε₀) − ln cosh(ε₀/2))/(α−1)."""
    if math.isinf(order):
        return pure
    width = (order - 1) * pure
    if width > 1:
        return (averages.log_cosh(pure / 2 + width) - averages.log_cosh(pure / 2)) / (order - 1)
    return pure * averages.average(np.tanh, pure / 2, pure / 2 + width)


def zcdp(pure: float) -> float:
    """The exact ρ = ε₀·tanh(ε₀/2), below the usual ε₀²/2."""
    return pure * math.tanh(pure / 2)


def gdp(pure: float) -> float:
    """μ with Φ(μ/2) = e^{ε₀}/(1 + e^{ε₀}): the Gaussian trade-off curve is convex and meets that of
    randomised response at its three corners, so it lies below.
    """
    if pure < 1:  # 2Φ(μ/2) − 1 = tanh(ε₀/2), without cancellation
        return 2 * math.sqrt(2) * float(special.erfinv(math.tanh(pure / 2)))
    return 2 * float(special.ndtri_exp(-math.log1p(math.exp(-pure))))


def bounded_range_delta(pure: float, epsilon: float) -> float:
    """δ(ε) of an ε₀-bounded-range release: the profile of logistic noise with a = ε₀.

    Its loss takes two values t and t − ε₀ at worst; the maximum over t gives
    (e^{ε₀/2} − e^{ε/2})²/(e^{ε₀} − 1) (Dong, Durfee & Rogers 2020; theory A.5).
    """
    return logistic.delta(pure, epsilon)


def bounded_range_rdp(pure: float, order: float) -> float:
    """D_α ≤ min(α·ε₀²/8, D_α of logistic noise with a = ε₀)."""
    return min(order * pure * pure / 8, logistic.rdp(pure, order))


def bounded_range_zcdp(pure: float) -> float:
    """Ρ ≤ ε₀²/8 (Cesar & Rogers 2021), and never above the pure ε₀·tanh(ε₀/2)."""
    return min(pure * pure / 8, zcdp(pure))
