"""Data turned to its principal axes, and an approximate inverse of a softmax head's Hessian there.

Unknowns are R, K × d: the weights of each class minus those of the last, K = C − 1. In them the
Hessian is Σ_i A_i ⊗ h_i h_iᵀ + N·λ·(B ⊗ I), with A = diag p − ppᵀ over the first K classes and
B = I − 11ᵀ/C. On the leading axes it is formed exactly and inverted; on the others the records'
A is replaced by their mean, and axes do not mix. What is lost decides how many passes over the
data are needed, not what they converge to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from reticent.arrays import Floats

Singles = NDArray[np.float32]

DENSE = 640
"""Unknowns for which the Hessian is exact."""
DAMPING = 1e-6
"""Of the mean eigenvalue: rounding in float32 leaves eigenvalues of that size below zero."""
ROWS = 2048
"""Rows multiplied at a time; what is made of them stays in the cache."""


@dataclass(frozen=True, kw_only=True)
class Turned:
    """Rows in the coordinates of their principal axes, the longest first; one weight per row."""

    rows: Singles
    weights: Singles
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
    dense: Singles
    classes: Singles
    rest: Singles

    @classmethod
    def of(
        cls,
        data: Turned,
        probabilities: Singles,
        *,
        share: float,
        penalty: float,
        every: int = 1,
    ) -> TwoLevel:
        """At these probabilities (rows × K); ``penalty`` is N·λ.

        The leading axes may make do with ``every`` second or third row.
        """
        others = probabilities.shape[1]
        leading = min(data.rows.shape[1], max(DENSE // others, 1))
        shape = np.eye(others) - 1 / (others + 1)
        max_curvature = _mean_bend(probabilities, data.weights)
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

    def solve(self, gradients: Singles) -> Singles:
        """The inverse times heads × K × d."""
        heads, others, _ = gradients.shape
        found = np.empty_like(gradients)
        first = gradients[:, :, : self.leading].reshape(heads, -1) @ self.dense
        found[:, :, : self.leading] = first.reshape(heads, others, -1)
        turned = self.classes.T @ gradients[:, :, self.leading :]
        found[:, :, self.leading :] = self.classes @ (turned * self.rest)
        return found


def _mean_bend(probabilities: Singles, weights: Singles) -> Floats:
    """The weighted mean of diag p − ppᵀ."""
    share = (weights / max(float(weights.sum()), 1e-30)).astype(np.float64)
    p = probabilities.astype(np.float64)
    return np.asarray(np.diag(share @ p) - (p.T * share) @ p)


def _leading_hessian(rows: Singles, probabilities: Singles, weights: Singles) -> Singles:
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
