"""Correctly rounded releases: the grid point nearest to value + noise in exact real arithmetic.

Formal guarantee. The output is a function (rounding to the nearest grid point, saturation) of
value + noise, where value is the float taken as the real number it is and noise has the exact
continuous distribution. That is post-processing of the ideal mechanism: every ε, δ, ρ and μ of
the ideal one holds unchanged, in any dimension. Grid and saturation are functions of public
numbers. The random bits are those of ``SecureBits``: the guarantee is computational.
How long a release takes depends on the data, very slightly: few draws need the slow path.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from reticent.arrays import Floats
from reticent.mechanisms.rounded import balls, kernels
from reticent.mechanisms.rounded.balls import ExtraBits, NoiseBall, Pool
from reticent.mechanisms.rounded.grid import Frame, frame
from reticent.mechanisms.rounded.kernels import Words
from reticent.randomness import SecureBits

BLOCK: Final = 1 << 13
"""Draws per block: words, noise and bounds of a block stay in the second-level cache."""


class Noise(NamedTuple):
    """One distribution, twice: in floats with a bound, and in balls."""

    fill: Callable[[Words, Floats, Floats], None]
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
    values: Floats, words: Words, extra_bits: ExtraBits, noise: Noise, grid: Frame
) -> Floats:
    """The release as a function of its random words and of the bits that may have to follow.

    ``words`` are as many as the values, made even: Gaussian noise comes in pairs.
    """
    draws, errors = np.empty(words.size), np.empty(words.size)
    noise.fill(words, draws, errors)
    out = np.empty(values.size)
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
        out[start : start + BLOCK] = release_block(part, words, bits.extra_bits, noise, grid)
    return out.reshape(np.shape(value))
