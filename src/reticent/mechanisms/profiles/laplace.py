"""Laplace noise of scale b under an L1 shift a = Δ₁/b, exact; under an L2 shift by zCDP."""

import math

import numpy as np

from reticent.arrays import Floats
from reticent.mechanisms.profiles.averages import SAFE, average, x_minus_tanh


def delta(shift: float, epsilon: float) -> float:
    """δ(ε) = 1 − e^{(ε−a)/2} below ε = a, else 0."""
    return max(0.0, -math.expm1((epsilon - shift) / 2))


def epsilon(shift: float, delta: float) -> float:
    """ε(δ) = a + 2·ln(1 − δ), at least 0."""
    return shift if delta == 0 else max(0.0, shift * SAFE + 2 * math.log1p(-delta))


def shift(epsilon: float, delta: float) -> float:
    """The largest a with δ(ε) ≤ δ."""
    return epsilon - 2 * math.log1p(-delta)


def rdp(shift: float, order: float) -> float:
    """D_α = ln(α/(2α−1)·e^{(α−1)a} + (α−1)/(2α−1)·e^{−αa})/(α−1), exact for one coordinate."""
    if math.isinf(order):
        return shift
    if (order - 1) * shift > 1:
        tail = (order - 1) / order * math.exp(-(2 * order - 1) * shift)
        return shift + (math.log(order / (2 * order - 1)) + math.log1p(tail)) / (order - 1)

    def slope(beta: Floats) -> Floats:
        """k′(β) of k(β) = ln(cosh βa + sinh(βa)/(2β)); D_α is its mean over [½, α−½]."""
        x = beta * shift
        tanh = np.tanh(x)
        return (shift * tanh + x_minus_tanh(x) / (2 * beta**2)) / (1 + tanh / (2 * beta))

    return average(slope, 0.5, order - 0.5)


def zcdp(shift: float) -> float:
    """The exact ρ = KL = a − 1 + e^{−a} (the supremum of D_α/α is at α → 1)."""
    if shift < 0.1:
        # Alternating series: stopping after a term with a plus sign bounds from above.
        return math.fsum((-shift) ** k / math.factorial(k) for k in range(2, 11)) * (1 + 2.0**-50)
    return shift + math.expm1(-shift)


def zcdp_l2(shift: float) -> float:
    """ρ ≤ (Δ₂/b)²/2 in any dimension: a − 1 + e^{−a} ≤ a²/2 coordinate by coordinate."""
    return shift * shift / 2


def shift_l2(rho: float) -> float:
    """The Δ₂/b that spends ρ."""
    return math.sqrt(2 * rho)
