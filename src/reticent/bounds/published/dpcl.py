"""DPCL (DP-SGD for SimCLR with a noisy similarity matrix): its sensitivities, and what they miss.

The paper noises the similarities S = ZZᵀ of a batch and counts every other example's gradient as
unchanged, so that a clipped sum of gradients would move by 4C. But ∂ℓ/∂z_i = Σ_j G_ij z_j: S gives
the coefficients G, and the embeddings z_j of the others enter as they are. One changed example that
leaves S as it was turns every other gradient.
"""

import math
from typing import NamedTuple

import numpy as np

from reticent.arrays import Floats
from reticent.validation import count, positive


def similarity_sensitivity(batch: int) -> float:
    """Δ_S ≤ 4√(2|B| − 1), Theorem 1: true; the upper triangle alone has exactly 4√(|B| − 1)."""
    return 4 * math.sqrt(2 * count("batch", batch) - 1)


def naive_gradient_sensitivity(batch: int, clip: float) -> float:
    """Δ_g ≤ 4|B|C, Section 3.2.1: true."""
    return 4 * count("batch", batch) * positive("clip", clip)


def gradient_sensitivity(clip: float) -> float:
    """Δ_g ≤ 4C given noisy similarities, Section 3.2.2: false."""
    return 4 * positive("clip", clip)


class Batches(NamedTuple):
    """Views of two neighbouring batches, two rows an example; the first example differs."""

    one: Floats
    other: Floats


def turned_pair(batch: int) -> Batches:
    """All examples at e₁ but one, whose views are at e₂, or at −e₂: similarities are equal."""
    views = np.tile([1.0, 0.0], (2 * count("batch", batch, at_least=2), 1))
    one, other = views.copy(), views.copy()
    one[:2], other[:2] = (0.0, 1.0), (0.0, -1.0)
    return Batches(one, other)


def gradient_sum(views: Floats, similarities: Floats, *, clip: float, temperature: float) -> Floats:
    """Σ_i clip(∂L/∂W of view i) at z = Wx/‖Wx‖, W = 1, with L taken at these similarities.

    ``similarities`` may be a stack (…, 2|B|, 2|B|) of noisy matrices: one sum for each.
    """
    coefficients = nt_xent_coefficients(similarities, temperature)
    pulled = (coefficients + np.swapaxes(coefficients, -1, -2)) @ views  # S_ij = S_ji = z_i·z_j
    along = np.einsum("...ij,ij->...i", pulled, views)
    tangent = pulled - along[..., None] * views  # z has norm 1, so W moves it on the sphere alone
    sizes = np.linalg.norm(tangent, axis=-1)  # ‖g xᵀ‖ = ‖g‖ for a view of norm 1
    factors = np.minimum(1.0, positive("clip", clip) / np.maximum(sizes, np.finfo(float).tiny))
    return np.asarray(np.einsum("...i,...ij,ik->...jk", factors, tangent, views))


def nt_xent_coefficients(similarities: Floats, temperature: float) -> Floats:
    """G = ∂L/∂S of NT-Xent, Σ_i ℓ(i, partner of i) (Eqs. 3 and 4, not averaged)."""
    scaled = similarities / positive("temperature", temperature)
    views = np.arange(scaled.shape[-1])
    scaled[..., views, views] = -np.inf
    scaled -= scaled.max(axis=-1, keepdims=True)
    shares = np.exp(scaled)
    shares /= shares.sum(axis=-1, keepdims=True)
    shares[..., views, views ^ 1] -= 1.0
    return np.asarray(shares / temperature)


# ------------------------------------------------------------------------------- Barlow Twins


def mean_sensitivity(batch: int) -> float:
    """Δ_μ ≤ 2/N of the mean of one side's unit embeddings, Theorem 2: true; both sides: 2√2/N."""
    return 2 / count("batch", batch)


def squares_sensitivity() -> float:
    """Δ ≤ 6 of the sum of squared deviations, Theorem 3: true; the supremum is 4(1 − 1/N)."""
    return 6.0


def correlated_pair(batch: int) -> Batches:
    """All examples at e₁ but one, at (1, 1)/√2 or at (1, −1)/√2; a row an example, equal views.

    The correlation of both units changes its sign, and all else of the batch stays: the sums of
    squares of either unit are equal.
    """
    views = np.tile([1.0, 0.0], (count("batch", batch, at_least=2), 1))
    one, other = views.copy(), views.copy()
    one[0] = math.sqrt(0.5), math.sqrt(0.5)
    other[0] = math.sqrt(0.5), -math.sqrt(0.5)
    return Batches(one, other)


def barlow_gradient_sum(views: Floats, *, clip: float, off_diagonal: float) -> Floats:
    """Σ clip(∂L/∂W of each of 2N views) of Barlow Twins at z = Wx, W = 1, both views equal.

    Mean (0) and deviations (the root mean squares) are constants, as the paper's released ones; the
    cross-correlation, which it does not release, is that of the batch.
    """
    deviations = np.sqrt(np.square(views).mean(axis=0))
    standard = views / deviations
    correlation = standard.T @ standard / len(views)
    slopes = 2 * positive("off_diagonal", off_diagonal) * correlation
    np.fill_diagonal(slopes, -2 * (1 - np.diag(correlation)))
    pulled = standard @ slopes / len(views) / deviations
    sizes = np.linalg.norm(pulled, axis=1) * np.linalg.norm(views, axis=1)
    factors = np.minimum(1.0, positive("clip", clip) / np.maximum(sizes, np.finfo(float).tiny))
    return np.asarray(2 * np.einsum("i,ij,ik->jk", factors, pulled, views))
