"""Noisy class means: a row belongs to the class whose mean is nearest."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reticent.protect.recipe import Affine
from reticent.protect.recipes.preconditioner import UNKNOWN_SPREAD
from reticent.protect.recipes.statistics import Statistics, StatisticsRecipe


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

    def layer_from(self, statistics: Statistics) -> Affine:
        """Class means over the variance about them."""
        return nearest_mean(statistics)


def nearest_mean(statistics: Statistics) -> Affine:
    """Scores μ_c·u − ½‖μ_c‖² over the variance of rows about their means."""
    means = statistics.means
    width = means.shape[1]
    # Noise makes a mean longer: by its variance, on every entry.
    squares = np.maximum((means**2).sum(axis=1) - width * statistics.mean_noise, 0.0)
    weight = statistics.counts / statistics.records
    # The variance of a row about its mean in each of few directions: probabilities need it.
    variance = max(1 - float(weight @ squares), 1e-2) / min(UNKNOWN_SPREAD, width)
    return Affine(means / variance, -squares / 2 / variance)
