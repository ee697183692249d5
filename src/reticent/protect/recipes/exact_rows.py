"""Rows on a grid, so that products with public matrices are exact in whatever order they add up.

A product of matrices rounds a row differently in another place of the batch. So one record more
would move the floats of all others, by little, n times. Here a row is a function of its record
alone, entry by entry a whole multiple of 2⁻²⁰, and public matrices are whole multiples of a power
of two, so small that every partial sum is a whole number below 2⁵³: float64 adds it without error.
"""

import math

import numpy as np

from reticent.arrays import Floats
from reticent.mechanisms.rounded.kernels import compiled
from reticent.training.row_kernels import in_c_order, products

_BITS = 20
_STEP = 2.0**-_BITS
_PRODUCT_BITS = 32
"""‖row‖ ≤ 2²⁰ steps and ‖column‖ ≤ 2³² steps: by Cauchy–Schwarz no partial sum exceeds 2⁵²."""


def unit_rows(rows: Floats, centre: Floats) -> Floats:
    """(row − centre) scaled to norm 1 and cut, towards zero, to multiples of 2⁻²⁰.

    A row that equals the centre, or is not finite, becomes zero, whoever changed it after it was
    checked. No norm exceeds 1, rounding included. Each row is a
    function of itself and the centre, bit by bit: its copy is in C order whatever the rows are in,
    so that one machine code serves all layouts.
    """
    fitted = in_c_order(rows)
    _unit_rows(fitted, in_c_order(centre))
    return fitted


def on_grid(matrix: Floats, largest_norm: float) -> Floats:
    """A public matrix, its columns at most ``largest_norm`` long, on the grid of exact products."""
    step = math.ldexp(1.0, math.ceil(math.log2(largest_norm)) - _PRODUCT_BITS)
    cut: Floats = np.trunc(matrix / step) * step
    return cut


def row_products(rows: Floats, matrix: Floats) -> Floats:
    """Rows of ``unit_rows`` times a matrix, each a function of its row alone, bit by bit.

    A matrix on the grid (``on_grid``) has exact products, which a library finds fast; others, as a
    file may hold them, are added up column by column in one order.
    """
    lengths = np.linalg.norm(matrix, axis=0)
    if np.array_equal(on_grid(matrix, 1.0), matrix) and lengths.max(initial=0.0) <= 1 + 2.0**-40:
        return np.asarray(rows @ matrix) + 0.0  # and not −0.0
    return products(rows, matrix)


@compiled
def _unit_rows(rows: Floats, centre: Floats) -> None:
    """In place and sequential in each row: equal rows are equal wherever they stand."""
    count, width = rows.shape
    for i in range(count):
        row = rows[i]
        largest = 0.0
        for j in range(width):
            row[j] -= centre[j]
            largest = max(largest, abs(row[j]))
        if largest == 0.0:
            row[:] = 0.0  # and not −0.0
            continue
        total = 0.0
        for j in range(width):
            row[j] /= largest
            total += row[j] * row[j]
        if not 1.0 <= total < math.inf:  # of an infinity or NaN among the entries
            row[:] = 0.0
            continue
        # The computed norm may be too small by (width + 2)·2⁻⁵³, relatively: twice that is taken.
        norm = math.sqrt(total) * (1.0 + 2.0 * (width + 8) * 2.0**-53)
        for j in range(width):
            row[j] = np.trunc(row[j] / norm * 2.0**20) * 2.0**-20
