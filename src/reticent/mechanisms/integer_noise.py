"""Exact integer noise by rejection, with whole-number arithmetic and coin flips alone.

The samplers of Canonne, Kamath and Steinke (2020), and the discrete logistic built on them. Each
draw is a function of an endless tape of random words. Where the tape at hand ends inside a draw,
that draw is replayed from its first word on a longer tape: no draw is dropped for being long,
which would favour short ones.

Parameters are rational and 64-bit integers hold every intermediate result; those that could
overflow are refused. One count has no natural end, the whole multiples of the scale in a draw: it
stops at 255, which moves the distribution by less than e⁻²⁵⁵ in total variation, far less than
the cipher behind the tape can promise.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from reticent.arrays import Integers
from reticent.mechanisms.rounded.kernels import compiled
from reticent.randomness import SecureBits
from reticent.validation import InputError, positive

Words = NDArray[np.uint64]
Tape = tuple[Words, Integers]
"""Random words, and the place of the next unread one (an array of one entry)."""

Size = int | tuple[int, ...]
Parameters = TypeVar("Parameters")

_MOST_MULTIPLES: Final = 255
_LARGEST_NUMERATOR: Final = 2**54  # times 256 it stays below 2⁶²: room to add a value
_LARGEST: Final = 2**62
_WORDS_PER_DRAW: Final = 16
_LARGEST_TAPE: Final = 1 << 20


def discrete_laplace(size: Size, *, scale: Fraction) -> Integers:
    """P(k) ∝ exp(−|k|/scale) on the integers."""
    return _sample(size, _fill_laplace, _checked_scale(scale))


def discrete_logistic(size: Size, *, scale: Fraction) -> Integers:
    """P(k) ∝ 1/cosh²(k/(2·scale)) on the integers.

    A discrete Laplace draw is kept iff two coins of probability 1/(1 + exp(−|k|/scale)) succeed.
    """
    return _sample(size, _fill_logistic, _checked_scale(scale))


def discrete_gaussian(size: Size, *, variance: Fraction) -> Integers:
    """P(k) ∝ exp(−k²/(2·variance)) on the integers.

    A discrete Laplace draw of scale t = ⌊σ⌋ + 1 is kept with probability
    exp(−(|k| − σ²/t)²/(2σ²)).
    """
    above, below = _fraction("variance", variance)
    t = math.isqrt(above // below) + 1
    if (_MOST_MULTIPLES + 1) * t * t * below + above >= _LARGEST:
        raise InputError(
            f"variance must be a fraction of smaller whole numbers, got {variance}: "
            "round it, for example to a multiple of a power of two"
        )
    return _sample(size, _fill_gaussian, (t, above, below))


def _checked_scale(scale: Fraction) -> tuple[int, int]:
    above, below = _fraction("scale", scale)
    if above > _LARGEST_NUMERATOR or below > _LARGEST:
        raise InputError(
            f"scale must be a fraction with numerator <= 2**54 and denominator <= 2**62, "
            f"got {scale}: round it, for example to a multiple of a power of two"
        )
    return above, below


def _fraction(name: str, value: Fraction) -> tuple[int, int]:
    positive(name, value)
    return Fraction(value).as_integer_ratio()


def _sample(
    size: Size,
    fill: Callable[[Integers, Integers, Words, Parameters], None],
    parameters: Parameters,
) -> Integers:
    out = np.empty(size, dtype=np.int64)
    fill_from(SecureBits().words, out.reshape(-1), fill, parameters)
    return out


def fill_from(
    words: Callable[[int], Words],
    out: Integers,
    fill: Callable[[Integers, Integers, Words, Parameters], None],
    parameters: Parameters,
) -> None:
    """Fill ``out`` from a source of words, a tape at a time.

    ``progress`` holds the draws that are done and the first word of the draw under way; a draw
    that meets the end of the tape finds its words again at the beginning of the next one.
    """
    progress = np.zeros(2, dtype=np.int64)
    tape = words(0)
    while progress[0] < out.size:
        missing = int(out.size - progress[0])
        fresh = words(min(_WORDS_PER_DRAW * (missing + 16), _LARGEST_TAPE))
        tape = np.concatenate([tape[progress[1] :], fresh])
        progress[1] = 0
        with suppress(EOFError):
            fill(out, progress, tape, parameters)


@compiled
def _fill_laplace(out: Integers, progress: Integers, words: Words, scale: tuple[int, int]) -> None:
    tape = (words, progress[1:].copy())
    while progress[0] < out.size:
        out[progress[0]] = _laplace(tape, scale[0], scale[1])
        progress[0] += 1
        progress[1] = tape[1][0]


@compiled
def _fill_logistic(out: Integers, progress: Integers, words: Words, scale: tuple[int, int]) -> None:
    tape = (words, progress[1:].copy())
    while progress[0] < out.size:
        out[progress[0]] = _logistic(tape, scale[0], scale[1])
        progress[0] += 1
        progress[1] = tape[1][0]


@compiled
def _fill_gaussian(
    out: Integers, progress: Integers, words: Words, parameters: tuple[int, int, int]
) -> None:
    tape = (words, progress[1:].copy())
    while progress[0] < out.size:
        out[progress[0]] = _gaussian(tape, parameters[0], parameters[1], parameters[2])
        progress[0] += 1
        progress[1] = tape[1][0]


@compiled
def _laplace(tape: Tape, above: int, below: int) -> int:
    """exp(−|k|·below/above): X with P ∝ exp(−X/above) is cut to k = ⌊X/below⌋ and signed."""
    while True:
        rest = _uniform(tape, above)
        if not _coin_exp(tape, rest, above):
            continue
        multiples = 0
        while multiples < _MOST_MULTIPLES and _coin_exp(tape, 1, 1):
            multiples += 1
        size = (rest + above * multiples) // below
        negative = _uniform(tape, 2) == 1
        if not (negative and size == 0):  # 0 has one sign
            return -size if negative else size


@compiled
def _logistic(tape: Tape, above: int, below: int) -> int:
    while True:
        draw = _laplace(tape, above, below)
        # |k|·below ≤ X of the draw, which fits.
        place = abs(draw) * below
        if _coin_sigmoid(tape, place, above) and _coin_sigmoid(tape, place, above):
            return draw


@compiled
def _gaussian(tape: Tape, t: int, above: int, below: int) -> int:
    """Accept with exp(−x·y), x = A/above, y = A/(2·below·t²), A = ||k|·t·below − above|.

    With whole parts and fractions x·y = ⌊x⌋·y + {x}·⌊y⌋ + {x}·{y}: each term is a coin of its
    own, so the square A², which would not fit, is never formed.
    """
    under = 2 * below * t * t
    while True:
        draw = _laplace(tape, t, 1)
        place = abs(abs(draw) * t * below - above)
        x, x_rest = place // above, place % above
        y, y_rest = place // under, place % under
        if (
            _coins_exp(tape, x * y, 1, 1)
            and _coins_exp(tape, x, y_rest, under)
            and _coins_exp(tape, y, x_rest, above)
            and _coin_exp_product(tape, x_rest, above, y_rest, under)
        ):
            return draw


@compiled
def _coin_sigmoid(tape: Tape, above: int, below: int) -> bool:
    """True with probability 1/(1 + exp(−above/below))."""
    while True:
        if _uniform(tape, 2) == 1:
            return True
        if _coins_exp(tape, above // below, 1, 1) and _coin_exp(tape, above % below, below):
            return False


@compiled
def _coins_exp(tape: Tape, times: int, above: int, below: int) -> bool:
    """True with probability exp(−times·above/below), above ≤ below."""
    left = times
    while left > 0 and _coin_exp(tape, above, below):
        left -= 1
    return left == 0


@compiled
def _coin_exp(tape: Tape, above: int, below: int) -> bool:
    """True with probability exp(−γ), γ = above/below ≤ 1 (von Neumann's alternating series)."""
    return _coin_exp_product(tape, above, below, 1, 1)


@compiled
def _coin_exp_product(tape: Tape, a: int, b: int, c: int, d: int) -> bool:
    """True with probability exp(−(a/b)·(c/d)), a ≤ b and c ≤ d.

    The first K at which a coin of probability γ/K fails is odd with probability exp(−γ); that
    coin is three independent ones, 1/K, a/b and c/d.
    """
    odd = True
    K = 1
    while _uniform(tape, K) == 0 and _uniform(tape, b) < a and _uniform(tape, d) < c:
        odd = not odd
        K += 1
    return odd


@compiled
def _uniform(tape: Tape, n: int) -> int:
    """A uniform whole number below n, from the fewest low bits that hold it."""
    if n == 1:
        return 0
    mask = np.uint64(n - 1)
    mask |= mask >> np.uint64(1)
    mask |= mask >> np.uint64(2)
    mask |= mask >> np.uint64(4)
    mask |= mask >> np.uint64(8)
    mask |= mask >> np.uint64(16)
    mask |= mask >> np.uint64(32)
    while True:
        number = int(np.int64(_word(tape) & mask))  # signed: mixed signs would become floats
        if number < n:
            return number


@compiled
def _word(tape: Tape) -> np.uint64:
    """The next word; EOFError where the tape ends."""
    words, place = tape
    if place[0] >= words.size:
        raise EOFError("the tape of random words has ended")
    place[0] += 1
    return np.uint64(words[place[0] - 1])
