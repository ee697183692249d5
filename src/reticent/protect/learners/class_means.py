"""Noisy class means: a row belongs to the class whose mean is nearest."""

from __future__ import annotations

import numpy as np

from reticent.protect.learners.preconditioner import UNKNOWN_SPREAD
from reticent.protect.learners.released_linear import Affine
from reticent.protect.learners.statistics import Statistics, StatisticsLearner


class ClassMeansHead(StatisticsLearner):
    """The nearest of C noisy means of centred unit rows: scores μ_c·u − ½‖μ_c‖².

    One record moves one class sum and one count, so few records suffice; more of them, or a larger
    ε, soon change nothing, because means alone do not tell classes of unequal shape apart.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> head = ClassMeansHead(
    ...     classes=range(10),
    ...     records=1500,
    ...     epsilon=1.0,
    ...     delta=0.0,
    ...     relation="add-remove",
    ...     mechanism="laplace",
    ... ).fit(X[:1500], y[:1500])
    >>> print(head.guarantee_)
    ε ≤ 1, δ ≤ 0 (proven; neighbours: add-remove; unit: one record)
    """

    name = "class means"
    moment = 0.0
    sums = 1.0
    counts = 0.125
    mean_share = 0.1

    def _layer(self, statistics: Statistics) -> Affine:
        means = statistics.means
        width = means.shape[1]
        # Noise makes a mean longer: by its variance, on every entry.
        squares = np.maximum((means**2).sum(axis=1) - width * statistics.mean_noise, 0.0)
        weight = statistics.counts / statistics.records
        # The variance of a row about its mean in each of few directions: probabilities need it.
        variance = max(1 - float(weight @ squares), 1e-2) / min(UNKNOWN_SPREAD, width)
        return Affine(weights=means / variance, offsets=-squares / 2 / variance)
