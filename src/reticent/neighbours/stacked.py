"""Many neighbouring heads at once: one product with the data serves all of them.

Each head solves Σ_k w·Δp_k(D) h_k + s·(r + Δp(D)) h + N·λ·D = 0 for its difference D to the full
optimum, where the record h enters (s = 1) or leaves (s = −1) and r is its residual there. Steps
are preconditioned residuals, mixed per head with the last ones (Anderson 1965).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reticent.arrays import Flags, Floats
from reticent.neighbours.kernels import Singles, probability_changes
from reticent.neighbours.preconditioner import Curved, Preconditioner
from reticent.training.anderson import AndersonMixing

ROWS = 2048
"""Rows of data multiplied at a time; their changes stay in the cache."""
MOST_PASSES = 40
"""Passes over the data after which a head is handed to Newton's method."""


@dataclass(frozen=True, kw_only=True)
class OwnRecords:
    """The record that each head gains (sign 1) or loses (sign −1), at the full optimum."""

    rows: Singles
    probabilities: Singles
    residuals: Singles
    weights: Singles
    signs: Singles

    def __len__(self) -> int:
        return len(self.signs)

    def part(self, chosen: slice | Flags) -> OwnRecords:
        """The own records of some of the heads."""
        return OwnRecords(
            rows=self.rows[chosen],
            probabilities=self.probabilities[chosen],
            residuals=self.residuals[chosen],
            weights=self.weights[chosen],
            signs=self.signs[chosen],
        )

    def gradient(self, moved: Singles) -> Singles:
        """s·(r + Δp)·h when the record's logits moved by ``moved`` (heads × K): d × K × heads."""
        changes = moved.copy()
        probability_changes(changes, self.probabilities, self.weights)
        changes += self.residuals
        changes *= self.signs[:, None]
        return np.asarray(self.rows.T[:, None, :] * changes.T[None])

    def logits(self, differences: Singles) -> Singles:
        """How the record's logits move under each head's difference: heads × K."""
        return np.asarray(np.einsum("mj,jcm->mc", self.rows, differences))


@dataclass(frozen=True)
class StackedHeads:
    """The data, and a preconditioner for its Hessian at the full optimum."""

    data: Curved
    preconditioner: Preconditioner

    def solve(self, own: OwnRecords, *, accuracy: float) -> tuple[Singles, Floats]:
        """Differences (unknowns × heads) and their estimated errors relative to their norms."""
        answer = np.zeros((self.data.unknowns, len(own)), np.float32)
        errors = np.full(len(own), np.inf)
        open_heads = np.arange(len(own))
        mixing = AndersonMixing(answer.copy(), self.first_steps(own))
        mixing.scale_first(self._line(mixing.last, own))
        for _ in range(MOST_PASSES):
            mixing.add(self._step(mixing.point, own))
            found = mixing.relative_errors() * self._caution(mixing.point, own)
            answer[:, open_heads], errors[open_heads] = mixing.point, found
            going_on = ~(found <= accuracy) & np.isfinite(found)
            if not going_on.any():
                break
            open_heads, own = open_heads[going_on], own.part(going_on)
            mixing.keep(going_on)
        return answer, errors

    def first_steps(self, own: OwnRecords) -> Singles:
        """−H⁻¹·gradient at the full optimum: what each record does to first order."""
        gradient = -own.gradient(np.zeros_like(own.residuals))
        return self.preconditioner.solve(gradient.reshape(-1, len(own)))

    def _step(self, point: Singles, own: OwnRecords) -> Singles:
        """−H⁻¹·gradient."""
        features, classes, heads = *self._shape, len(own)
        cube = point.reshape(features, classes, heads)
        total = self._data_gradient(point.reshape(features, classes * heads)).reshape(cube.shape)
        penalty = np.float32(self.data.penalty)
        total += penalty * (cube - cube.sum(axis=1, keepdims=True) / np.float32(classes + 1))
        total += own.gradient(own.logits(cube))
        np.negative(total, out=total)
        return self.preconditioner.solve(total.reshape(point.shape))

    def _data_gradient(self, point: Singles) -> Singles:
        total = np.zeros_like(point)
        for start in range(0, len(self.data.rows), ROWS):
            block = slice(start, start + ROWS)
            changes = self.data.rows[block] @ point
            probability_changes(changes, self.data.probabilities[block], self.data.weights[block])
            total += self.data.rows[block].T @ changes
        return total

    def _line(self, step: Singles, own: OwnRecords) -> Singles:
        """How far to go along the first step, since H still counts a record that left.

        Along f = −H⁻¹g the model gᵀf·α + (fᵀHf + s·c)α²/2 has fᵀHf = −gᵀf and c = the record's own
        curvature w·(Σ p z² − (Σ p z)²), z = f·h.
        """
        moved = own.logits(step.reshape(*self._shape, len(own)))
        slope = -own.signs * np.einsum("mc,mc->m", own.residuals, moved)
        mean = np.einsum("mc,mc->m", own.probabilities, moved)
        bend = np.einsum("mc,mc->m", own.probabilities, moved * moved) - mean * mean
        curved = slope + own.signs * own.weights * bend
        return np.where(curved > 0.05 * slope, slope / np.where(curved > 0, curved, 1), 1)

    def _caution(self, point: Singles, own: OwnRecords) -> Floats:
        """Where a record's own logits move much, estimates of first order count tenfold."""
        moved = np.abs(own.logits(point.reshape(*self._shape, len(own)))).max(axis=1)
        return np.where(moved > 0.5, 10.0, 1.0)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.data.rows.shape[1], self.data.probabilities.shape[1]
