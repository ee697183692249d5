"""Compiled: how probabilities move when logits move, for heads that share their data.

Everything is a difference to one reference head: with e = expm1(Δz) and t = Σ p·e,
Δp = p(e − t)/(1 + t). No large number is subtracted from another, so float32 keeps seven digits
of the *change*.
"""

import numba
import numpy as np

from reticent.arrays import Floats32

INSIDE = np.float32(0.25)
"""Up to here the polynomial of ``small_expm1`` is right to float32."""
_INSIDE_BITS = int(INSIDE.view(np.int32))
HALVINGS = 8
"""As often a change is halved at most: enough beyond e^60."""
CHUNK = 128
"""Rows that stay in the fastest cache together."""


@numba.njit(nogil=True, cache=True, inline="always", fastmath={"contract"})
def small_expm1(x: np.float32) -> np.float32:
    """e^x − 1 for |x| ≤ INSIDE, of degree 6."""
    tail = np.float32(1 / 24) + x * (np.float32(1 / 120) + x * np.float32(1 / 720))
    half = np.float32(0.5) + x * (np.float32(1 / 6) + x * tail)
    return x + x * x * half


# Infinities and NaN keep their meaning (no nnan, no ninf): a head that runs away must be seen.
@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz", "reassoc"})
def changes_by_head(
    changes: Floats32, probabilities: Floats32, weights: Floats32, first: int
) -> None:
    """Turn changes of logits into weighted changes of probabilities, in place.

    ``changes`` is heads × K × rows: Δz of class c minus that of the last class, c < K = C − 1.
    ``probabilities`` (K × all rows, at the reference) and ``weights`` are those of all rows, of
    which these begin at ``first``.
    """
    total = np.empty(CHUNK, np.float32)
    factor = np.empty(CHUNK, np.float32)
    rows = changes.shape[2]
    for head in range(changes.shape[0]):
        for start in range(0, rows, CHUNK):
            stop = min(start + CHUNK, rows)
            _grow(changes[head], probabilities, total, start, stop, first)
            some = weights[first + start : first + stop]
            for i in range(stop - start):
                factor[i] = some[i] / (np.float32(1) + total[i])
            for c in range(changes.shape[1]):
                part = changes[head, c, start:stop]  # slices of one row: loops over them compile
                p = probabilities[c, first + start : first + stop]  # to vector instructions
                for i in range(stop - start):
                    part[i] = p[i] * (part[i] - total[i]) * factor[i]


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz", "reassoc"})
def _grow(
    changes: Floats32, probabilities: Floats32, total: Floats32, start: int, stop: int, first: int
) -> None:
    """expm1 of the changes in place, and their mean under the probabilities in ``total``."""
    halvings = _halvings(changes, start, stop)
    scale = np.float32(2.0**-halvings)
    total[:] = 0
    for c in range(changes.shape[0]):
        part = changes[c, start:stop]
        p = probabilities[c, first + start : first + stop]
        for i in range(stop - start):
            part[i] = small_expm1(part[i] * scale)
        for _ in range(halvings):  # e^2x − 1 = e(e + 2) for e = e^x − 1
            for i in range(stop - start):
                part[i] *= part[i] + np.float32(2)
        for i in range(stop - start):
            total[i] += p[i] * part[i]


@numba.njit(nogil=True, cache=True)
def _halvings(changes: Floats32, start: int, stop: int) -> int:
    """How often the largest entry is halved until it lies inside.

    The bits of positive floats are ordered as whole numbers, NaN last, and one doubling is one
    more in the exponent.
    """
    largest = np.int32(0)
    for c in range(changes.shape[0]):
        for bits in changes[c, start:stop].view(np.int32):
            largest = max(largest, bits & np.int32(0x7FFFFFFF))
    over = int(largest) - _INSIDE_BITS
    return min((over - 1 >> 23) + 1, HALVINGS) if over > 0 else 0
