"""The fast path: noise in floats with a bound on its distance from the exact noise.

Each kernel turns words into ``noise`` and ``error`` such that, for EVERY uniform that begins with
the word, |exact noise − noise| ≤ error; ``settle`` rounds value + scale·noise to the grid where
the bound leaves no doubt. Bodies have no branches, so that the compiler makes vector code of them.

``SLACK`` = 32υ is what the bounds charge, relatively, for the logarithm (10υ) and the arithmetic
after it, that of ``settle`` and of the bounds themselves included.

The elementary functions come from correctly rounded operations alone, each with a proven error. No
libm: a bound on its results would be a belief. Everything here is +, −, ×, ÷ and moves of
exponent bits, so the bounds follow from IEEE 754; they hold with or without fused multiply-add.
υ = 2⁻⁵³ throughout; docs/theory.md has the derivations.
"""

import math
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from reticent.arrays import Floats
from reticent.mechanisms.rounded.grid import VALUE_CELLS, Frame

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Machine code that releases the interpreter's lock and keeps IEEE 754 to the letter.

    No fast-math: the error bounds count each operation. Division by zero gives infinity, which
    the kernels use as "no finite bound".
    """
    return numba.njit(nogil=True, cache=True, error_model="numpy")(function)


def fused(function: Callable[P, R]) -> Callable[P, R]:
    """The same, where a product and a sum may be rounded once (docs/theory.md A.7): a third faster.

    For the noise alone, whose bounds hold either way: other kernels promise the same bits.
    """
    return numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})(function)


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


@fused
def midpoint(word: np.uint64) -> float:
    """m = 2k + 1, k the word's leading 52 bits: the uniform that begins so is (m ± 1)/2⁵³.

    Exact: k is read out of the mantissa of 2⁵² + k.
    """
    bits = (word >> _DROPPED) | _BITS_OF_TWO52
    return (np.uint64(bits).view(np.float64) - _TWO52) * 2.0 + 1.0


@fused
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


@fused
def _exponent(bits: np.uint64) -> float:
    """2⁵² plus the biased exponent: the common term leaves with the first difference."""
    return np.uint64((bits >> _EXPONENT_AT) | _BITS_OF_TWO52).view(np.float64)


@fused
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


@fused
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


Words = NDArray[np.uint64]

SLACK: Final = 32.0 * UNIT
_SIGN_AT: Final = np.uint64(63)
_NEXT_SIGN_AT: Final = np.uint64(62)
_SIGN: Final = np.uint64(1 << 63)
NARROW: Final = 1.0 + 2.0**-20  # more than the rounding of any product below


@fused
def logistic_noise(words: Words, noise: Floats, error: Floats) -> None:
    """ln(u/(1 − u)), u the uniform that begins with the word.

    On [m − 1, m + 1] the slope of ln(m/n), n = 2⁵³ − m, is at most 1/(m − 1) + 1/(n − 1), which
    is infinite where the interval touches 0 or 1.
    """
    for i in range(words.size):
        m = midpoint(words[i])
        n = TOP - m
        logit = log_ratio(m, n)
        noise[i] = logit
        error[i] = SLACK * abs(logit) + NARROW * (1.0 / (m - 1.0) + 1.0 / (n - 1.0))


@fused
def exponential_noise(words: Words, noise: Floats, error: Floats) -> None:
    """−ln u; the slope is at most 1/(m − 1)."""
    for i in range(words.size):
        m = midpoint(words[i])
        magnitude = -log_ratio(m, TOP)
        noise[i] = magnitude
        error[i] = SLACK * magnitude + NARROW / (m - 1.0)


@fused
def laplace_noise(words: Words, noise: Floats, error: Floats) -> None:
    """±(−ln u): the word's last bit is the sign, its first 63 bits begin u."""
    for i in range(words.size):
        m = midpoint(words[i])
        magnitude = -log_ratio(m, TOP)
        noise[i] = _signed(magnitude, words[i] << _SIGN_AT)
        error[i] = SLACK * magnitude + NARROW / (m - 1.0)


@fused
def gumbel_noise(words: Words, noise: Floats, error: Floats) -> None:
    """−ln(−ln u). With E = −ln u known up to a relative ρ ≤ ½, −ln E is known up to 2ρ."""
    for i in range(words.size):
        m = midpoint(words[i])
        magnitude = -log_ratio(m, TOP)
        gumbel = -log_ratio(magnitude, 1.0)
        spread = NARROW / ((m - 1.0) * magnitude)
        spread = spread if spread < 0.49 else np.inf
        noise[i] = gumbel
        error[i] = SLACK * (2.0 + abs(gumbel)) + 2.0 * spread


@fused
def gaussian_noise(words: Words, noise: Floats, error: Floats) -> None:
    """Box and Muller on word pairs (i, h + i), h = words.size/2; pair i gives noise i and h + i.

    With r = √(−ln u) and φ uniform in (−π/4, π/4), r·(cos φ − sin φ) and r·(cos φ + sin φ) are
    √2·r times cosine and sine of an angle in the first quadrant; the last two bits of the second
    word are the signs, its first 62 bits begin the uniform of the angle.

    |√L̂ − √L| ≤ |L̂ − L|/√L̂, and φ adds (π/2)υ; both factors of r are at most √2.
    """
    half = words.size // 2
    for i in range(half):
        m = midpoint(words[i])
        turn = words[half + i]
        magnitude = -log_ratio(m, TOP)
        radius = np.sqrt(magnitude)
        cosine, sine = quarter_turn(midpoint(turn))
        bound = 2.0 * SLACK * radius + 1.5 / ((m - 1.0) * radius)
        noise[i] = _signed(radius * (cosine - sine), turn << _SIGN_AT)
        noise[half + i] = _signed(radius * (cosine + sine), (turn << _NEXT_SIGN_AT) & _SIGN)
        error[i] = bound
        error[half + i] = bound


@compiled
def settle(values: Floats, noise: Floats, error: Floats, frame: Frame, out: Floats) -> int:
    """The grid point nearest to value + scale·noise where it is certain, else NaN; counts NaNs.

    value/g = cell + fraction exactly, so the error does not grow with the value:
    |computed − exact offset| ≤ υ + ratio·error. Adding 0.0 turns −0 into 0, whose sign would
    tell on which side of the point the value lay.
    """
    undecided = 0
    for i in range(out.size):
        position = min(max(values[i] * frame.inverse, -VALUE_CELLS), VALUE_CELLS)
        cell = np.rint(position)
        offset = (position - cell) + frame.ratio * noise[i]
        steps = np.rint(offset)
        bound = frame.caution * (UNIT + frame.ratio * error[i])
        certain = 0.5 - abs(offset - steps) > bound
        out[i] = ((cell + steps) + 0.0) * frame.step if certain else np.nan
        undecided += 0 if certain else 1
    return undecided


@compiled
def _signed(magnitude: float, sign: np.uint64) -> float:
    """The magnitude with its sign bit flipped where bit 63 of ``sign`` is set (others are 0)."""
    return np.uint64(np.float64(magnitude).view(np.uint64) ^ sign).view(np.float64)
