"""Steps in float32 towards the optima of a softmax head on parts of the rows, from one head.

The unknown of a head is D, K × d: its weights relative to the last class minus those of the
reference, in coordinates of the rows' principal axes. Its part's gradient there is
Σ w·(r + Δp(D)) zᵀ + N·λ·B(R + D), where r are residuals and R the weights of the reference. The
terms without D are summed once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.arrays import Flags, Floats
from reticent.training.anderson import AndersonMixing
from reticent.training.logit_changes import changes_by_head
from reticent.training.row_patterns import RowPatterns
from reticent.training.softmax import SoftmaxObjective
from reticent.training.two_level import Turned, TwoLevel

Singles = NDArray[np.float32]

MEMORY = 6
"""Steps that Anderson mixing looks back."""
MOST_PASSES = 30
"""Passes over the rows after which a head is left to Newton's method."""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """The head that all differences are taken to, and what it answers to the rows."""

    objective: SoftmaxObjective
    data: Turned
    """Of rows divided by the radius, so that no scale leaves the range of float32."""
    point: Floats
    probabilities: Singles
    residuals: Singles

    @classmethod
    def at(cls, objective: SoftmaxObjective, data: Turned, point: Floats) -> Reference:
        """The head with coordinates V = ``point``."""
        p = np.concatenate([objective.probabilities(b, point) for b in objective.blocks()])
        residuals = p.copy()
        residuals[np.arange(len(p)), objective.labels] -= 1
        residuals *= objective.weights[objective.labels][:, None]
        return cls(
            objective=objective,
            data=data,
            point=point,
            probabilities=np.ascontiguousarray(p[:, :-1], np.float32),
            residuals=np.ascontiguousarray(residuals[:, :-1], np.float32),
        )

    @property
    def relative(self) -> Floats:
        """R, in units and axes of the turned rows."""
        turned: Floats = self._relative @ self.point @ self.data.axes
        return turned * self.objective.radius

    def coordinates(self, difference: Singles) -> Floats:
        """V of a head at this difference."""
        back = np.linalg.solve(self._relative, difference.astype(np.float64) @ self.data.axes.T)
        moved: Floats = self.point + back / self.objective.radius
        return moved

    def preconditioner(self, *, share: float, records: float, every: int = 1) -> TwoLevel:
        """For heads that see this share of the rows, with this normaliser N."""
        return TwoLevel.of(
            self.data,
            self.probabilities,
            share=share,
            penalty=self.penalty(records),
            every=every,
        )

    def penalty(self, records: float) -> float:
        """N·λ, in units of the turned rows."""
        return records * self.objective.penalty / self.objective.radius**2

    @property
    def _relative(self) -> Floats:
        """T: R = T V."""
        basis = self.objective.basis
        return np.asarray(basis[:-1] - basis[-1:])


class DifferenceSteps:
    """A group of heads, each on its part of the rows."""

    def __init__(self, reference: Reference, inside: Flags, records: Floats) -> None:
        self._reference = reference
        self._records = records
        self._patterns = RowPatterns.of(inside)
        order = self._patterns.order
        self._rows = reference.data.rows[order]
        self._weights = reference.data.weights[order]
        self._probabilities = np.ascontiguousarray(reference.probabilities[order].T)
        self._penalties = np.array([reference.penalty(n) for n in records], np.float32)
        self._constant = self._gradient_at_reference()

    def solve(self, preconditioner: TwoLevel, goals: Floats) -> tuple[Singles, Floats]:
        """Differences (heads × K × d) and the norms of the gradients of J there, as computed."""
        best = np.full(len(goals), np.inf)
        answer = np.zeros_like(self._constant)
        first = _columns(-preconditioner.solve(self._constant))
        mixing = AndersonMixing(np.zeros_like(first), first, memory=MEMORY)
        for _ in range(MOST_PASSES):
            point = np.ascontiguousarray(mixing.point.T).reshape(answer.shape)
            gradient = self._gradient(point)
            sizes = self._sizes(gradient)
            better = sizes < best
            answer[better], best[better] = point[better], sizes[better]
            if (best <= goals).all() or not np.isfinite(sizes).any():
                break
            mixing.add(_columns(-preconditioner.solve(gradient)))
        return answer, best

    def _gradient(self, point: Singles) -> Singles:
        """N times the gradient of each head's J."""
        total = self._penalties[:, None, None] * _centred(point) + self._constant
        others, features = point.shape[1:]
        for block in self._patterns.blocks:
            rows = self._rows[block.rows]
            moved = point[block.heads].reshape(-1, features) @ rows.T
            changes = moved.reshape(-1, others, len(rows))
            changes_by_head(changes, self._probabilities, self._weights, block.rows.start)
            total[block.heads] += (moved @ rows).reshape(-1, others, features)
        return np.asarray(total)

    def _gradient_at_reference(self) -> Singles:
        reference = self._reference
        residuals = reference.residuals[self._patterns.order]
        centred = _centred(reference.relative)
        sums = np.array([reference.penalty(n) for n in self._records])[:, None, None] * centred
        for block in self._patterns.blocks:
            # The same for all of these heads; blocks are summed in float64.
            sums[block.heads] += residuals[block.rows].T @ self._rows[block.rows]
        return np.asarray(sums, dtype=np.float32)

    def _sizes(self, gradient: Singles) -> Floats:
        """Norms in coordinates V, whose gradient is Tᵀ times this one; TTᵀ = I + 11ᵀ."""
        squares = np.einsum("mkd,mkd->m", gradient, gradient)
        together = gradient.sum(axis=1)
        squares += np.einsum("md,md->m", together, together)
        scale = self._reference.objective.radius / self._records
        return np.asarray(np.sqrt(squares) * scale)


def _centred(point: NDArray[np.floating]) -> NDArray[np.floating]:
    """B times the classes: minus their mean, the last class of weight 0 counted."""
    classes = point.shape[-2] + 1
    return np.asarray(point - point.sum(axis=-2, keepdims=True) / point.dtype.type(classes))


def _columns(stack: Singles) -> Singles:
    """One column for each head; a view."""
    return stack.reshape(len(stack), -1).T
