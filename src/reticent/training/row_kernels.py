"""Norms and matrix products of rows, each row a function of itself alone, bit by bit.

Libraries add up in an order that depends on the batch: ``einsum`` on the memory layout and on
whether there is one row or more, a BLAS product on the number of rows and on a row's place among
them. Then one record more moves the last bits of others; and where these are cut to a grid or cast
to float32 it moves them by whole steps, all of them together by more than the sensitivity bound.
Here every sum runs over the columns from first to last. The kernels are compiled without fast-math:
neither is a sum reordered nor a product fused with it. Rows of any layout (Fortran, strided,
reversed, read-only, unaligned) are copied to C order first, so one machine code serves all.
"""

import math

import numpy as np

from reticent.arrays import ArrayLike, Floats
from reticent.mechanisms.rounded.kernels import compiled

_ROWS = 64
"""Rows that share a part of the matrix while it is in the cache; no sum depends on it."""


def in_c_order(values: ArrayLike) -> Floats:
    """A new float64 array in C order, aligned and writable: kernels see no other."""
    return np.array(values, dtype=np.float64, order="C")


def fitted_rows(rows: Floats, limit: float, *, lengthen: bool) -> Floats:
    """Rows scaled down to the norm ``limit`` as computed, or with ``lengthen`` scaled to it."""
    fitted = in_c_order(rows)
    _fit_rows(fitted, float(limit), bool(lengthen))
    return fitted


def products(rows: Floats, matrix: Floats) -> Floats:
    """rows @ matrix; each entry is the sum over the matrix's rows, from first to last."""
    total = np.zeros((rows.shape[0], matrix.shape[1]))
    _add_products(in_c_order(rows), in_c_order(matrix), total)
    return total


@compiled
def _power_of_two(row: Floats) -> float:
    """The largest one that is not above the largest entry, between 2⁻¹⁰⁰⁰ and 2¹⁰⁰⁰.

    So neither it nor its inverse is subnormal: that a library lets the processor take subnormals
    for zero cannot make a long row look short.
    """
    largest = 0.0
    for j in range(row.size):
        largest = max(largest, abs(row[j]))
    return math.ldexp(1.0, min(max(math.frexp(largest)[1] - 1, -1000), 1000))


@compiled
def _fit_rows(rows: Floats, limit: float, lengthen: bool) -> None:
    """In place; entries near the ends of the float range are scaled before they are squared.

    A row that is not finite becomes zero: it was so when it was checked, and nobody is to gain by
    changing it afterwards.
    """
    for i in range(rows.shape[0]):
        row = rows[i]
        power = _power_of_two(row)
        down = 1.0 / power  # exact
        total = 0.0
        for j in range(row.size):
            total += (row[j] * down) * (row[j] * down)
        norm = math.sqrt(total)
        if not norm < math.inf:
            row[:] = 0.0
        elif not norm <= limit / power or (lengthen and norm > 0.0):
            factor = limit / norm
            for j in range(row.size):
                row[j] = row[j] * down * factor


@compiled
def _add_products(rows: Floats, matrix: Floats, total: Floats) -> None:
    """total += rows @ matrix, four rows of the matrix at a time, added one after another."""
    count, depth = rows.shape
    fours = depth - depth % 4
    for start in range(0, count, _ROWS):
        stop = min(start + _ROWS, count)
        for k in range(0, fours, 4):
            for i in range(start, stop):
                a, b, c, d = rows[i, k], rows[i, k + 1], rows[i, k + 2], rows[i, k + 3]
                for j in range(matrix.shape[1]):
                    pair = total[i, j] + a * matrix[k, j] + b * matrix[k + 1, j]
                    total[i, j] = pair + c * matrix[k + 2, j] + d * matrix[k + 3, j]
        for k in range(fours, depth):
            for i in range(start, stop):
                for j in range(matrix.shape[1]):
                    total[i, j] += rows[i, k] * matrix[k, j]
