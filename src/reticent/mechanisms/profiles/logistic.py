"""Logistic noise of scale s under an L1 shift a = Δ₁/s, exact; under an L2 shift by zCDP."""

import math

from reticent.mechanisms.profiles.averages import SAFE, average, langevin, log_sinhc


def delta(shift: float, epsilon: float) -> float:
    """δ(ε) = (1 − e^{−(a−ε)/2})² / (1 − e^{−a}) below ε = a, else 0 (theory A.2)."""
    if epsilon >= shift:
        return 0.0
    return math.expm1((epsilon - shift) / 2) ** 2 / -math.expm1(-shift)


def epsilon(shift: float, delta: float) -> float:
    """ε(δ) = a + 2·ln(1 − √(δ(1 − e^{−a}))), at least 0."""
    if delta == 0:
        return shift
    return max(0.0, shift * SAFE + 2 * math.log1p(-math.sqrt(delta * -math.expm1(-shift))))


def shift(epsilon: float, delta: float) -> float:
    """The largest a with δ(ε) ≤ δ: the inverse of both of the above."""
    root = math.sqrt(delta * (-math.expm1(-epsilon) + delta * math.exp(-epsilon)))
    return epsilon + 2 * math.log1p(root) - 2 * math.log1p(-delta)


def rdp(shift: float, order: float) -> float:
    """D_α = (φ((α−½)a) − φ(a/2))/(α−1) with φ(x) = ln(sinh x/x), exact for one coordinate."""
    if math.isinf(order):
        return shift
    width = (order - 1) * shift
    if width > 1:
        return (log_sinhc(shift / 2 + width) - log_sinhc(shift / 2)) / (order - 1)
    return shift * average(langevin, shift / 2, shift / 2 + width)


def zcdp(shift: float) -> float:
    """The exact ρ = KL = a·coth(a/2) − 2 (the supremum of D_α/α is at α → 1)."""
    return shift * average(langevin, shift / 2, shift / 2)


def zcdp_l2(shift: float) -> float:
    """ρ ≤ (Δ₂/s)²/6 in any dimension: a·coth(a/2) − 2 ≤ a²/6 coordinate by coordinate."""
    return shift * shift / 6


def shift_l2(rho: float) -> float:
    """The Δ₂/s that spends ρ."""
    return math.sqrt(6 * rho)
