"""A regularised linear loss over certified coordinates, with a proven bound on its rounding.

J(V) = (1/N)·Σ loss(V h, target) + (λ/2)‖V‖². V is what is optimised, certified and released.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

UNIT = 2.0**-53
EXP_ERROR = 16 * UNIT
"""Relative error granted to exp; numpy's is below 4 units in the last place."""
ROOM = 2
"""A data set has at most this many times N records; the tolerance is chosen for that many."""
BLOCK = 4096
"""Rows summed at a time: the rounding of one sum grows with a block, not with the data."""


@dataclass(frozen=True, kw_only=True)
class LinearObjective(ABC):
    """J with its data: rows h with ‖h‖ ≤ ``radius``, N = ``records``, λ = ``penalty``."""

    rows: Floats
    penalty: float
    records: int
    radius: float

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """That of V."""

    @property
    @abstractmethod
    def steepness(self) -> float:
        """The largest norm of a residual: a record's gradient has norm at most steepness·R."""

    @property
    @abstractmethod
    def bend(self) -> float:
        """The largest second derivative of a record's loss in its logits."""

    @property
    @abstractmethod
    def idle_loss(self) -> float:
        """The largest loss of a record at V = 0."""

    @abstractmethod
    def residual_error(self, reach: float) -> float:
        """How far a computed residual is from the exact one in norm, where R·‖V‖ ≤ ``reach``."""

    @abstractmethod
    def probabilities(self, block: slice, v: Floats) -> Floats:
        """What the head answers to these rows."""

    @abstractmethod
    def residual(self, block: slice, probabilities: Floats) -> Floats:
        """The derivative of each record's loss in V h; one row each."""

    @abstractmethod
    def bent(self, block: slice, probabilities: Floats, change: Floats) -> Floats:
        """How the residuals move when V h moves by ``change``."""

    @abstractmethod
    def mean_spread(self, probabilities: Sequence[Floats]) -> float:
        """The average eigenvalue of the second derivative in the logits."""

    def importance(self, block: slice) -> Floats:
        """A public weight for each record, as far as its loss has one."""
        return np.ones(len(self.rows[block]))

    def blocks(self) -> list[slice]:
        """The rows in order, a block at a time."""
        return [slice(start, start + BLOCK) for start in range(0, len(self.rows), BLOCK)]

    def gradient(self, v: Floats) -> Floats:
        """∇J at V."""
        total = np.zeros(self.shape)
        for block in self.blocks():
            total += self.residual(block, self.probabilities(block, v)).T @ self.rows[block]
        return total / self.records + self.penalty * v

    def curvature(self, v: Floats) -> Curvature:
        """The Hessian at V, ready to be multiplied."""
        return Curvature(self, [self.probabilities(block, v) for block in self.blocks()])

    def second_moment(self) -> Floats:
        """(1/N)·Σ w·h hᵀ: with a scalar in front, a rough Hessian of each row of V."""
        total = np.zeros((self.shape[1], self.shape[1]))
        for block in self.blocks():
            total += (self.rows[block] * self.importance(block)[:, None]).T @ self.rows[block]
        return total / self.records

    def smoothness(self) -> float:
        """A Lipschitz constant of the gradient: (n/N)·bend·R² + λ."""
        share = len(self.rows) / self.records
        return share * self.bend * self.radius * self.radius * 1.001 + self.penalty

    def rounding(self, v: Floats) -> float:
        """η, a bound on ‖computed gradient − gradient‖ at V (docs/theory.md D.3)."""
        return self.rounding_bound(size=float(np.linalg.norm(v)) * 1.001, rows=len(self.rows))

    def worst_rounding(self) -> float:
        """The same at any optimum of any data set of at most ROOM·N records, in public numbers.

        λ‖V‖ ≤ (n/N)·steepness·R because the gradient is 0 there, and (λ/2)‖V‖² ≤ (n/N)·idle loss
        because J is no larger than at V = 0.
        """
        size = min(
            ROOM * self.steepness * self.radius / self.penalty,
            math.sqrt(2 * ROOM * self.idle_loss / self.penalty),
        )
        return self.rounding_bound(size=1.01 * size, rows=ROOM * self.records)

    def rounding_bound(self, *, size: float, rows: int) -> float:
        """η for this many rows and coordinates of norm ``size`` (docs/theory.md D.3)."""
        share = rows / self.records * self.radius
        steepness = 1.07 * self.steepness  # computed residuals may be a little longer
        summing = steepness * gamma(min(BLOCK, rows) + rows // BLOCK + 1)
        gradient = share * steepness + self.penalty * size
        residual = self.residual_error(self.radius * size)
        return 1.1 * (share * (residual + summing) + 4 * UNIT * gradient)


@dataclass(frozen=True)
class Curvature:
    """Hessian of J at one point: products with a direction."""

    objective: LinearObjective
    probabilities: Sequence[Floats]

    def mean_spread(self) -> float:
        """The average eigenvalue of the second derivative in the logits."""
        return self.objective.mean_spread(self.probabilities)

    def times(self, direction: Floats) -> Floats:
        """H·direction."""
        total = np.zeros(self.objective.shape)
        for block, p in zip(self.objective.blocks(), self.probabilities, strict=True):
            rows = self.objective.rows[block]
            total += self.objective.bent(block, p, rows @ direction.T).T @ rows
        return total / self.objective.records + self.objective.penalty * direction


def gamma(operations: int) -> float:
    """γ_k = kυ/(1 − kυ) (Higham 2002, Lemma 3.1)."""
    return operations * UNIT / (1 - operations * UNIT)
