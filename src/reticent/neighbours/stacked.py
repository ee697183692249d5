"""Many neighbouring heads at once: one product with the data serves all of them.

Each head solves Σ_k w·Δp_k(D) h_k + s·(r + Δp(D)) h + N·λ·D = 0 for its difference D to the full
optimum, where the record h enters (s = 1) or leaves (s = −1) and r is its residual there. Steps
are preconditioned residuals, mixed per head with the last ones (Anderson 1965).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.neighbours.kernels import Singles, probability_changes
from reticent.neighbours.preconditioner import Curved, Preconditioner

Floats = NDArray[np.float64]

ROWS = 2048
"""Rows of data multiplied at a time; their changes stay in the cache."""
MEMORY = 3
"""Steps that Anderson mixing looks back."""
ROUNDING = 5e-6
"""What float32 leaves of a difference, relatively."""
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

    def part(self, chosen: slice | NDArray[np.bool_]) -> OwnRecords:
        """Those of some heads."""
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


class AndersonMixing:
    """Fixed-point steps of many heads, each mixed with its own last ones."""

    def __init__(self, start: Singles, step: Singles) -> None:
        self._points = [start]
        self._steps = [step]
        self._sizes = [_norms(step)]
        self._stretch = np.ones(step.shape[1])
        self.point = start + step

    @property
    def last(self) -> Singles:
        """The last plain step."""
        return self._steps[-1]

    def scale_first(self, factors: Singles) -> None:
        """Go this far along the first step instead of its full length."""
        self.point = self._points[0] + self._steps[0] * factors.astype(np.float32)

    def add(self, step: Singles) -> None:
        """Take the step found at ``point``, mixed so that the linear model's residual is least."""
        self._points = [*self._points[-MEMORY:], self.point]
        self._steps = [*self._steps[-MEMORY:], step]
        self._sizes.append(_norms(step))
        bends = [step - other for other in self._steps[:-1]]
        moves = [self.point - other for other in self._points[:-1]]
        self._stretch = np.maximum(1, _norms(moves[-1]) / np.maximum(_norms(bends[-1]), 1e-300))
        mixed = self.point + step
        for factor, bend, move in zip(_least_squares(bends, step), bends, moves, strict=True):
            mixed -= factor * (bend + move)
        self.point = mixed

    def relative_errors(self) -> Floats:
        """An estimate: three times what is left if residuals shrink as slowly as they did lately.

        Where the Hessian has changed much since the full optimum, a residual is shorter than the
        way it stands for; the last move, divided by what it did to the residual, says by how much.
        """
        sizes = np.stack(self._sizes[-3:])
        ratios = sizes[1:] / np.maximum(sizes[:-1], 1e-300)
        shrinking = np.clip(ratios.max(axis=0), 0.01, 1.0)
        size = np.maximum(_norms(self.point), 1e-300)
        return np.asarray(3 * self._stretch * sizes[-1] * shrinking / size + ROUNDING)

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Go on with these heads alone."""
        if chosen.all():
            return
        self._points = [part[:, chosen] for part in self._points]
        self._steps = [part[:, chosen] for part in self._steps]
        self._sizes = [part[chosen] for part in self._sizes]
        self._stretch = self._stretch[chosen]
        self.point = self.point[:, chosen]


def _norms(columns: Singles) -> Floats:
    return np.asarray(np.sqrt(np.einsum("pm,pm->m", columns, columns).astype(np.float64)))


def _least_squares(columns: list[Singles], target: Singles) -> list[Singles]:
    """Per head, the factors with which the columns come nearest to the target."""
    k = len(columns)
    gram = np.empty((target.shape[1], k, k))
    right = np.empty((target.shape[1], k, 1))
    for i, one in enumerate(columns):
        right[:, i, 0] = np.einsum("pm,pm->m", one, target)
        for j in range(i + 1):
            gram[:, i, j] = gram[:, j, i] = np.einsum("pm,pm->m", one, columns[j])
    ridge = 1e-7 * np.trace(gram, axis1=1, axis2=2) + 1e-300
    gram += ridge[:, None, None] * np.eye(k)
    factors = np.linalg.solve(np.nan_to_num(gram) + 1e-300 * np.eye(k), np.nan_to_num(right))
    return [factors[:, i, 0].astype(np.float32) for i in range(k)]
