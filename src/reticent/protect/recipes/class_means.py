"""Noisy class means: a row belongs to the class whose mean is nearest."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reticent.arrays import Floats
from reticent.protect.recipe import Affine, ReleasedMeans
from reticent.protect.recipes.preconditioner import UNKNOWN_SPREAD
from reticent.protect.recipes.statistics import Statistics, StatisticsRecipe, trust_in_means


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassMeansRecipe(StatisticsRecipe):
    """The nearest of C noisy means of centred unit rows: scores μ_c·u − ½‖μ_c‖².

    One record moves one class sum and one count, so few records suffice; more of them, or a larger
    ε, soon change nothing, because means alone do not tell classes of unequal shape apart.
    """

    name: ClassVar[str] = "class-means"
    weighing: ClassVar[dict[str, float]] = {
        "moment": 0.0,
        "sums": 1.0,
        "counts": 0.125,
        "mean_share": 0.1,
    }

    def released_means(self, tensors: Mapping[str, Floats]) -> ReleasedMeans:
        """The layer's weights: class means of centred unit rows, times an unknown factor."""
        return ReleasedMeans(self.layer(tensors).weights, centred=self.mean_share > 0)

    def layer_from(self, statistics: Statistics) -> Affine:
        """Class means over the variance about them."""
        # Of d squared Gaussians the variance is 2d, the mean d.
        return nearest_trusted_mean(statistics, spread=math.sqrt(2 / self.features))


def nearest_trusted_mean(statistics: Statistics, *, spread: float | None = None) -> Affine:
    """Scores μ_c·u − ½‖μ_c‖² over the variance of rows about their means, means of few records
    drawn towards that of all.

    With d_c = trust_c·(μ_c − μ) the scores are d_c·(u − μ) − ½‖d_c‖²: what all classes have in
    common is taken off, or trust in it would decide. Noise makes a mean longer, by its variance on
    every entry, and is taken off its squared length; ``spread`` as in ``trust_in_means``.
    """
    means, weight = statistics.means, statistics.counts / statistics.records
    common = weight @ means
    apart, noise = means - common, means.shape[1] * statistics.mean_noise
    trust = trust_in_means(_squares(apart), noise, weight, spread=spread)
    variance = _variance(statistics, np.maximum(_squares(means) - noise, 0.0))
    weights = apart * trust[:, None]
    lengths = trust**2 * np.maximum(_squares(apart) - noise, 0.0)
    return Affine(weights / variance, -(weights @ common + lengths / 2) / variance)


def _squares(means: Floats) -> Floats:
    squares: Floats = (means**2).sum(axis=1)
    return squares


def _variance(statistics: Statistics, squares: Floats) -> float:
    """Of a row about its mean in each of few directions: probabilities need it."""
    weight = statistics.counts / statistics.records
    spread = min(UNKNOWN_SPREAD, statistics.sums.shape[1])
    variance: float = max(1 - float(weight @ squares), 1e-2) / spread
    return variance
