"""Approximate inverses of a softmax head's Hessian, factored once and used for every neighbour.

The unknown is R, d × K: the weights of each class minus those of the last, K = C − 1. In it the
Hessian is Σ_k A_k ⊗ h_k h_kᵀ + N·λ·(I ⊗ B), with A = diag p − ppᵀ over the first K classes and
B = I − 11ᵀ/C, since ‖W‖² = tr(R B Rᵀ) for zero column sums. It decides how many passes over the
data are needed, not what they converge to.

Many neighbouring heads at once: one product with the data serves all of them.

Each head solves Σ_k w·Δp_k(D) h_k + s·(r + Δp(D)) h + N·λ·D = 0 for its difference D to the full
optimum, where the record h enters (s = 1) or leaves (s = −1) and r is its residual there. Steps
are preconditioned residuals, mixed per head with the last ones (Anderson 1965).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import linalg

from reticent.arrays import Flags, Floats, Floats32, Integers
from reticent.neighbours.differences import probability_changes
from reticent.randomness import seeded
from reticent.training.anderson import AndersonMixing

EXACT = 1200
"""Unknowns up to which the Hessian is exact for any number of heads: each record has its own A."""
SAVED_PASSES = 1.5
"""Passes that a head is spared by the exact Hessian, of about three; deliberately low."""
DENSE = 8000
"""Unknowns up to which the Hessian is formed and factored; above, Kronecker eigenvectors."""
GROUPS = 64
"""Groups of similar probabilities; a group shares one A."""
BLOCK = 512
"""Unknowns in one block of a triangular solve."""


class Preconditioner(Protocol):
    """Divides by an approximate Hessian."""

    def solve(self, gradients: Floats32) -> Floats32:
        """H⁻¹ times the columns; the argument is overwritten."""


@dataclass(frozen=True, kw_only=True)
class Curved:
    """What a Hessian is made of: rows h, p of the first K classes, weights and N·λ."""

    rows: Floats32
    probabilities: Floats32
    weights: Floats32
    penalty: float

    @property
    def unknowns(self) -> int:
        """d·K, the number of entries of a head's coordinates."""
        return int(self.rows.shape[1] * self.probabilities.shape[1])


def preconditioner_of(curved: Curved, *, heads: int) -> Preconditioner:
    """The best preconditioner that is worth its cost for this many heads."""
    if curved.unknowns > DENSE:
        return KroneckerEigen.of(curved)
    hessian = exact_hessian if exact_pays(curved, heads=heads) else clustered_hessian
    return BlockedCholesky.of(
        lambda extra: _penalised(hessian(curved), curved, extra), curved.probabilities.shape[1]
    )


def exact_pays(curved: Curved, *, heads: int) -> bool:
    """Whether forming each block from all records costs less than the passes it saves.

    With it most heads need one pass over the data, with groups about three.
    """
    records, features = curved.rows.shape
    blocks = len(_pairs(curved))
    saved = SAVED_PASSES * curved.unknowns * (4 * records + 2 * curved.unknowns)
    return curved.unknowns <= EXACT or heads * saved > blocks * records * features**2


def penalty_shape(classes: int) -> Floats:
    """B = I − 11ᵀ/C, K × K."""
    return np.eye(classes - 1) - 1 / classes


def exact_hessian(curved: Curved) -> Floats32:
    """Σ_k A_k ⊗ h_k h_kᵀ, unknowns ordered by class, then feature; the upper blocks alone."""
    hessian, blocks = _empty_blocks(curved)
    for b, a in _pairs(curved):
        blocks[a, :, b] = _weighted_moment(curved.rows, _curvature(curved, a, b))
    return hessian


