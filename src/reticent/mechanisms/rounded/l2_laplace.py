"""L2-Laplace noise, density ∝ exp(−‖b‖₂/scale) over a whole vector, correctly rounded.

b = scale·R·G/‖G‖ with R = −Σ_{i≤p} ln U_i ~ Gamma(p) and G standard Gaussian in R^p. All
coordinates share R and ‖G‖, so they are enclosed jointly: an undecided coordinate extends every
uniform that it depends on, and no coordinate that was already certain can change by it.
"""

import math
from collections.abc import Callable

import numpy as np
from flint import arb

from reticent.arrays import Floats
from reticent.mechanisms.rounded import balls, kernels
from reticent.mechanisms.rounded.grid import Frame, default_grid, frame
from reticent.randomness import SecureBits
from reticent.validation import positive

Enclosure = tuple[Floats, Floats]
"""Noise in floats, and bounds on its distance from the exact noise."""


def l2_laplace_grid(scale: float, size: int) -> float:
    """The default grid of ``size`` coordinates, whose noise has about √size·scale each."""
    return default_grid(positive("scale", scale) * math.sqrt(max(size, 1)))


def rounded_l2_laplace(value: Floats, *, scale: float, grid: float | None = None) -> Floats:
    """value + b, density of b ∝ exp(−‖b‖₂/scale), each coordinate to the nearest grid point.

    The formal guarantee of ``reticent.mechanisms.rounded.release`` holds for the joint release.
    """
    values = np.ascontiguousarray(value, dtype=np.float64).reshape(-1)
    size = values.size
    checked = frame(scale, l2_laplace_grid(scale, size) if grid is None else grid)
    bits = SecureBits()
    radial, directional = bits.words(size), bits.words(size + size % 2)
    out = release_vector(values, (radial, directional), bits.extra_bits, checked)
    return out.reshape(np.shape(value))


def release_vector(
    values: Floats,
    words: tuple[kernels.Words, kernels.Words],
    extra_bits: balls.ExtraBits,
    grid: Frame,
) -> Floats:
    """The release as a function of the words of radius and direction and of bits to follow."""
    radial, directional = words
    noise, error = _enclosed(kernels.gaussian_noise, directional)
    noise, error = noise[: values.size], error[: values.size]
    radii = _enclosed(kernels.exponential_noise, radial)
    pairs = _enclosed(kernels.exponential_noise, directional[: values.size // 2])
    _to_l2_laplace(radii, pairs, noise, error)
    out = np.empty(values.size)
    if kernels.settle(values, noise, error, grid, out):
        open_places = [int(index) for index in np.flatnonzero(np.isnan(out))]
        pools = balls.Pool(radial, extra_bits), balls.Pool(directional, extra_bits)
        out[open_places] = _resolve(values, open_places, pools, grid)
    return out


def _enclosed(
    fill: Callable[[kernels.Words, Floats, Floats], None], words: kernels.Words
) -> Enclosure:
    noise, error = np.empty(words.size), np.empty(words.size)
    fill(words, noise, error)
    return noise, error


@kernels.compiled
def _to_l2_laplace(radii: Enclosure, pairs: Enclosure, noise: Floats, error: Floats) -> None:
    """From G with its bounds to R·G/‖G‖ with its bounds, in place.

    ``pairs`` are the −ln u of the whole Gaussian pairs, each half the squared norm of its pair.
    With relative errors ρ_R and ρ_G of R and ‖G‖ below 2⁻²⁰, the factor R/‖G‖ is known up to
    1.001·(ρ_R + ρ_G), relatively.
    """
    square = 2.0 * _total(pairs[0])
    square_error = 2.0 * np.sum(pairs[1])
    if noise.size % 2 == 1:  # the last pair gives its first Gaussian only
        last, last_error = abs(noise[pairs[0].size]), error[pairs[0].size]
        square += last * last
        square_error += (2.0 * last + last_error) * last_error
    radius = _total(radii[0])
    summing = 8.0 * kernels.UNIT + (2.0 * noise.size * kernels.UNIT) ** 2
    radius_spread = summing + kernels.NARROW * np.sum(radii[1]) / radius
    norm_spread = summing + 0.51 * square_error / square
    spread = float(radius_spread + norm_spread)
    spread = spread if spread < 2.0**-20 else np.inf
    factor = radius / np.sqrt(square)
    for j in range(noise.size):
        noise[j] = factor * noise[j]
        error[j] = kernels.SLACK * abs(noise[j]) + 1.01 * (
            factor * error[j] + abs(noise[j]) * spread
        )


@kernels.compiled
def _total(terms: Floats) -> float:
    """The sum, compensated: off by at most υ·|sum| + (n·υ)²·Σ|terms| (Ogita, Rump, Oishi 2005)."""
    total = 0.0
    lost = 0.0
    for term in terms:
        rounded = total + term
        part = rounded - total
        lost += (total - (rounded - part)) + (term - part)
        total = rounded
    return total + lost


def _resolve(
    values: Floats, places: list[int], pools: tuple[balls.Pool, balls.Pool], grid: Frame
) -> list[float]:
    """The grid points of the open places, with bits appended to all uniforms until certain."""

    def attempt() -> list[float] | None:
        factor = _radius(pools[0]) / _norm(pools[1], values.size)
        points = []
        for place in places:
            noise = factor * balls.gaussian_ball(pools[1], place)
            cell = balls.nearest_cell(float(values[place]), noise, grid)
            if cell is None:
                return None
            points.append(cell * grid.step)
        return points

    return balls.certain(attempt, *pools)


def _radius(pool: balls.Pool) -> arb:
    """R = −ln Π U_i: one logarithm for all."""
    return -_product(pool, pool.words.size).log()


def _norm(pool: balls.Pool, size: int) -> arb:
    """‖G‖. A pair of Gaussians has squared norm −2·ln u, so whole pairs need one logarithm."""
    pairs = size // 2
    square = -2 * _product(pool, pairs).log() if pairs else arb(0)
    if size % 2:  # the last pair gives its first Gaussian only
        square += balls.gaussian_ball(pool, pairs) ** 2
    return square.sqrt()


def _product(pool: balls.Pool, count: int) -> arb:
    """The product of the first ``count`` uniforms."""
    product = arb(1)
    for index in range(count):
        product *= pool.uniform(index).ball()
    return product
