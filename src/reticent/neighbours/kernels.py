"""The compiled loop of the leave-one-out solver: how probabilities move when logits move.

Everything is a difference to the full optimum: with e = expm1(Δz) and t = Σ p·e,
Δp = p(e − t)/(1 + t). No large number is subtracted from another, so float32 keeps seven digits
of the *change*, where a refit in float64 loses them in the weights.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from reticent.training.logit_changes import HALVINGS, INSIDE, small_expm1

Singles = NDArray[np.float32]


# Infinities and NaN keep their meaning (no nnan, no ninf): a head that runs away must be seen.
@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz", "reassoc"})
def probability_changes(changes: Singles, probabilities: Singles, weights: Singles) -> None:
    """Turn changes of logits into weighted changes of probabilities, in place.

    ``changes`` is rows × (K·heads): Δz of class c minus that of the last class, for c < K = C − 1,
    heads innermost. ``probabilities`` is rows × K at the full optimum. ``weights`` has one entry
    per row.
    """
    classes = probabilities.shape[1]
    heads = changes.shape[1] // classes
    total = np.empty(heads, np.float32)
    for row in range(changes.shape[0]):
        moved = changes[row]
        halvings = _halvings(moved)
        scale = np.float32(2.0**-halvings)
        total[:] = 0
        for c in range(classes):
            p = probabilities[row, c]
            part = moved[c * heads : (c + 1) * heads]
            for h in range(heads):
                part[h] = small_expm1(part[h] * scale)
            for _ in range(halvings):  # e^2x − 1 = e(e + 2) for e = e^x − 1
                for h in range(heads):
                    part[h] *= part[h] + np.float32(2)
            for h in range(heads):
                total[h] += p * part[h]
        for c in range(classes):
            p = probabilities[row, c] * weights[row]
            part = moved[c * heads : (c + 1) * heads]
            for h in range(heads):
                part[h] = p * (part[h] - total[h]) / (np.float32(1) + total[h])


@numba.njit(nogil=True, cache=True, fastmath={"reassoc"})
def _halvings(moved: Singles) -> int:
    """How often the largest entry is halved until it lies inside; 8 reach beyond e^60."""
    halvings, limit = 0, INSIDE
    while halvings < HALVINGS:
        outside = 0
        for x in moved:
            outside += abs(x) > limit
        if outside == 0:
            break
        halvings, limit = halvings + 1, limit * np.float32(2)
    return halvings
