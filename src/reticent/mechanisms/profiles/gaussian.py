"""Gaussian noise of standard deviation σ under an L2 shift μ = Δ₂/σ, exact (Balle & Wang 2018)."""

import math
from functools import lru_cache

from scipy import special

from reticent.arrays import Floats
from reticent.mechanisms.profiles import averages, conversions

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def delta(shift: float, epsilon: float) -> float:
    """δ(ε) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ), to full relative accuracy.

    With M(t) = Φ(−t)/φ(t) and u = ε/μ − μ/2 this is φ(u)·(M(u) − M(u + μ)), because
    e^ε·φ(u + μ) = φ(u). For small μ the difference is taken as the integral of −M′.
    """
    if shift == 0:
        return 0.0
    lower = epsilon / shift - shift / 2
    upper = epsilon / shift + shift / 2
    if shift < 0.5:
        return _density(lower) * shift * averages.average(_minus_mills_slope, lower, upper)
    if lower < 0:
        return float(special.ndtr(-lower)) - _density(lower) * _mills(upper)
    return _density(lower) * (_mills(lower) - _mills(upper))


def epsilon(shift: float, delta: float) -> float:
    """The smallest ε with δ(ε) ≤ δ; infinite at δ = 0."""
    if shift == 0:
        return 0.0
    if delta == 0:
        return math.inf
    # zCDP with ρ = μ²/2 gives a bracket that is always wide enough.
    enough = shift * shift / 2 + shift * math.sqrt(2 * math.log(1 / delta))
    smallest = conversions.smallest_above(
        lambda value: _profile(shift, value) <= delta, 0.0, enough
    )
    return smallest + shift * 2.0**-46 if smallest > 0 else 0.0


@lru_cache(maxsize=1024)  # every part of one plan asks for the same (ε, δ)
def shift(epsilon: float, delta: float) -> float:
    """The largest μ with δ(ε) ≤ δ, by bisection; 0 at δ = 0."""
    if delta == 0:
        return 0.0
    too_much = 1.0
    while _profile(too_much, epsilon) <= delta:
        too_much *= 2
    return conversions.largest_below(lambda value: _profile(value, epsilon) <= delta, 0.0, too_much)


def rdp(shift: float, order: float) -> float:
    """The Rényi divergence D_α = α·μ²/2."""
    return order * shift * shift / 2


def zcdp(shift: float) -> float:
    """ρ = μ²/2 of zero-concentrated DP."""
    return shift * shift / 2


def classical_scale(sensitivity: float, epsilon: float, delta: float) -> float:
    """σ = Δ₂·√(2·ln(1.25/δ))/ε, proven for ε < 1 only (Dwork & Roth 2014, Theorem A.1)."""
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def _profile(shift: float, epsilon: float) -> float:
    return delta(shift, epsilon)


def _density(x: float) -> float:
    return math.exp(-x * x / 2 - _HALF_LOG_2PI)


def _mills(x: float) -> float:
    return math.sqrt(math.pi / 2) * float(special.erfcx(x / math.sqrt(2)))


def _minus_mills_slope(x: Floats) -> Floats:
    """−M′(x) = 1 − x·M(x) > 0."""
    mills = math.sqrt(math.pi / 2) * special.erfcx(x / math.sqrt(2))
    slope: Floats = 1 - x * mills
    return slope
