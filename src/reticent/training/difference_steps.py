"""Steps in float32 towards the optima of a softmax head on parts of the rows, from one head.

The unknown of a head is D, K × d: its weights relative to the last class minus those of the
reference, in coordinates of the rows' principal axes. Its part's gradient there is
Σ w·(r + Δp(D)) zᵀ + N·λ·B(R + D), where r are residuals and R the weights of the reference. The
terms without D are summed once.

Data turned to its principal axes, and an approximate inverse of a softmax head's Hessian there.

Unknowns are R, K × d: the weights of each class minus those of the last, K = C − 1. In them the
Hessian is Σ_i A_i ⊗ h_i h_iᵀ + N·λ·(B ⊗ I), with A = diag p − ppᵀ over the first K classes and
B = I − 11ᵀ/C. On the leading axes it is formed exactly and inverted; on the others the records'
A is replaced by their mean, and axes do not mix. What is lost decides how many passes over the
data are needed, not what they converge to.

Rows sorted by which heads of a group see them: a product with them serves these heads alone.

Among eight heads in four pairs that divide the rows there are 16 patterns, each of four heads. So
nothing is computed and then masked, and the products stay large.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from reticent.arrays import Flags, Floats, Floats32, Integers
from reticent.training import anderson, logit_changes, softmax

DENSE = 640
"""Unknowns for which the Hessian is exact."""
DAMPING = 1e-6
"""Of the mean eigenvalue: rounding in float32 leaves eigenvalues of that size below zero."""
ROWS = 2048
"""Rows multiplied at a time; what is made of them stays in the cache."""


@dataclass(frozen=True, kw_only=True)
class Turned:
    """Rows in the coordinates of their principal axes, the longest first; one weight per row."""

    rows: Floats32
    weights: Floats32
    axes: Floats
    """d × d, orthonormal: turned rows are rows @ axes."""
    lengths: Floats
    """Σ w·(h·axis)², for each axis."""

    @classmethod
    def of(cls, rows: Floats, weights: Floats) -> Turned:
        """From rows as they are."""
        single, by_record = rows.astype(np.float32), weights.astype(np.float32)
        weighted = single * np.sqrt(by_record)[:, None]
        moment = weighted.T @ weighted  # one array twice: half the work
        lengths, axes = linalg.eigh(moment.astype(np.float64))
        axes = np.ascontiguousarray(axes[:, ::-1])
        return cls(
            rows=single @ axes.astype(np.float32),
            weights=by_record,
            axes=axes,
            lengths=np.maximum(lengths[::-1], 0.0),
        )


@dataclass(frozen=True, kw_only=True)
class TwoLevel:
    """(share·Hessian of the data + N·λ)⁻¹, approximately."""

    leading: int
    dense: Floats32
    classes: Floats32
    rest: Floats32

    @classmethod
    def of(
        cls, data: Turned, probabilities: Floats32, *, share: float, penalty: float, every: int = 1
    ) -> TwoLevel:
        """At these probabilities (rows × K); ``penalty`` is N·λ.

        The leading axes may make do with ``every`` second or third row.
        """
        others = probabilities.shape[1]
        leading = min(data.rows.shape[1], max(DENSE // others, 1))
        shape = np.eye(others) - 1 / (others + 1)
        max_curvature = _mean_curvature(probabilities, data.weights)
        values, classes = linalg.eigh(max_curvature, shape)  # QᵀAQ = values, QᵀBQ = I
        rest = share * np.maximum(values, 0)[:, None] * data.lengths[leading:] + penalty
        exact = _leading_hessian(
            data.rows[::every, :leading], probabilities[::every], data.weights[::every]
        ).astype(np.float64)
        exact *= share * every
        exact += penalty * np.kron(shape, np.eye(leading))
        exact += DAMPING * float(np.trace(exact)) / len(exact) * np.eye(len(exact))
        return cls(
            leading=leading,
            dense=np.linalg.inv(exact).astype(np.float32),
            classes=classes.astype(np.float32),
            rest=(1 / rest).astype(np.float32),
        )

    def solve(self, gradients: Floats32) -> Floats32:
        """The inverse times heads × K × d."""
        heads, others, _ = gradients.shape
        solution = np.empty_like(gradients)
        first = gradients[:, :, : self.leading].reshape(heads, -1) @ self.dense
        solution[:, :, : self.leading] = first.reshape(heads, others, -1)
        turned = self.classes.T @ gradients[:, :, self.leading :]
        solution[:, :, self.leading :] = self.classes @ (turned * self.rest)
        return solution


def _mean_curvature(probabilities: Floats32, weights: Floats32) -> Floats:
    """The weighted mean of diag p − ppᵀ."""
    share = (weights / max(float(weights.sum()), 1e-30)).astype(np.float64)
    p = probabilities.astype(np.float64)
    return np.asarray(np.diag(share @ p) - (p.T * share) @ p)


def _leading_hessian(rows: Floats32, probabilities: Floats32, weights: Floats32) -> Floats32:
    """Σ w·A ⊗ zzᵀ over rows z; unknowns ordered by class, then axis."""
    others, leading = probabilities.shape[1], rows.shape[1]
    hessian = np.zeros((others * leading, others * leading), np.float32)
    blocks = hessian.reshape(others, leading, others, leading)
    for start in range(0, len(rows), ROWS):
        part = slice(start, start + ROWS)
        p, z = probabilities[part], rows[part] * np.sqrt(weights[part])[:, None]
        both = (p[:, :, None] * z[:, None, :]).reshape(len(p), -1)
        hessian -= both.T @ both
        for c in range(others):
            scaled = z * np.sqrt(p[:, c])[:, None]
            blocks[c, :, c] += scaled.T @ scaled
    return hessian


HEADS = 8
"""Heads in one group, at most."""
FEWEST_ROWS = 64
"""With fewer rows per pattern on average a group is divided: products would be small."""
MOST_ROWS = 2048
"""Rows multiplied at a time."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """Neighbouring rows of the sorted order, and the heads that see all of them."""

    rows: slice
    heads: Integers


@dataclass(frozen=True, kw_only=True)
class RowPatterns:
    """The rows that some head sees, sorted, in blocks of one pattern each."""

    order: Integers
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, inside: Flags) -> RowPatterns:
        """Of a group of heads: heads × rows."""
        codes = _codes(inside)
        order = np.argsort(codes, kind="stable")
        order = order[codes[order] > 0]
        starts = np.flatnonzero(np.diff(codes[order], prepend=0))
        stops = np.append(starts[1:], len(order))
        blocks = [
            Block(
                rows=slice(int(first), int(min(first + MOST_ROWS, stop))),
                heads=np.flatnonzero(inside[:, order[start]]),
            )
            for start, stop in zip(starts, stops, strict=True)
            for first in range(start, stop, MOST_ROWS)
        ]
        return cls(order=order, blocks=tuple(blocks))


def groups(inside: Flags) -> Iterator[slice]:
    """Heads in order, at most HEADS at a time, fewer where rows would be scattered."""
    start = 0
    while start < len(inside):
        size = min(HEADS, len(inside) - start)
        while size > 1 and _scattered(inside[start : start + size]):
            size = (size + 1) // 2
        yield slice(start, start + size)
        start += size


def _scattered(inside: Flags) -> bool:
    patterns = len(np.unique(_codes(inside)))
    return patterns > 2 and patterns * FEWEST_ROWS > inside.shape[1]


def _codes(inside: Flags) -> Integers:
    """Which heads see each row, as the bits of a number."""
    return np.asarray((1 << np.arange(len(inside), dtype=np.int64)) @ inside)


MEMORY = 6
"""Steps that Anderson mixing looks back."""
MOST_PASSES = 30
"""Passes over the rows after which a head is left to Newton's method."""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """The head that all differences are taken to, and what it answers to the rows."""

    objective: softmax.SoftmaxObjective
    data: Turned
    """Of rows divided by the radius, so that no scale leaves the range of float32."""
    point: Floats
    probabilities: Floats32
    residuals: Floats32

    @classmethod
    def at(cls, objective: softmax.SoftmaxObjective, data: Turned, point: Floats) -> Reference:
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

    def coordinates(self, difference: Floats32) -> Floats:
        """V of a head at this difference."""
        back = np.linalg.solve(self._relative, difference.astype(np.float64) @ self.data.axes.T)
        return self.point + back / self.objective.radius

    def preconditioner(self, *, share: float, records: float, every: int = 1) -> TwoLevel:
        """For heads that see this share of the rows, with this normaliser N."""
        return TwoLevel.of(
            self.data, self.probabilities, share=share, penalty=self.penalty(records), every=every
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

    def solve(self, preconditioner: TwoLevel, goals: Floats) -> tuple[Floats32, Floats]:
        """Differences (heads × K × d) and the norms of the gradients of J there, as computed."""
        best = np.full(len(goals), np.inf)
        answer = np.zeros_like(self._constant)
        first = _columns(-preconditioner.solve(self._constant))
        mixing = anderson.AndersonMixing(np.zeros_like(first), first, memory=MEMORY)
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

    def _gradient(self, point: Floats32) -> Floats32:
        """N times the gradient of each head's J."""
        total = self._penalties[:, None, None] * _centred(point) + self._constant
        others, features = point.shape[1:]
        for block in self._patterns.blocks:
            rows = self._rows[block.rows]
            moved = point[block.heads].reshape(-1, features) @ rows.T
            changes = moved.reshape(-1, others, len(rows))
            logit_changes.changes_by_head(
                changes, self._probabilities, self._weights, block.rows.start
            )
            total[block.heads] += (moved @ rows).reshape(-1, others, features)
        return np.asarray(total)

    def _gradient_at_reference(self) -> Floats32:
        reference = self._reference
        residuals = reference.residuals[self._patterns.order]
        centred = _centred(reference.relative)
        sums = np.array([reference.penalty(n) for n in self._records])[:, None, None] * centred
        for block in self._patterns.blocks:
            # The same for all of these heads; blocks are summed in float64.
            sums[block.heads] += residuals[block.rows].T @ self._rows[block.rows]
        return np.asarray(sums, dtype=np.float32)

    def _sizes(self, gradient: Floats32) -> Floats:
        """Norms in coordinates V, whose gradient is Tᵀ times this one; TTᵀ = I + 11ᵀ."""
        squares = np.einsum("mkd,mkd->m", gradient, gradient)
        class_sum = gradient.sum(axis=1)
        squares += np.einsum("md,md->m", class_sum, class_sum)
        scale = self._reference.objective.radius / self._records
        return np.asarray(np.sqrt(squares) * scale)


def _centred(point: NDArray[np.floating]) -> NDArray[np.floating]:
    """B times the classes: minus their mean, the last class of weight 0 counted."""
    classes = point.shape[-2] + 1
    return np.asarray(point - point.sum(axis=-2, keepdims=True) / point.dtype.type(classes))


def _columns(stack: Floats32) -> Floats32:
    """One column for each head; a view."""
    return stack.reshape(len(stack), -1).T
