"""Noisy linear discriminant analysis: class means, and the spread that the classes share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reticent.protect.learners.preconditioner import preconditioner
from reticent.protect.learners.released_linear import Affine
from reticent.protect.learners.statistics import Statistics, StatisticsLearner

Floats = NDArray[np.float64]


class LDAHead(StatisticsLearner):
    """Scores μ_cᵀ A u − ½·μ_cᵀ A μ_c + ln π_c, A the inverse of the noisy covariance in a class.

    The covariance is denoised at the edge of the noise's spectrum (as noisy gradients are
    preconditioned), and what noise adds to μ_cᵀ A μ_c on average is taken off.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> head = LDAHead(
    ...     classes=range(10), records=1500, epsilon=4.0, delta=1e-5, relation="replace-one"
    ... ).fit(X[:1500], y[:1500])
    >>> print(head.guarantee_)
    ε ≤ 4, δ ≤ 1e-5 (proven; neighbours: replace-one; unit: one record)
    """

    name = "linear discriminant analysis"
    moment = 1.0
    sums = 2.0
    counts = 0.25
    mean_share = 0.05

    def _layer(self, statistics: Statistics) -> Affine:
        means, priors = statistics.means, statistics.counts / statistics.records
        inverse = _inverse_within(statistics, means, priors)
        weights = means @ inverse
        lengths = np.einsum("ij,ij->i", weights, means)
        lengths = np.maximum(lengths - np.trace(inverse) * statistics.mean_noise, 0.0)
        return Affine(weights=weights, offsets=np.log(priors) - lengths / 2)


def _inverse_within(statistics: Statistics, means: Floats, priors: Floats) -> Floats:
    """(S + λ)⁻¹ of S = E x xᵀ − Σ π_c μ_c μ_cᵀ, whose trace is 1 − Σ π_c‖μ_c‖²."""
    width = means.shape[1]
    added = float(priors @ statistics.mean_noise)  # by noise, on the diagonal
    between = (means.T * priors) @ means - added * np.eye(width)
    trace = max(1 - float(np.trace(between)), 1e-2)
    white = preconditioner(
        (statistics.moment - statistics.records * between) / trace,
        noise=statistics.moment_noise / trace,
        records=statistics.records,
    ).matrix
    inverse: Floats = white @ white / trace
    return inverse
