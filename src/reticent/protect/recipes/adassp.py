"""Ridge regression from noisy sufficient statistics (AdaSSP, Wang 2018): on classes.

Wang spends a third of the budget on the smallest eigenvalue of the second moment. Here it is read
off the noisy moment, as a lower bound that holds with high probability, and costs nothing.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reticent.arrays import Floats
from reticent.protect.recipe import Affine
from reticent.protect.recipes.statistics import Statistics, StatisticsRecipe

_FAILURE = 0.05
"""The probability that the noise is longer than the ridge counts on; utility alone rests on it."""
_SHARPNESS = 10.0
"""Ridge scores lie near 0 and 1; probabilities need a wider scale."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AdaSSPRecipe(StatisticsRecipe):
    """Ridge regression on one-hot targets: scores of centred unit rows are π_c + w_c·u."""

    name: ClassVar[str] = "adassp"
    weighing: ClassVar[dict[str, float]] = {
        "moment": 1.0,
        "sums": 2.0,
        "counts": 0.25,
        "mean_share": 0.05,
    }

    def layer_from(self, statistics: Statistics) -> Affine:
        """Ridge weights and class shares, on a wider scale."""
        weights = ridge(statistics.moment, statistics.sums.T, statistics.moment_noise).T
        priors = statistics.counts / statistics.records
        return Affine(_SHARPNESS * weights, _SHARPNESS * priors)


def ridge(moment: Floats, products: Floats, noise: float) -> Floats:
    """(M + λ)⁻¹ P with AdaSSP's λ = max(0, t − λ_min), t a bound on the norm of M's noise.

    Noise of std s on M's coordinates in an orthonormal basis has a norm above s·(√2d + √(2·ln 2/f))
    with probability f at most, where it is Gaussian (Davidson & Szarek 2001): sharper than Wang's
    s·√(d·ln(2d²/f)). So λ_min of M without noise is at least that of the noisy one less t.
    """
    values, vectors = np.linalg.eigh(moment)
    tail = noise_norm(noise, len(moment))
    smallest = max(float(values[0]) - tail, 0.0)
    damped = np.maximum(values, 0.0) + max(tail - smallest, 0.0)
    return np.asarray((vectors / np.maximum(damped, noise)) @ (vectors.T @ products))


def noise_norm(noise: float, width: int) -> float:
    """t of ``ridge``: what the norm of the moment's noise is below, with high probability."""
    return noise * (math.sqrt(2 * width) + math.sqrt(2 * math.log(2 / _FAILURE)))
