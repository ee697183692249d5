"""Noisy linear discriminant analysis: class means, and the spread that the classes share."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reticent.arrays import Floats
from reticent.protect.recipe import Affine
from reticent.protect.recipes.preconditioner import preconditioner
from reticent.protect.recipes.statistics import (
    Statistics,
    StatisticsRecipe,
    TurnedMeans,
    trust_in_means,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LDARecipe(StatisticsRecipe):
    """Scores μ_cᵀ A u − ½·μ_cᵀ A μ_c + ln π_c, A the inverse of the noisy covariance in a class.

    The covariance is denoised at the edge of the noise's spectrum (as noisy gradients are
    preconditioned), what noise adds to μ_cᵀ A μ_c on average is taken off, and means are trusted by
    their noise.
    """

    name: ClassVar[str] = "lda"
    weighing: ClassVar[dict[str, float]] = {
        "moment": 1.0,
        "sums": 2.0,
        "counts": 0.25,
        "mean_share": 0.05,
    }

    def layer_from(self, statistics: Statistics) -> Affine:
        """Means turned by the inverse covariance, and the classes' shares."""
        means, priors = statistics.means, statistics.counts / statistics.records
        inverse = _inverse_within(statistics, means, priors)
        turned = TurnedMeans.of(means, inverse, statistics.mean_noise)
        trust = trust_in_means(
            turned.squares, turned.noise, priors, spread=gaussian_spread(inverse)
        )
        # Beside ln π_c the scale of scores counts: it stays, on average over the records.
        scale = 1 / math.sqrt(float(priors @ trust**2))
        return turned.discriminant(trust, priors, scale=scale)


def gaussian_spread(metric: Floats) -> float:
    """The std of gᵀA g over its mean for independent Gaussians g: √2·‖A‖_F/tr A."""
    return math.sqrt(2) * float(np.linalg.norm(metric) / np.trace(metric))


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
