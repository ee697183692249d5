"""The regularised softmax loss in zero-sum coordinates, with a proven bound on its rounding.

J(V) = (1/N)·Σ w_y·CE(U V h, y) + (λ/2)‖V‖², where the columns of U are a fixed orthonormal basis of
the zero-sum space: V has (C−1)·d entries, and the weights W = U V have zero column sums. J is taken
with the floats of U as they are, so V is what is optimised, certified and released: nothing is
projected afterwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

_UNIT = 2.0**-53
_EXP_ERROR = 16 * _UNIT
"""Relative error granted to exp; numpy's is below 4 units in the last place."""
ROOM = 2
"""A data set has at most this many times N records; the tolerance is chosen for that many."""
BLOCK = 4096
"""Rows summed at a time: the rounding of one sum grows with a block, not with the data."""


def zero_sum_basis(classes: int) -> Floats:
    """C×(C−1), Helmert's: column k is (1, …, 1, −k, 0, …, 0)/√(k(k+1))."""
    basis = np.zeros((classes, classes - 1))
    for k in range(1, classes):
        basis[:k, k - 1] = 1.0
        basis[k, k - 1] = -k
        basis[:, k - 1] /= np.sqrt(k * (k + 1.0))
    return basis


@dataclass(frozen=True, kw_only=True)
class SoftmaxObjective:
    """J with its data: rows h with ‖h‖ ≤ ``radius``, labels as indices, N = ``records``."""

    rows: Floats
    labels: Labels
    basis: Floats
    penalty: float
    records: int
    radius: float
    weights: Floats
    """One public weight per class."""

    @property
    def shape(self) -> tuple[int, int]:
        """That of V."""
        return self.basis.shape[1], self.rows.shape[1]

    @property
    def largest_weight(self) -> float:
        """What a record's loss is multiplied by, at most."""
        return float(self.weights.max())

    def gradient(self, v: Floats) -> Floats:
        """∇J at V."""
        total = np.zeros(self.shape)
        for rows, labels in self._blocks():
            total += (self._residual(rows, labels, v) @ self.basis).T @ rows
        return total / self.records + self.penalty * v

    def curvature(self, v: Floats) -> Curvature:
        """The Hessian at V, ready to be multiplied."""
        return Curvature(self, [self._probabilities(rows, v) for rows, _ in self._blocks()])

    def second_moment(self) -> Floats:
        """(1/N)·Σ w_y·h hᵀ: with a scalar in front, a rough Hessian of each row of V."""
        total = np.zeros((self.shape[1], self.shape[1]))
        for rows, labels in self._blocks():
            total += (rows * self.weights[labels][:, None]).T @ rows
        return total / self.records

    def smoothness(self) -> float:
        """A Lipschitz constant of the gradient: (n/N)·w·R²/2 + λ (the softmax Hessian is ≤ ½)."""
        share = len(self.labels) / self.records * self.largest_weight
        return share * self.radius * self.radius / 2 * 1.001 + self.penalty

    def rounding(self, v: Floats) -> float:
        """A bound on ‖computed gradient − gradient‖ at V (docs/theory.md D.3)."""
        return rounding_bound(
            size=float(np.linalg.norm(v)) * 1.001,
            rows=len(self.labels),
            shape=self.shape,
            share=len(self.labels) / self.records * self.largest_weight * self.radius,
            radius=self.radius,
            penalty=self.penalty,
        )

    def worst_rounding(self) -> float:
        """The same at any optimum of any data set of at most ROOM·N records, in public numbers.

        λ‖V‖ ≤ (n/N)·w·√2·R because the gradient is 0 there, and (λ/2)‖V‖² ≤ (n/N)·w·ln C because
        J is no larger than at V = 0.
        """
        share = ROOM * self.largest_weight
        size = min(
            share * math.sqrt(2) * self.radius / self.penalty,
            math.sqrt(2 * share * math.log(self.shape[0] + 1) / self.penalty),
        )
        return rounding_bound(
            size=1.01 * size,
            rows=ROOM * self.records,
            shape=self.shape,
            share=share * self.radius,
            radius=self.radius,
            penalty=self.penalty,
        )

    def _blocks(self) -> list[tuple[Floats, Labels]]:
        starts = range(0, len(self.labels), BLOCK)
        return [(self.rows[i : i + BLOCK], self.labels[i : i + BLOCK]) for i in starts]

    def _probabilities(self, rows: Floats, v: Floats) -> Floats:
        logits = (rows @ v.T) @ self.basis.T
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        probabilities: Floats = logits / logits.sum(axis=1, keepdims=True)
        return probabilities

    def _residual(self, rows: Floats, labels: Labels, v: Floats) -> Floats:
        """w·(p − e_y), record by record."""
        residual = self._probabilities(rows, v)
        residual[np.arange(len(labels)), labels] -= 1.0
        return residual * self.weights[labels][:, None]


@dataclass(frozen=True)
class Curvature:
    """Hessian of J at one point: products with a direction."""

    objective: SoftmaxObjective
    probabilities: list[Floats]

    def mean_spread(self) -> float:
        """The mean over records of (1 − Σp²)/(C−1), the average eigenvalue of diag p − ppᵀ."""
        spread = sum(float(np.sum(1 - np.einsum("ij,ij->i", p, p))) for p in self.probabilities)
        return spread / max(len(self.objective.labels) * self.objective.shape[0], 1)

    def times(self, direction: Floats) -> Floats:
        """H·direction."""
        total = np.zeros(self.objective.shape)
        for (rows, labels), p in zip(self.objective._blocks(), self.probabilities, strict=True):
            change = (rows @ direction.T) @ self.objective.basis.T
            mean = np.einsum("ij,ij->i", p, change)[:, None]
            moved = p * (change - mean) * self.objective.weights[labels][:, None]
            total += (moved @ self.objective.basis).T @ rows
        return total / self.objective.records + self.objective.penalty * direction


def rounding_bound(
    *,
    size: float,
    rows: int,
    shape: tuple[int, int],
    share: float,
    radius: float,
    penalty: float,
) -> float:
    """η for coordinates of norm ``size``; share = (n/N)·w·R (docs/theory.md D.3)."""
    classes, features = shape[0] + 1, shape[1]
    reach = radius * size
    logits = reach * (_gamma(features) + classes * _gamma(classes))
    spread = 2 * (_EXP_ERROR + 2 * reach * _UNIT) + (classes + 4) * _UNIT
    residual = logits / 2 + spread + 2 * _UNIT + 2 * classes * _gamma(classes)
    summing = 1.5 * _gamma(min(BLOCK, rows) + rows // BLOCK + 1)
    gradient = 1.5 * share + penalty * size
    return 1.1 * (share * (residual + summing) + 4 * _UNIT * gradient)


def _gamma(operations: int) -> float:
    """γ_k = kυ/(1 − kυ) (Higham 2002, Lemma 3.1)."""
    return operations * _UNIT / (1 - operations * _UNIT)
