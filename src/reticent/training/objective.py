"""A regularised linear loss over certified coordinates, with a proven bound on its rounding.

J(V) = (1/N)·Σ loss(V h, target) + (λ/2)‖V − centre‖². V is optimised, certified and released; the
centre is 0 but for objective perturbation, whose linear term ⟨b, V⟩/N is a centre of −b/(λN).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reticent.arrays import Floats
from reticent.validation import InputError

UNIT = 2.0**-53
EXP_ERROR = 16 * UNIT
"""Relative error granted to exp; numpy's is below 4 units in the last place."""
ROOM = 2
"""A data set has at most this many times N records; the tolerance is chosen for that many."""
SMALLEST = 1e-140
"""The smallest tolerance: its square is far from the smallest float64."""
BLOCK = 4096
"""Rows summed at a time: the rounding of one sum grows with a block, not with the data."""
KEPT = 2**26
"""Bytes of products with all rows that are kept; larger ones are computed anew when asked for."""


@dataclass(frozen=True, kw_only=True)
class LinearObjective(ABC):
    """J with its data: rows h with ‖h‖ ≤ ``radius``, N = ``records``, λ = ``penalty``."""

    rows: Floats
    penalty: float
    records: int
    radius: float
    centre: Floats | None = None
    """What the penalty pulls towards; 0 where nothing is said."""
    farthest_centre: float = 0.0
    """A public bound on ‖centre‖, for the tolerance that every centre within it can reach."""

    @cached_property
    def origin(self) -> Floats:
        """The centre, or 0: the minimum where there is no record, and where a search starts."""
        return np.zeros(self.shape) if self.centre is None else self.centre

    @cached_property
    def origin_norm(self) -> float:
        """‖centre‖ of the penalty, rounded up; 0 where there is none."""
        return 0.0 if self.centre is None else norm(self.centre) * 1.001

    def pull(self, v: Floats) -> Floats:
        """λ·(V − centre), the gradient of the penalty."""
        return self.penalty * (v if self.centre is None else v - self.centre)

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The shape of V, the coordinates that are minimised over."""

    @property
    def largest_weight(self) -> float:
        """What a record's loss is multiplied by, at most."""
        return 1.0

    @property
    @abstractmethod
    def max_residual_norm(self) -> float:
        """The largest norm of a residual: a record's gradient has norm at most steepness·R."""

    @property
    @abstractmethod
    def max_curvature(self) -> float:
        """The largest second derivative of a record's loss in its logits."""

    @property
    @abstractmethod
    def loss_at_zero(self) -> float:
        """The largest loss of a record at V = 0."""

    @abstractmethod
    def residual_error(self, reach: float) -> float:
        """How far a computed residual is from the exact one in norm, where R·‖V‖ ≤ ``reach``."""

    @abstractmethod
    def answers(self, outputs: Floats) -> Floats:
        """What the head answers where V h is ``outputs``, one row per record."""

    @abstractmethod
    def residual(self, block: slice, probabilities: Floats) -> Floats:
        """The derivative of each record's loss in V h; one row each."""

    @abstractmethod
    def curvature_product(self, block: slice, probabilities: Floats, change: Floats) -> Floats:
        """How the residuals move when V h moves by ``change``."""

    @abstractmethod
    def swing(self, changes: Floats) -> Floats:
        """β of each record: |third derivative| ≤ β·second, as V h moves along its row of changes.

        It makes the loss generalised self-concordant along a line (docs/theory.md D.2).
        """

    @abstractmethod
    def mean_spread(self, probabilities: Sequence[Floats]) -> float:
        """The average eigenvalue of the second derivative in the logits."""

    def probabilities(self, block: slice, v: Floats) -> Floats:
        """What the head answers to these rows."""
        return self.answers(self.rows[block] @ v.T)

    def importance(self, block: slice) -> Floats:
        """A public weight for each record, as far as its loss has one."""
        return np.ones(len(range(len(self.rows))[block]))

    def blocks(self) -> list[slice]:
        """The rows in order, a block at a time."""
        return [slice(start, start + BLOCK) for start in range(0, len(self.rows), BLOCK)]

    def gradient(self, v: Floats) -> Floats:
        """The gradient ∇J at the coordinates V."""
        residuals = (self.residual(block, self.probabilities(block, v)) for block in self.blocks())
        return self.averaged(residuals) + self.pull(v)

    def averaged(self, by_record: Iterable[Floats]) -> Floats:
        """(1/N)·Σ of each record's row times its h; the rows come a block at a time."""
        total = np.zeros(self.shape)
        for block, of_block in zip(self.blocks(), by_record, strict=True):
            total += of_block.T @ self.rows[block]
        return total / self.records

    def curvature(self, v: Floats) -> "Curvature":
        """The Hessian at V, ready to be multiplied."""
        return Curvature(self, v, self.products(v))

    def products(self, v: Floats) -> "Products":
        """V h of every record, a block at a time."""
        return Products(self, v)

    def second_moment(self) -> Floats:
        """(1/N)·Σ w·h hᵀ: with a scalar in front, a rough Hessian of each row of V."""
        total = np.zeros((self.shape[1], self.shape[1]))
        for block in self.blocks():
            rows = self.rows[block]
            total += (rows * self.importance(block)[:, None]).T @ rows
        return total / self.records

    def smoothness(self, share: float | None = None) -> float:
        """L, a Lipschitz constant of the gradient: (n/N)·max_curvature·R² + λ; n/N may be given."""
        share = len(self.rows) / self.records if share is None else share
        return share * self.max_curvature * self.radius * self.radius * 1.001 + self.penalty

    def rounding(self, v: Floats) -> float:
        """η, a bound on ‖computed gradient − gradient‖ at V (docs/theory.md D.3)."""
        size = norm(v) * 1.001 + 2 * self.origin_norm
        return self.rounding_bound(size=size, rows=len(self.rows))

    def check_range(self, tolerance: float) -> None:
        """Refuse public numbers with which the search would leave the range of float64.

        Within it no norm or product that is compared overflows, and what underflows is far below
        every bound on rounding. No record is looked at.
        """
        steepest, squared = self.max_residual_norm * self.radius, tolerance / self.smoothness(ROOM)
        squared *= tolerance
        enough = tolerance >= SMALLEST and squared >= SMALLEST * SMALLEST
        if not (enough and tolerance < math.inf and steepest <= 1 / SMALLEST):
            raise InputError(
                "penalty, bound, class_weight and tolerance must keep τ >= 1e-140, τ²/L >= 1e-280 "
                f"and R·s <= 1e140 for float64, got {tolerance:.3g}, {squared:.3g}, {steepest:.3g}"
            )

    def worst_rounding(self) -> float:
        """The same at any optimum of any data set of at most ROOM·N records, in public numbers.

        λ‖V − centre‖ ≤ (n/N)·steepness·R because the gradient is 0 there, and (λ/2)‖V − centre‖² ≤
        (n/N)·(the loss at the centre) because J is no larger than there.
        """
        steepest = self.max_residual_norm * self.radius
        loss = self.loss_at_zero + steepest * self.farthest_centre
        size = min(ROOM * steepest / self.penalty, math.sqrt(2 * ROOM * loss / self.penalty))
        size = 1.01 * size + 4 * self.farthest_centre
        return self.rounding_bound(size=size, rows=ROOM * self.records)

    def rounding_bound(self, *, size: float, rows: int) -> float:
        """η for this many rows and coordinates of norm ``size`` (docs/theory.md D.3)."""
        share = rows / self.records * self.radius
        max_residual_norm = (
            1.07 * self.max_residual_norm
        )  # computed residuals may be a little longer
        summing = max_residual_norm * gamma(min(BLOCK, rows) + rows // BLOCK + 1)
        gradient = share * max_residual_norm + self.penalty * size
        residual = self.residual_error(self.radius * size)
        return 1.1 * (share * (residual + summing) + 4 * UNIT * gradient)


class Products:
    """V h of every record, block by block, as often as asked: kept where they are few.

    One entry for each record and output: at 200,000 records and 100 classes 160 MB. Above ``KEPT``
    each look multiplies anew, to the same floats.
    """

    def __init__(self, objective: LinearObjective, matrix: Floats) -> None:
        self._objective = objective
        self._matrix = matrix
        size = 8 * len(objective.rows) * len(matrix)
        self._kept = list(self._blocks()) if size <= KEPT else None

    def __iter__(self) -> Iterator[Floats]:
        return self._blocks() if self._kept is None else iter(self._kept)

    def _blocks(self) -> Iterator[Floats]:
        for block in self._objective.blocks():
            yield self._objective.rows[block] @ self._matrix.T


@dataclass(frozen=True)
class Curvature:
    """J around one point V: its gradient and products of its Hessian with directions."""

    objective: LinearObjective
    point: Floats
    outputs: Products
    """V h of every record, a block at a time."""

    @cached_property
    def probabilities(self) -> list[Floats]:
        """What the head at V answers, a block at a time."""
        return [self.objective.answers(outputs) for outputs in self.outputs]

    def mean_spread(self) -> float:
        """The average eigenvalue of the second derivative in the logits."""
        return self.objective.mean_spread(self.probabilities)

    @cached_property
    def gradient(self) -> Floats:
        """∇J at V, the same floats as ``LinearObjective.gradient``."""
        pairs = zip(self.objective.blocks(), self.probabilities, strict=True)
        residuals = (self.objective.residual(block, p) for block, p in pairs)
        return self.objective.averaged(residuals) + self.objective.pull(self.point)

    def times(self, direction: Floats) -> Floats:
        """The Hessian times a direction, H·direction."""
        pairs = zip(self.objective.blocks(), self.probabilities, strict=True)
        moved = (self._bent(block, p, direction) for block, p in pairs)
        return self.objective.averaged(moved) + self.objective.penalty * direction

    def matrix(self) -> Floats:
        """The part of H that the records make, in full; rows of V one after another."""
        outputs, features = self.objective.shape
        whole = np.zeros((outputs, features, outputs, features))
        for block, p in zip(self.objective.blocks(), self.probabilities, strict=True):
            rows = self.objective.rows[block]
            for k, unit in enumerate(np.eye(outputs)):
                curvature_product = self.objective.curvature_product(
                    block, p, np.tile(unit, (len(rows), 1))
                )[:, : k + 1]
                spread = (curvature_product[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
                whole[: k + 1, :, k] += (spread.T @ rows).reshape(k + 1, features, features)
        for k in range(outputs):  # symmetric: the other half is known
            whole[k, :, :k] = whole[:k, :, k].transpose(2, 0, 1)
        size = outputs * features
        return whole.reshape(size, size) / self.objective.records

    def _bent(self, block: slice, probabilities: Floats, direction: Floats) -> Floats:
        change = self.objective.rows[block] @ direction.T
        return self.objective.curvature_product(block, probabilities, change)


def norm(entries: Floats) -> float:
    """‖entries‖ as np.linalg.norm computes it, but squares neither overflow nor underflow."""
    largest = float(np.abs(entries).max(initial=0.0))
    if not 0 < largest < math.inf:
        return largest
    scale = math.ldexp(1.0, math.frexp(largest)[1] - 1)
    return float(np.linalg.norm(entries / scale)) * scale


def gamma(operations: int) -> float:
    """γ_k = kυ/(1 − kυ) (Higham 2002, Lemma 3.1)."""
    return operations * UNIT / (1 - operations * UNIT)
