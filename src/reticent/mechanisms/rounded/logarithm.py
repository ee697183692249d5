"""Elementary functions from correctly rounded operations alone, each with a proven error.

No libm: a bound on its results would be a belief. Everything here is +, −, ×, ÷ and moves of
exponent bits, so the bounds follow from IEEE 754; they hold with or without fused multiply-add.
υ = 2⁻⁵³ throughout; docs/theory.md has the derivations.
"""

import math
from typing import Final

import numpy as np

from reticent.mechanisms.rounded.compiled import compiled

UNIT: Final = 2.0**-53
TOP: Final = 2.0**53

_LN2: Final = 0.6931471805599453
_SQRT2: Final = 1.4142135623730951
_HALF_PI: Final = 1.5707963267948966
_TWO52: Final = 2.0**52
_MANTISSA: Final = np.uint64((1 << 52) - 1)
_BITS_OF_ONE: Final = np.uint64(0x3FF << 52)
_BITS_OF_TWO52: Final = np.uint64(0x433 << 52)
_EXPONENT_AT: Final = np.uint64(52)
_DROPPED: Final = np.uint64(12)

_SIN: Final = tuple((-1.0) ** j / math.factorial(2 * j + 1) for j in range(9))
_COS: Final = tuple((-1.0) ** j / math.factorial(2 * j) for j in range(9))


@compiled
def midpoint(word: np.uint64) -> float:
    """m = 2k + 1, k the word's leading 52 bits: the uniform that begins so is (m ± 1)/2⁵³.

    Exact: k is read out of the mantissa of 2⁵² + k.
    """
    bits = (word >> _DROPPED) | _BITS_OF_TWO52
    return (np.uint64(bits).view(np.float64) - _TWO52) * 2.0 + 1.0


@compiled
def log_ratio(m: float, n: float) -> float:
    """ln(m/n) for positive normal floats, with relative error at most 10υ.

    m = a·2^i and n = b·2^j with a/b brought into [√½, √2], then
    ln(m/n) = (i − j)·ln 2 + 2·artanh(f), f = (a − b)/(a + b), |f| ≤ 0.1716. The difference a − b
    is exact (Sterbenz), and the series of artanh after ten terms leaves less than 0.25υ.
    """
    m_bits = np.float64(m).view(np.uint64)
    n_bits = np.float64(n).view(np.uint64)
    a = np.uint64((m_bits & _MANTISSA) | _BITS_OF_ONE).view(np.float64)
    b = np.uint64((n_bits & _MANTISSA) | _BITS_OF_ONE).view(np.float64)
    above = a > _SQRT2 * b
    below = b > _SQRT2 * a
    exponent = _exponent(m_bits) - _exponent(n_bits)
    exponent = exponent + 1.0 if above else exponent
    exponent = exponent - 1.0 if below else exponent
    a = 0.5 * a if above else a
    b = 0.5 * b if below else b
    f = (a - b) / (a + b)
    return exponent * _LN2 + 2.0 * f * _artanh_series(f * f)


@compiled
def _exponent(bits: np.uint64) -> float:
    """2⁵² plus the biased exponent: the common term leaves with the first difference."""
    return np.uint64((bits >> _EXPONENT_AT) | _BITS_OF_TWO52).view(np.float64)


@compiled
def _artanh_series(z: float) -> float:
    """Σ_{j<10} z^j/(2j + 1) = artanh(f)/f up to z¹⁰/21/(1 − z), z = f²."""
    p = z * (1.0 / 19.0) + (1.0 / 17.0)
    p = p * z + (1.0 / 15.0)
    p = p * z + (1.0 / 13.0)
    p = p * z + (1.0 / 11.0)
    p = p * z + (1.0 / 9.0)
    p = p * z + (1.0 / 7.0)
    p = p * z + (1.0 / 5.0)
    p = p * z + (1.0 / 3.0)
    return p * z + 1.0


@compiled
def quarter_turn(m: float) -> tuple[float, float]:
    """(cos φ, sin φ) for φ = (π/2)(m/2⁵³ − ½) in (−π/4, π/4), each within 4υ.

    m is odd and below 2⁵³, so m − 2⁵² is exact; the Taylor series stop where the next term is
    below 0.02υ.
    """
    angle = (m - _TWO52) * UNIT * _HALF_PI
    z = angle * angle
    cosine = _COS[8]
    sine = _SIN[8]
    for j in range(7, -1, -1):
        cosine = cosine * z + _COS[j]
        sine = sine * z + _SIN[j]
    return cosine, angle * sine
