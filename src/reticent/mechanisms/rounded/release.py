"""Correctly rounded releases: the grid point nearest to value + noise in exact real arithmetic.

Formal guarantee. The output is a function (rounding to the nearest grid point, saturation) of
value + noise, where value is the float taken as the real number it is and noise has the exact
continuous distribution. That is post-processing of the ideal mechanism: every ε, δ, ρ and μ of
the ideal one holds unchanged, in any dimension. Grid and saturation are functions of public
numbers. The random bits are those of ``SecureBits``: the guarantee is computational.
How long a release takes depends on the data, very slightly: few draws need the slow path.

Private selection: the certified argmax of scores plus noise, one winner per row.

The winner is that of the exact scores plus exact continuous noise: a row is decided in floats
only where the runner-up's upper bound is below the winner's lower bound, else in ball arithmetic
with bits appended to the same uniforms. Exact ties have probability zero.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from flint import arb

from reticent.arrays import Floats, Integers
from reticent.mechanisms.rounded import balls, kernels
from reticent.mechanisms.rounded.balls import ExtraBits, NoiseBall, Pool, certain, exact
from reticent.mechanisms.rounded.grid import Frame, frame
from reticent.randomness import SecureBits
from reticent.validation import InputError, positive

BLOCK: Final = 1 << 13
"""Draws per block: words, noise and bounds of a block stay in the second-level cache."""


class Noise(NamedTuple):
    """One distribution, twice: in floats with a bound, and in balls."""

    fill: Callable[[kernels.Words, Floats, Floats], None]
    ball: NoiseBall


LOGISTIC: Final = Noise(kernels.logistic_noise, balls.logistic_ball)
LAPLACE: Final = Noise(kernels.laplace_noise, balls.laplace_ball)
GAUSSIAN: Final = Noise(kernels.gaussian_noise, balls.gaussian_ball)


def rounded_logistic(value: Floats, *, scale: float, grid: float | None = None) -> Floats:
    """value + Logistic(scale), density ∝ sech²(z/2scale), to the nearest grid point."""
    return _release(value, LOGISTIC, frame(scale, grid))


def rounded_laplace(value: Floats, *, scale: float, grid: float | None = None) -> Floats:
    """value + Laplace(scale), density ∝ exp(−|z|/scale), to the nearest grid point."""
    return _release(value, LAPLACE, frame(scale, grid))


def rounded_gaussian(value: Floats, *, scale: float, grid: float | None = None) -> Floats:
    """value + N(0, scale²) to the nearest grid point."""
    return _release(value, GAUSSIAN, frame(scale, grid))


def release_block(
    values: Floats,
    words: kernels.Words,
    extra_bits: ExtraBits,
    noise: Noise,
    grid: Frame,
    out: Floats | None = None,
) -> Floats:
    """The release as a function of its random words and of the bits that may have to follow.

    ``words`` are as many as the values, made even: Gaussian noise comes in pairs. The release is
    written to ``out`` where that is given.
    """
    draws, errors = np.empty(words.size), np.empty(words.size)
    noise.fill(words, draws, errors)
    out = np.empty(values.size) if out is None else out
    if kernels.settle(values, draws, errors, grid, out):
        pool = Pool(words, extra_bits)
        for index in np.flatnonzero(np.isnan(out)):
            out[index] = balls.resolve(float(values[index]), int(index), pool, noise.ball, grid)
    return out


def _release(value: Floats, noise: Noise, grid: Frame) -> Floats:
    values = np.ascontiguousarray(value, dtype=np.float64)
    flat = values.reshape(-1)
    out = np.empty(flat.size)
    bits = SecureBits()
    for start in range(0, flat.size, BLOCK):
        part = flat[start : start + BLOCK]
        words = bits.words(part.size + part.size % 2)
        release_block(part, words, bits.extra_bits, noise, grid, out[start : start + BLOCK])
    return out.reshape(np.shape(value))


GUMBEL: Final = Noise(kernels.gumbel_noise, balls.gumbel_ball)
EXPONENTIAL: Final = Noise(kernels.exponential_noise, balls.exponential_ball)


def noisy_argmax_gumbel(scores: Floats, *, scale: float) -> Integers:
    """The exponential mechanism: c with probability ∝ exp(score_c/scale), for each row.

    ``scores`` has the candidates along its last axis; the result has the shape of the others.
    """
    return _select(scores, scale, GUMBEL)


def noisy_argmax_exponential(scores: Floats, *, scale: float) -> Integers:
    """Permute-and-flip, as the argmax of score_c + scale·Exponential_c (Ding et al. 2021).

    Its acceptance probabilities are exp((score_c − max)/scale).
    """
    return _select(scores, scale, EXPONENTIAL)


def select_rows(
    scores: Floats, words: kernels.Words, extra_bits: ExtraBits, noise: Noise, scale: float
) -> Integers:
    """The winners as a function of one word for each score and of bits that may have to follow."""
    draws, errors = np.empty(words.size), np.empty(words.size)
    noise.fill(words, draws, errors)
    winners = np.empty(len(scores), dtype=np.int64)
    shape = scores.shape
    if _settle_rows(scores, scale, draws.reshape(shape), errors.reshape(shape), winners):
        parts = words.reshape(shape)
        for row in np.flatnonzero(winners < 0):
            pool = Pool(parts[row], extra_bits)
            winners[row] = _resolve(scores[row], scale, pool, noise.ball)
    return winners


def _select(scores: Floats, scale: float, noise: Noise) -> Integers:
    scale = positive("scale", scale)
    shape = np.shape(scores)
    if not shape or not shape[-1]:
        raise InputError(f"scores must hold at least one candidate per row, got shape {shape}")
    rows = np.ascontiguousarray(scores, dtype=np.float64).reshape(-1, shape[-1])
    winners = np.empty(len(rows), dtype=np.int64)
    bits = SecureBits()
    many = max(1, BLOCK // shape[-1])
    for start in range(0, len(rows), many):
        part = rows[start : start + many]
        words = bits.words(part.size)
        winners[start : start + many] = select_rows(part, words, bits.extra_bits, noise, scale)
    return winners.reshape(shape[:-1])


@kernels.compiled
def _settle_rows(
    scores: Floats, scale: float, noise: Floats, error: Floats, winners: Integers
) -> int:
    """Write each row's winner, or −1 where the bounds leave it open; counts the open rows.

    The place of a score is (score − peak)/scale + noise: three roundings, charged by SLACK. Where
    the quotient overflows nothing is certain, and NaN fails the comparison.
    """
    undecided = 0
    for row in range(scores.shape[0]):
        peak = np.max(scores[row])
        best = 0
        floor = -np.inf
        for c in range(scores.shape[1]):
            gap = (scores[row, c] - peak) / scale
            noise[row, c] += gap
            error[row, c] += kernels.SLACK * (abs(gap) + abs(noise[row, c]))
            if noise[row, c] - error[row, c] > floor:
                best = c
                floor = noise[row, c] - error[row, c]
        certainly = floor > -np.inf
        for c in range(scores.shape[1]):
            certainly &= c == best or noise[row, c] + error[row, c] < floor
        winners[row] = best if certainly else -1
        undecided += 0 if certainly else 1
    return undecided


def _resolve(scores: Floats, scale: float, pool: Pool, ball: NoiseBall) -> int:
    peak, unit = exact(float(scores.max())), exact(scale)
    gaps = [(exact(float(score)) - peak) / unit for score in scores]

    def attempt() -> int | None:
        places = [arb(gap) + ball(pool, index) for index, gap in enumerate(gaps)]
        best = _highest_middle(places)
        others = (place for index, place in enumerate(places) if index != best)
        return best if all(places[best] > place for place in others) else None

    return certain(attempt, pool)


def _highest_middle(places: list[arb]) -> int:
    """The candidate to prove; middles are exact, so their comparison is too."""
    best = 0
    for index, place in enumerate(places):
        if place.mid() > places[best].mid():
            best = index
    return best