def clustered_hessian(curved: Curved, *, groups: int = GROUPS) -> Floats32:
    """Σ_g A_g ⊗ S_g over groups of similar probabilities, S_g the second moment of group g."""
    group = grouped(curved.probabilities, groups)
    members = [np.flatnonzero(group == g) for g in range(groups)]
    sizes = np.array([max(float(curved.weights[m].sum()), 1e-30) for m in members])
    moments = np.stack(
        [_weighted_moment(curved.rows[m], curved.weights[m]).ravel() for m in members]
    )
    hessian, blocks = _empty_blocks(curved)
    for b, a in _pairs(curved):
        curvature = np.bincount(group, weights=_curvature(curved, a, b), minlength=groups) / sizes
        block = curvature.astype(np.float32) @ moments
        blocks[a, :, b] = block.reshape(2 * (curved.rows.shape[1],))
    return hessian


def _curvature(curved: Curved, a: int, b: int) -> Floats32:
    p = curved.probabilities
    return np.asarray(curved.weights * p[:, a] * (np.float32(a == b) - p[:, b]))


def _weighted_moment(rows: Floats32, weights: Floats32) -> Floats32:
    """Σ w·h hᵀ for weights of one sign."""
    scaled = rows * np.sqrt(np.abs(weights))[:, None]
    moment = scaled.T @ scaled  # one array twice: half the work
    return np.asarray(-moment if weights.size and weights[0] < 0 else moment)


def _pairs(curved: Curved) -> list[tuple[int, int]]:
    classes = curved.probabilities.shape[1]
    return [(b, a) for b in range(classes) for a in range(b + 1)]


def _empty_blocks(curved: Curved) -> tuple[Floats32, Floats32]:
    classes, features = curved.probabilities.shape[1], curved.rows.shape[1]
    hessian = np.zeros((curved.unknowns, curved.unknowns), np.float32)
    return hessian, hessian.reshape(classes, features, classes, features)


def mean_curvature(probabilities: Floats32, weights: Floats32 | None = None) -> Floats32:
    """The mean of diag p − ppᵀ."""
    weights = np.ones(len(probabilities), np.float32) if weights is None else weights
    share = weights / max(float(weights.sum()), 1e-30)
    mean, moment = share @ probabilities, (probabilities.T * share) @ probabilities
    return np.asarray(np.diag(mean) - moment, dtype=np.float32)


def grouped(points: Floats32, groups: int, *, rounds: int = 6) -> Integers:
    """Which of at most ``groups`` centres each point is nearest to (k-means)."""
    rng = seeded("groups of probabilities")
    centres = points[rng.choice(len(points), groups, replace=len(points) < groups)].copy()
    nearest = _nearest(points, centres)
    for _ in range(rounds):
        counts = np.bincount(nearest, minlength=groups)
        for c in range(points.shape[1]):
            sums = np.bincount(nearest, weights=points[:, c], minlength=groups)
            centres[counts > 0, c] = (sums / np.maximum(counts, 1))[counts > 0]
        nearest = _nearest(points, centres)
    return nearest


def _nearest(points: Floats32, centres: Floats32) -> Integers:
    distance = points @ (-2 * centres.T)
    distance += np.einsum("gc,gc->g", centres, centres)
    return np.asarray(distance.argmin(axis=1), dtype=np.int64)


def _penalised(hessian: Floats32, curved: Curved, extra: float) -> Floats32:
    classes = curved.probabilities.shape[1] + 1
    features = curved.rows.shape[1]
    shape = (classes - 1, features, classes - 1, features)
    feature = np.arange(features)
    penalty = extra * curved.penalty * penalty_shape(classes)
    hessian.reshape(shape)[:, feature, :, feature] += penalty.astype(np.float32)
    return hessian


