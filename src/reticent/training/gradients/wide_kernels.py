"""Norms and weighted sums of float32 rows with books in float64, without a copy in float64.

The product of two float32 numbers is exact in float64. docs/theory.md E.5 counts roundings, in
whatever order: so the compiler may reorder the squares of a row, by its length alone. A NaN or an
infinity stays what it is.
"""

from typing import Final

import numba
import numpy as np

from reticent.arrays import Floats, Floats32

_COLUMNS: Final = 4096
"""Of the sum, in the cache while all rows are added to them."""


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz", "reassoc"})
def squared_norms(rows: Floats32) -> Floats:
    """Σ_j rows[i, j]² for each row."""
    squares = np.empty(rows.shape[0])
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(rows.shape[1]):
            entry = np.float64(rows[i, j])
            total += entry * entry
        squares[i] = total
    return squares


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz", "reassoc"})
def add_squared_norms(rows: Floats32, factors: Floats, total: Floats) -> None:
    """total[i] += factors[i]·Σ_j rows[i, j]² for each row."""
    for i in range(rows.shape[0]):
        square = 0.0
        for j in range(rows.shape[1]):
            entry = np.float64(rows[i, j])
            square += entry * entry
        total[i] += factors[i] * square


@numba.njit(nogil=True, cache=True, error_model="numpy")
def clip_factors(squares: Floats, clip: float, slack: float) -> tuple[Floats, int]:
    """min(1, clip/(slack·√s)) for each s; 0 where s is not finite, and how often that is.

    A number below 0 is a norm of 0: Gram matrices cancel.
    """
    factors, bad = np.zeros(squares.size), 0
    for i in range(squares.size):
        if np.isfinite(squares[i]):
            factors[i] = min(1.0, clip / (np.sqrt(max(squares[i], 0.0)) * slack))
        else:
            bad += 1
    return factors, bad


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz"})
def add_weighted(rows: Floats32, weights: Floats, total: Floats) -> None:
    """total[j] += Σ_i weights[i]·rows[i, j], row after row."""
    for start in range(0, rows.shape[1], _COLUMNS):
        stop = min(start + _COLUMNS, rows.shape[1])
        for i in range(rows.shape[0]):
            weight = weights[i]
            for j in range(start, stop):
                total[j] += weight * np.float64(rows[i, j])
