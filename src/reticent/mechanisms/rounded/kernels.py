"""The fast path: noise in floats with a bound on its distance from the exact noise.

Each kernel turns words into ``noise`` and ``error`` such that, for EVERY uniform that begins with
the word, |exact noise − noise| ≤ error; ``settle`` rounds value + scale·noise to the grid where
the bound leaves no doubt. Bodies have no branches, so that the compiler makes vector code of them.

``SLACK`` = 32υ is what the bounds charge, relatively, for the logarithm (10υ) and the arithmetic
after it, that of ``settle`` and of the bounds themselves included.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.arrays import Floats
from reticent.mechanisms.rounded.compiled import compiled
from reticent.mechanisms.rounded.grid import VALUE_CELLS, Frame
from reticent.mechanisms.rounded.logarithm import TOP, UNIT, log_ratio, midpoint, quarter_turn

Words = NDArray[np.uint64]

SLACK: Final = 32.0 * UNIT
_SIGN_AT: Final = np.uint64(63)
_NEXT_SIGN_AT: Final = np.uint64(62)
_SIGN: Final = np.uint64(1 << 63)
NARROW: Final = 1.0 + 2.0**-20  # more than the rounding of any product below


@compiled
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


@compiled
def exponential_noise(words: Words, noise: Floats, error: Floats) -> None:
    """−ln u; the slope is at most 1/(m − 1)."""
    for i in range(words.size):
        m = midpoint(words[i])
        magnitude = -log_ratio(m, TOP)
        noise[i] = magnitude
        error[i] = SLACK * magnitude + NARROW / (m - 1.0)


@compiled
def laplace_noise(words: Words, noise: Floats, error: Floats) -> None:
    """±(−ln u): the word's last bit is the sign, its first 63 bits begin u."""
    for i in range(words.size):
        m = midpoint(words[i])
        magnitude = -log_ratio(m, TOP)
        noise[i] = _signed(magnitude, words[i] << _SIGN_AT)
        error[i] = SLACK * magnitude + NARROW / (m - 1.0)


@compiled
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


@compiled
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
