"""Ridge regression from noisy sufficient statistics (AdaSSP, Wang 2018): on classes.

Wang spends a third of the budget on the smallest eigenvalue of the second moment. Here it is read
off the noisy moment, as a lower bound that holds with high probability, and costs nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from reticent.protect.learners.released_linear import Affine
from reticent.protect.learners.statistics import Statistics, StatisticsLearner

Floats = NDArray[np.float64]

_FAILURE = 0.05
"""The probability that the noise is longer than the ridge counts on; utility alone rests on it."""
_SHARPNESS = 10.0
"""Ridge scores lie near 0 and 1; probabilities need a wider scale."""


class AdaSSPHead(StatisticsLearner):
    """Ridge regression on one-hot targets: scores of centred unit rows are π_c + w_c·u.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> head = AdaSSPHead(
    ...     classes=range(10), records=1500, epsilon=4.0, delta=1e-5, relation="add-remove"
    ... ).fit(X[:1500], y[:1500])
    >>> print(head.guarantee_)
    ε ≤ 4, δ ≤ 1e-5 (proven; neighbours: add-remove; unit: one record)
    """

    name = "AdaSSP"
    moment = 1.0
    sums = 2.0
    counts = 0.25
    mean_share = 0.05

    def _layer(self, statistics: Statistics) -> Affine:
        weights = ridge(statistics.moment, statistics.sums.T, statistics.moment_noise).T
        priors = statistics.counts / statistics.records
        return Affine(weights=_SHARPNESS * weights, offsets=_SHARPNESS * priors)


def ridge(moment: Floats, products: Floats, noise: float) -> Floats:
    """(M + λ)⁻¹ P with AdaSSP's λ = max(0, t − λ_min), t a bound on the norm of M's noise.

    Noise of std s on M's coordinates in an orthonormal basis has a norm above s·(√2d + √(2·ln 2/f))
    with probability f at most, where it is Gaussian (Davidson & Szarek 2001): sharper than Wang's
    s·√(d·ln(2d²/f)). So λ_min of M without noise is at least that of the noisy one less t.
    """
    values, vectors = np.linalg.eigh(moment)
    tail = noise * (math.sqrt(2 * len(moment)) + math.sqrt(2 * math.log(2 / _FAILURE)))
    smallest = max(float(values[0]) - tail, 0.0)
    damped = np.maximum(values, 0.0) + max(tail - smallest, 0.0)
    return np.asarray((vectors / np.maximum(damped, noise)) @ (vectors.T @ products))