@dataclass(frozen=True)
class BlockedCholesky:
    """L Lᵀ = H; triangular solves by products of blocks, which leave other threads running."""

    factor: Floats32
    inverses: tuple[Floats32, ...]
    classes: int

    @classmethod
    def of(cls, hessian: Callable[[float], Floats32], classes: int) -> BlockedCholesky:
        """Factor, with a larger penalty where float32 does not see H as positive definite."""
        extra = 1.0
        while True:
            try:
                # The transpose of a symmetric matrix in C order is itself in Fortran's: no copy.
                factor = linalg.cholesky(
                    hessian(extra).T, lower=True, overwrite_a=True, check_finite=False
                )
                break
            except linalg.LinAlgError:
                extra *= 10
        inverses = tuple(
            linalg.solve_triangular(
                factor[s : s + BLOCK, s : s + BLOCK],
                np.eye(min(BLOCK, len(factor) - s), dtype=np.float32),
                lower=True,
                check_finite=False,
            )
            for s in range(0, len(factor), BLOCK)
        )
        return cls(factor, inverses, classes)

    def solve(self, gradients: Floats32) -> Floats32:
        """L⁻ᵀ L⁻¹ times the columns."""
        size, heads = gradients.shape
        by_class = gradients.reshape(-1, self.classes, heads).transpose(1, 0, 2)
        x = np.ascontiguousarray(by_class).reshape(size, heads)
        for number, inverse in enumerate(self.inverses):
            start, end = number * BLOCK, min((number + 1) * BLOCK, size)
            if start:
                x[start:end] -= self.factor[start:end, :start] @ x[:start]
            x[start:end] = inverse @ x[start:end]
        for number in reversed(range(len(self.inverses))):
            start, end = number * BLOCK, min((number + 1) * BLOCK, size)
            if end < size:
                x[start:end] -= self.factor[end:, start:end].T @ x[end:]
            x[start:end] = self.inverses[number].T @ x[start:end]
        by_feature = x.reshape(self.classes, -1, heads).transpose(1, 0, 2)
        return np.ascontiguousarray(by_feature).reshape(size, heads)


@dataclass(frozen=True)
class KroneckerEigen:
    """Ā ⊗ S + N·λ·(I ⊗ B) inverted by eigenvectors: S = E s Eᵀ, QᵀĀQ = a, QᵀBQ = I."""

    features: Floats32
    classes: Floats32
    inverse: Floats32

    @classmethod
    def of(cls, curved: Curved) -> KroneckerEigen:
        """One mean A for all records."""
        moment = (curved.rows * curved.weights[:, None]).T @ curved.rows
        spread, features = linalg.eigh(moment.astype(np.float64))
        curvature = mean_curvature(curved.probabilities, curved.weights).astype(np.float64)
        values, classes = linalg.eigh(curvature, penalty_shape(len(curvature) + 1))
        both = np.maximum(spread, 0)[:, None] * np.maximum(values, 0) + curved.penalty
        return cls(*(part.astype(np.float32) for part in (features, classes, 1 / both)))

    def solve(self, gradients: Floats32) -> Floats32:
        """(E ⊗ Q)(a·s + N·λ)⁻¹(E ⊗ Q)ᵀ times the columns."""
        features, classes = self.inverse.shape
        heads = gradients.shape[1]
        turned = self.features.T @ gradients.reshape(features, classes * heads)
        turned = np.matmul(self.classes.T, turned.reshape(features, classes, heads))
        turned *= self.inverse[:, :, None]
        turned = np.matmul(self.classes, turned)
        turned = self.features @ turned.reshape(features, classes * heads)
        return np.asarray(turned.reshape(gradients.shape))


ROWS = 2048
"""Rows of data multiplied at a time; their changes stay in the cache."""
MOST_PASSES = 40
"""Passes over the data after which a head is handed to Newton's method."""


@dataclass(frozen=True, kw_only=True)
class OwnRecords:
    """The record that each head gains (sign 1) or loses (sign −1), at the full optimum."""

    rows: Floats32
    probabilities: Floats32
    residuals: Floats32
    weights: Floats32
    signs: Floats32

    def __len__(self) -> int:
        return len(self.signs)

    def of_records(self, chosen: slice | Flags) -> OwnRecords:
        """The own records of some of the heads."""
        return OwnRecords(
            rows=self.rows[chosen],
            probabilities=self.probabilities[chosen],
            residuals=self.residuals[chosen],
            weights=self.weights[chosen],
            signs=self.signs[chosen],
        )

    def gradient(self, logit_shift: Floats32) -> Floats32:
        """s·(r + Δp)·h after the record's logits moved by ``logit_shift``.

        That is heads × K; what comes out is d × K × heads.
        """
        changes = logit_shift.copy()
        probability_changes(changes, self.probabilities, self.weights)
        changes += self.residuals
        changes *= self.signs[:, None]
        return np.asarray(self.rows.T[:, None, :] * changes.T[None])

    def logits(self, differences: Floats32) -> Floats32:
        """How the record's logits move under each head's difference: heads × K."""
        return np.asarray(np.einsum("mj,jcm->mc", self.rows, differences))


