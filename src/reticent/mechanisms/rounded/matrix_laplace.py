"""Matrix Laplace noise, scale·(G Gᵀ − H Hᵀ)/2, correctly rounded (docs/theory.md H.2).

G and H hold p × (p + 1) standard Gaussians each, enclosed as for every other release. An entry is a
sum of 2(p + 1) products of them, computed in one fixed order with a bound on its error. Entries
that the bound leaves open extend the bits of all Gaussians of their two rows: no entry that was
certain can change by that, since its bound held for every continuation of the bits.
"""

import math
from typing import Final

import numpy as np
from flint import arb

from reticent.arrays import Floats
from reticent.mechanisms.rounded import balls, kernels
from reticent.mechanisms.rounded.grid import LARGEST_CELL, Frame, default_grid, frame
from reticent.randomness import SecureBits
from reticent.validation import InputError, positive

_BEYOND: Final = 2.0**60
"""So many cells are far outside of what is released, whatever the noise."""
_FARTHEST: Final = 2.0**45
"""Noise of more cells than this is left to ball arithmetic."""
_OUTERMOST: Final = float(LARGEST_CELL)


def matrix_laplace_grid(scale: float, order: int) -> float:
    """The default grid of a p × p matrix, whose entries have noise of scale·√((p + 1)/2)."""
    return default_grid(positive("scale", scale) * math.sqrt((order + 1) / 2))


def rounded_matrix_laplace(value: Floats, *, scale: float, grid: float | None = None) -> Floats:
    """T + scale·(G Gᵀ − H Hᵀ)/2, each entry of the upper triangle to the nearest grid point.

    The formal guarantee of ``reticent.mechanisms.rounded.release`` holds for the joint release.
    Values are not clamped: entry by entry that could lengthen a change in nuclear norm. Outputs are
    cut to ±2⁵² cells, which is post-processing.
    """
    values = np.ascontiguousarray(value, dtype=np.float64).reshape(-1)
    order = _order(values.size)
    checked = frame(scale, matrix_laplace_grid(scale, order) if grid is None else grid)
    bits = SecureBits()
    out = release_matrix(values, bits.words(2 * order * (order + 1)), bits.extra_bits, checked)
    return out.reshape(np.shape(value))


def release_matrix(
    values: Floats, words: kernels.Words, extra_bits: balls.ExtraBits, grid: Frame
) -> Floats:
    """The release as a function of its 2p(p + 1) words and of the bits that may have to follow.

    Gaussian i·2(p + 1) + k is entry k of row i of (G, H).
    """
    order = _order(values.size)
    noise, error = np.empty(words.size), np.empty(words.size)
    kernels.gaussian_noise(words, noise, error)
    shape = (order, 2 * (order + 1))
    differences, bounds = np.empty(values.size), np.empty(values.size)
    _difference(noise.reshape(shape), error.reshape(shape), differences, bounds)
    out = np.empty(values.size)
    if _settle(values, differences, bounds, grid, out):
        pool = balls.Pool(words, extra_bits)
        rows = np.triu_indices(order)
        for index in np.flatnonzero(np.isnan(out)):
            place = int(rows[0][index]), int(rows[1][index])
            out[index] = _resolve(float(values[index]), place, pool, grid)
    return out


def _order(size: int) -> int:
    order = (math.isqrt(8 * size + 1) - 1) // 2
    if size < 1 or order * (order + 1) // 2 != size:
        raise InputError(f"value must have p(p + 1)/2 entries, an upper triangle, got {size}")
    return order


@kernels.compiled
def _difference(noise: Floats, error: Floats, out: Floats, bound: Floats) -> None:
    """(G Gᵀ − H Hᵀ)/2 above the diagonal, and how far each entry may be from the exact one.

    Row i of ``noise`` is (g, h) of n = 2(p + 1) entries with computed norm r_i, whose exact values
    differ by a vector of norm e_i at most. A sum of n products in any order is off by n·υ/(1 − n·υ)
    of the sum of their amounts, which is at most r_i·r_j (Cauchy–Schwarz); the Gaussians'
    errors add r_i·e_j + e_i·r_j + e_i·e_j. 1.01 covers the rounding of these norms and bounds.
    """
    order, width = noise.shape
    half = width // 2
    lengths, spreads = np.empty(order), np.empty(order)
    for i in range(order):
        lengths[i] = np.sqrt(np.sum(noise[i] * noise[i]))
        spreads[i] = np.sqrt(np.sum(error[i] * error[i]))
    columns = np.ascontiguousarray(noise.T)
    relative = 1.01 * (width + 2) * kernels.UNIT
    place = 0
    for i in range(order):
        total = np.zeros(order - i)
        for k in range(half):
            factor = noise[i, k]
            for j in range(order - i):
                total[j] += factor * columns[k, i + j]
        for k in range(half, width):
            factor = noise[i, k]
            for j in range(order - i):
                total[j] -= factor * columns[k, i + j]
        for j in range(order - i):
            r, s = lengths[i], lengths[i + j]
            e, f = spreads[i], spreads[i + j]
            out[place] = 0.5 * total[j]
            bound[place] = 0.51 * (relative * r * s + r * f + e * s + e * f) + kernels.SLACK * abs(
                out[place]
            )
            place += 1


@kernels.compiled
def _settle(values: Floats, noise: Floats, error: Floats, grid: Frame, out: Floats) -> int:
    """The grid point nearest to value + scale·noise where it is certain, else NaN; counts NaNs.

    As ``kernels.settle``, but only the output is cut. From 2⁵² cells on a position is whole, and
    from 2⁶⁰ on the output is the outermost cell, as the noise is below 2⁴⁵ cells or left open.
    """
    undecided = 0
    for i in range(out.size):
        position = min(max(values[i] * grid.inverse, -_BEYOND), _BEYOND)
        cell = np.rint(position)
        offset = (position - cell) + grid.ratio * noise[i]
        steps = np.rint(offset)
        bound = grid.caution * (kernels.UNIT + grid.ratio * error[i])
        certain = 0.5 - abs(offset - steps) > bound and abs(offset) < _FARTHEST
        nearest = min(max(cell + steps, -_OUTERMOST), _OUTERMOST)
        out[i] = (nearest + 0.0) * grid.step if certain else np.nan
        undecided += 0 if certain else 1
    return undecided


def _resolve(value: float, place: tuple[int, int], pool: balls.Pool, grid: Frame) -> float:
    """The grid point of one entry, with bits appended to its two rows until it is certain."""
    pool.in_use.clear()
    position = balls.exact(value) * balls.exact(grid.inverse)

    def attempt() -> int | None:
        noisy = arb(position) + arb(grid.ratio) * _entry(pool, *place)
        cell = (noisy + arb(0.5)).floor().unique_fmpz()
        return None if cell is None else min(max(int(cell), -LARGEST_CELL), LARGEST_CELL)

    return balls.certain(attempt, pool) * grid.step


def _entry(pool: balls.Pool, row: int, column: int) -> arb:
    """Entry (row, column) of (G Gᵀ − H Hᵀ)/2, enclosed."""
    order = _gaussian_order(pool.words.size)
    width = 2 * (order + 1)
    total = arb(0)
    for k in range(width):
        left = balls.gaussian_ball(pool, row * width + k)
        right = left if row == column else balls.gaussian_ball(pool, column * width + k)
        total += left * right if k <= order else -left * right
    return total / 2


def _gaussian_order(words: int) -> int:
    """p of 2p(p + 1) words."""
    return (math.isqrt(2 * words + 1) - 1) // 2
