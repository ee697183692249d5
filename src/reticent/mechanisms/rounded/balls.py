"""The slow path: uniforms that grow bit by bit, enclosed by ball arithmetic until all is certain.

An undecided draw is never redrawn (that would favour the cells where decisions are easy and so
change the distribution): its uniform keeps the bits it has and gets more, without a cap. Ball
arithmetic encloses at every precision, so precision affects the time and never the answer.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from flint import arb, ctx, fmpq

from reticent.mechanisms.rounded.grid import LARGEST_CELL, VALUE_CELLS, Frame
from reticent.mechanisms.rounded.kernels import Words

ExtraBits = Callable[[int], int]
"""Gives that many further random bits as a whole number."""

T = TypeVar("T")

_STEP: Final = 64
_FIRST_PRECISION: Final = 192
_HALF: Final = fmpq(1, 2)
_VALUE_CELLS: Final = fmpq(int(VALUE_CELLS))
_PRECISION_LOCK: Final = threading.Lock()  # the precision of flint belongs to the process


class Uniform:
    """A uniform number of [0, 1] of which only a prefix is known: [number, number + 1]/2^length."""

    __slots__ = ("length", "number")

    def __init__(self, number: int, length: int) -> None:
        self.number = number
        self.length = length

    def extend(self, extra_bits: ExtraBits) -> None:
        """Append bits; the known ones stay."""
        self.number = (self.number << _STEP) | extra_bits(_STEP)
        self.length += _STEP

    def ball(self) -> arb:
        """All numbers that begin with the prefix."""
        return arb((2 * self.number + 1, -self.length - 1), (1, -self.length - 1))


class Pool:
    """The uniforms of one block of words, made when first needed and shared from then on.

    Two outputs of one word pair must see the same continuation of its bits: hence the pool.
    """

    def __init__(self, words: Words, extra_bits: ExtraBits) -> None:
        self.words = words
        self._extra_bits = extra_bits
        self._uniforms: dict[int, Uniform] = {}
        self.in_use: set[int] = set()

    def uniform(self, index: int, spent: int = 0) -> Uniform:
        """The uniform that begins with the word but for its last ``spent`` bits."""
        self.in_use.add(index)
        if index not in self._uniforms:
            self._uniforms[index] = Uniform(int(self.words[index]) >> spent, 64 - spent)
        return self._uniforms[index]

    def sign(self, index: int, bit: int) -> int:
        """−1 where that bit of the word (counted from the last) is set, else 1."""
        return -1 if (int(self.words[index]) >> bit) & 1 else 1

    def extend(self) -> None:
        """Append bits to the uniforms in use: those asked for since the set was cleared."""
        for index in sorted(self.in_use):
            self._uniforms[index].extend(self._extra_bits)


NoiseBall = Callable[[Pool, int], arb]
"""Encloses the noise at an index of a block, for all continuations of its uniforms."""


def logistic_ball(pool: Pool, index: int) -> arb:
    """ln(u/(1 − u)) of a ball u: the logistic quantile, enclosed."""
    u = pool.uniform(index).ball()
    return u.log() - (1 - u).log()


def exponential_ball(pool: Pool, index: int) -> arb:
    """−ln u of a ball u: the exponential quantile, enclosed."""
    return -pool.uniform(index).ball().log()


def gumbel_ball(pool: Pool, index: int) -> arb:
    """−ln(−ln u) of a ball u: the Gumbel quantile, enclosed."""
    return -exponential_ball(pool, index).log()


def laplace_ball(pool: Pool, index: int) -> arb:
    """±(−ln u), signed by the word's last bit."""
    return -pool.sign(index, 0) * pool.uniform(index, spent=1).ball().log()


def gaussian_ball(pool: Pool, index: int) -> arb:
    """r·(cos φ ∓ sin φ), signed: the two noises of the pair (i, half + i)."""
    half = pool.words.size // 2
    pair = index % half
    radius = exponential_ball(pool, pair).sqrt()
    angle = pool.uniform(half + pair, spent=2).ball() - arb(_HALF)
    sine, cosine = (angle / 2).sin_cos_pi()
    if index < half:
        return pool.sign(half + pair, 0) * radius * (cosine - sine)
    return pool.sign(half + pair, 1) * radius * (cosine + sine)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Ball arithmetic with that many bits; waits where another thread is inside."""
    with _PRECISION_LOCK, ctx.workprec(bits):
        yield


def certain(attempt: Callable[[], T | None], *pools: Pool) -> T:
    """The answer of an attempt, repeated with more bits and precision until it has one."""
    bits = _FIRST_PRECISION
    while True:
        with precision(bits):
            answer = attempt()
        if answer is not None:
            return answer
        for pool in pools:
            pool.extend()
        bits += 2 * _STEP


def resolve(value: float, index: int, pool: Pool, ball: NoiseBall, frame: Frame) -> float:
    """The grid point nearest to value + scale·noise in exact real arithmetic."""
    pool.in_use.clear()
    cell = certain(lambda: nearest_cell(value, ball(pool, index), frame), pool)
    return cell * frame.step


def nearest_cell(value: float, noise: arb, frame: Frame) -> int | None:
    """The k of the nearest grid point, saturated at ±2⁵²; None where the ball leaves it open."""
    position = min(max(exact(value) * exact(frame.inverse), -_VALUE_CELLS), _VALUE_CELLS)
    place = arb(position) + arb(frame.ratio) * noise
    cell = (place + arb(_HALF)).floor().unique_fmpz()
    return None if cell is None else min(max(int(cell), -LARGEST_CELL), LARGEST_CELL)


def exact(value: float) -> fmpq:
    """A float as the rational number it is."""
    return fmpq(*value.as_integer_ratio())