@dataclass(frozen=True)
class StackedHeads:
    """The data, and a preconditioner for its Hessian at the full optimum."""

    data: Curved
    preconditioner: Preconditioner

    def solve(self, own: OwnRecords, *, accuracy: float) -> tuple[Floats32, Floats]:
        """Differences (unknowns × heads) and their estimated errors relative to their norms."""
        answer = np.zeros((self.data.unknowns, len(own)), np.float32)
        errors = np.full(len(own), np.inf)
        open_heads = np.arange(len(own))
        mixing = AndersonMixing(answer.copy(), self.first_steps(own))
        mixing.scale_first(self._line(mixing.last, own))
        for _ in range(MOST_PASSES):
            mixing.add(self._step(mixing.point, own))
            relative_errors = mixing.relative_errors() * self._caution(mixing.point, own)
            answer[:, open_heads], errors[open_heads] = mixing.point, relative_errors
            going_on = ~(relative_errors <= accuracy) & np.isfinite(relative_errors)
            if not going_on.any():
                break
            open_heads, own = open_heads[going_on], own.of_records(going_on)
            mixing.keep(going_on)
        return answer, errors

    def first_steps(self, own: OwnRecords) -> Floats32:
        """−H⁻¹·gradient at the full optimum: what each record does to first order."""
        gradient = -own.gradient(np.zeros_like(own.residuals))
        return self.preconditioner.solve(gradient.reshape(-1, len(own)))

    def _step(self, point: Floats32, own: OwnRecords) -> Floats32:
        """−H⁻¹·gradient."""
        features, classes, heads = *self._shape, len(own)
        cube = point.reshape(features, classes, heads)
        total = self._data_gradient(point.reshape(features, classes * heads)).reshape(cube.shape)
        penalty = np.float32(self.data.penalty)
        total += penalty * (cube - cube.sum(axis=1, keepdims=True) / np.float32(classes + 1))
        total += own.gradient(own.logits(cube))
        np.negative(total, out=total)
        return self.preconditioner.solve(total.reshape(point.shape))

    def _data_gradient(self, point: Floats32) -> Floats32:
        total = np.zeros_like(point)
        for start in range(0, len(self.data.rows), ROWS):
            block = slice(start, start + ROWS)
            changes = self.data.rows[block] @ point
            probability_changes(changes, self.data.probabilities[block], self.data.weights[block])
            total += self.data.rows[block].T @ changes
        return total

    def _line(self, step: Floats32, own: OwnRecords) -> Floats32:
        """How far to go along the first step, since H still counts a record that left.

        Along f = −H⁻¹g the model gᵀf·α + (fᵀHf + s·c)α²/2 has fᵀHf = −gᵀf and c = the record's own
        curvature w·(Σ p z² − (Σ p z)²), z = f·h.
        """
        logit_shift = own.logits(step.reshape(*self._shape, len(own)))
        slope = -own.signs * np.einsum("mc,mc->m", own.residuals, logit_shift)
        mean = np.einsum("mc,mc->m", own.probabilities, logit_shift)
        curvature = (
            np.einsum("mc,mc->m", own.probabilities, logit_shift * logit_shift) - mean * mean
        )
        curved = slope + own.signs * own.weights * curvature
        return np.where(curved > 0.05 * slope, slope / np.where(curved > 0, curved, 1), 1)

    def _caution(self, point: Floats32, own: OwnRecords) -> Floats:
        """Where a record's own logits move much, estimates of first order count tenfold."""
        logit_shift = np.abs(own.logits(point.reshape(*self._shape, len(own)))).max(axis=1)
        return np.where(logit_shift > 0.5, 10.0, 1.0)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.data.rows.shape[1], self.data.probabilities.shape[1]
