"""Heads on neighbouring data sets, as differences to the full head, and how they are measured.

The compiled loop of the leave-one-out solver: how probabilities move when logits move.

Everything is a difference to the full optimum: with e = expm1(Δz) and t = Σ p·e,
Δp = p(e − t)/(1 + t). No large number is subtracted from another, so float32 keeps seven digits
of the *change*, where a refit in float64 loses them in the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np

from reticent.arrays import Floats, Floats32
from reticent.training.logit_changes import HALVINGS, INSIDE, small_expm1
from reticent.training.softmax import zero_sum_basis


# Infinities and NaN keep their meaning (no nnan, no ninf): a head that runs away must be seen.
@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz", "reassoc"})
def probability_changes(changes: Floats32, probabilities: Floats32, weights: Floats32) -> None:
    """Turn changes of logits into weighted changes of probabilities, in place.

    ``changes`` is rows × (K·heads): Δz of class c minus that of the last class, for c < K = C − 1,
    heads innermost. ``probabilities`` is rows × K at the full optimum. ``weights`` has one entry
    per row.
    """
    classes = probabilities.shape[1]
    heads = changes.shape[1] // classes
    total = np.empty(heads, np.float32)
    for row in range(changes.shape[0]):
        row_changes = changes[row]
        halvings = _halvings(row_changes)
        scale = np.float32(2.0**-halvings)
        total[:] = 0
        for c in range(classes):
            p = probabilities[row, c]
            part = row_changes[c * heads : (c + 1) * heads]
            for h in range(heads):
                part[h] = small_expm1(part[h] * scale)
            for _ in range(halvings):  # e^2x − 1 = e(e + 2) for e = e^x − 1
                for h in range(heads):
                    part[h] *= part[h] + np.float32(2)
            for h in range(heads):
                total[h] += p * part[h]
        for c in range(classes):
            p = probabilities[row, c] * weights[row]
            part = row_changes[c * heads : (c + 1) * heads]
            for h in range(heads):
                part[h] = p * (part[h] - total[h]) / (np.float32(1) + total[h])


@numba.njit(nogil=True, cache=True, fastmath={"reassoc"})
def _halvings(changes: Floats32) -> int:
    """How often the largest entry is halved until it lies inside; 8 reach beyond e^60."""
    halvings, limit = 0, INSIDE
    while halvings < HALVINGS:
        outside = 0
        for x in changes:
            outside += abs(x) > limit
        if outside == 0:
            break
        halvings, limit = halvings + 1, limit * np.float32(2)
    return halvings


@dataclass(frozen=True, kw_only=True)
class Norms:
    """Sizes of changes: L1 of the released coordinates V and of the weights W = U V; one L2.

    U has orthonormal columns, so both have the same L2 norm. The paper measures W, the proven
    release adds noise to V.
    """

    l1: Floats
    l1_weights: Floats
    l2: Floats

    @classmethod
    def of(cls, relative: Floats32) -> Norms:
        """Of changes × K × d, the weights of each class minus those of the last."""
        weights = as_weights(relative)
        coordinates = np.einsum("ck,mcd->mkd", zero_sum_basis(weights.shape[1]), weights)
        return cls(
            l1=np.abs(coordinates).sum(axis=(1, 2)),
            l1_weights=np.abs(weights).sum(axis=(1, 2)),
            l2=np.sqrt(np.einsum("mcd,mcd->m", weights, weights)),
        )

    @classmethod
    def joined(cls, parts: list[Norms]) -> Norms:
        """Several blocks of norms, one after the other."""
        return cls(
            l1=np.concatenate([part.l1 for part in parts]),
            l1_weights=np.concatenate([part.l1_weights for part in parts]),
            l2=np.concatenate([part.l2 for part in parts]),
        )


@dataclass(frozen=True, kw_only=True)
class Differences:
    """Neighbouring heads minus the full one; ``relative`` is heads × K × d, to the last class.

    ``errors`` are estimates of each difference's error in L2, relative to its norm.
    """

    relative: Floats32
    errors: Floats

    def __len__(self) -> int:
        return len(self.relative)

    @property
    def weights(self) -> Floats:
        """Changes of W, heads × C × d."""
        return as_weights(self.relative)

    @property
    def coordinates(self) -> Floats:
        """Changes of V, the released coordinates, heads × (C−1) × d."""
        weights = self.weights
        return np.asarray(np.einsum("ck,mcd->mkd", zero_sum_basis(weights.shape[1]), weights))

    @cached_property
    def norms(self) -> Norms:
        """How long each change is."""
        return Norms.of(self.relative)


def as_weights(relative: Floats32) -> Floats:
    """W with zero column sums from the weights relative to the last class."""
    heads, others, features = relative.shape
    weights = np.zeros((heads, others + 1, features))
    weights[:, :-1] = relative
    weights -= weights.mean(axis=1, keepdims=True)
    return weights
