"""The softmax loss in zero-sum coordinates.

W = U V, where the columns of U are a fixed orthonormal basis of the zero-sum space: V has (C−1)·d
entries. The loss is taken with the floats of U as they are, so nothing is projected afterwards.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reticent.arrays import Floats, Integers
from reticent.training.objective import EXP_ERROR, UNIT, LinearObjective, gamma


def zero_sum_basis(classes: int) -> Floats:
    """C×(C−1), Helmert's: column k is (1, …, 1, −k, 0, …, 0)/√(k(k+1))."""
    basis = np.zeros((classes, classes - 1))
    for k in range(1, classes):
        basis[:k, k - 1] = 1.0
        basis[k, k - 1] = -k
        basis[:, k - 1] /= np.sqrt(k * (k + 1.0))
    return basis


def softmax_rows(logits: Floats) -> Floats:
    """Softmax of each row; the logits are overwritten."""
    logits -= logits.max(axis=1, keepdims=True)
    np.exp(logits, out=logits)
    answers: Floats = logits / logits.sum(axis=1, keepdims=True)
    return answers


@dataclass(frozen=True, kw_only=True)
class SoftmaxObjective(LinearObjective):
    """Σ w_y·CE(U V h, y): labels as indices, one public weight per class."""

    labels: Integers
    basis: Floats
    weights: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """(C−1, d): coordinates in the zero-sum space."""
        return self.basis.shape[1], self.rows.shape[1]

    @property
    def largest_weight(self) -> float:
        """What a record's loss is multiplied by, at most."""
        return float(self.weights.max())

    @property
    def max_residual_norm(self) -> float:
        """w·√2, since ‖p − e_y‖ ≤ √2."""
        return self.largest_weight * math.sqrt(2)

    @property
    def max_curvature(self) -> float:
        """w/2: no eigenvalue of diag p − ppᵀ is larger than ½."""
        return self.largest_weight / 2

    @property
    def loss_at_zero(self) -> float:
        """w·ln C, the loss of a record at V = 0."""
        return self.largest_weight * math.log(self.shape[0] + 1)

    def residual_error(self, reach: float) -> float:
        """Logits, exp and its sum, the residual and its product with U (docs/theory.md D.3)."""
        classes, features = self.shape[0] + 1, self.shape[1]
        logits = reach * (gamma(features) + classes * gamma(classes))
        spread = 2 * (EXP_ERROR + 2 * reach * UNIT) + (classes + 4) * UNIT
        error = logits / 2 + spread + 2 * UNIT + 2 * classes * gamma(classes)
        return self.largest_weight * error

    def importance(self, block: slice) -> Floats:
        """w_y, the weight of each record's class."""
        return self.weights[self.labels[block]]

    def answers(self, outputs: Floats) -> Floats:
        """Softmax of U V h."""
        return softmax_rows(outputs @ self.basis.T)

    def residual(self, block: slice, probabilities: Floats) -> Floats:
        """w·Uᵀ(p − e_y), record by record."""
        residual = probabilities.copy()
        labels = self.labels[block]
        residual[np.arange(len(labels)), labels] -= 1.0
        return self._folded(block, residual)

    def curvature_product(self, block: slice, probabilities: Floats, change: Floats) -> Floats:
        """w·Uᵀ(diag p − ppᵀ)U·change, the curvature times a change."""
        logit_change = change @ self.basis.T
        mean = np.einsum("ij,ij->i", probabilities, logit_change)[:, None]
        return self._folded(block, probabilities * (logit_change - mean))

    def swing(self, changes: Floats) -> Floats:
        """The range of U·change: derivatives along it are cumulants of it under p."""
        logits = changes @ self.basis.T
        ranges: Floats = np.ptp(logits, axis=1)
        return ranges

    def mean_spread(self, probabilities: Sequence[Floats]) -> float:
        """The mean over records of (1 − Σp²)/(C−1), the average eigenvalue of diag p − ppᵀ."""
        spread = sum(float(np.sum(1 - np.einsum("ij,ij->i", p, p))) for p in probabilities)
        return spread / max(len(self.labels) * self.shape[0], 1)

    def _folded(self, block: slice, by_class: Floats) -> Floats:
        return (by_class * self.importance(block)[:, None]) @ self.basis
