"""Heads on neighbouring data sets, as differences to the full head, and how they are measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reticent.arrays import Floats
from reticent.neighbours.kernels import Singles
from reticent.training.softmax import zero_sum_basis


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
    def of(cls, relative: Singles) -> Norms:
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

    relative: Singles
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


def as_weights(relative: Singles) -> Floats:
    """W with zero column sums from the weights relative to the last class."""
    heads, others, features = relative.shape
    weights = np.zeros((heads, others + 1, features))
    weights[:, :-1] = relative
    weights -= weights.mean(axis=1, keepdims=True)
    return weights
