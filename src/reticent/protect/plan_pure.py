"""Which learner at δ = 0, from public numbers alone.

The rule is documented in docs/theory.md E.4. Its constants are fitted to what learners reached on
public data sets (``reticent reproduce beyond pure-grid``); a test fits them anew from the committed
results and compares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from reticent.protect.noise_scales import noise_plan
from reticent.protect.recipes import class_means, preconditioner, pure_class_means, weights
from reticent.protect.recipes.matrix_lda import JOINT, MOMENT, MatrixLDARecipe
from reticent.protect.recipes.matrix_lda import SUMS as WEIGHT_OF_SUMS

if TYPE_CHECKING:
    from reticent.protect.plan import Situation

MATRIX_LDA, PURE_MEANS = MatrixLDARecipe.name, pure_class_means.PureClassMeansRecipe.name
CLASS_MEANS, WEIGHTS = class_means.ClassMeansRecipe.name, weights.WeightsRecipe.name
LEARNERS: Final = {
    MATRIX_LDA: MatrixLDARecipe.noises[0],
    PURE_MEANS: pure_class_means.PureClassMeansRecipe.noises[0],
    CLASS_MEANS: "laplace",
    WEIGHTS: "l2-laplace",
}
"""Those that were measured, with their noise. The last two were best nowhere by a point."""


@dataclass(frozen=True, kw_only=True)
class PureSignals:
    """How far a class mean of norm 1 stands out of its noise, by each learner.

    N/C over the norm of the noise on a class sum: of k directions by matrix Laplace, and of all d
    features by L2-Laplace. Person, replace-one and the shares of ε are in the noise.
    """

    matrix: float
    means: float
    directions: int
    """k of the matrix."""

    @classmethod
    def of(cls, situation: Situation) -> PureSignals:
        """By the recipes that the learners will follow."""
        numbers: dict[str, Any] = {
            "records": situation.records,
            "features": situation.features,
            "classes": situation.classes,
        }
        average = situation.records / situation.classes
        matrix = MatrixLDARecipe.planned(situation.terms, **numbers)
        size = matrix.order * (matrix.order + 1) // 2
        joint = noise_plan(matrix, situation.terms)[JOINT].noise.std_in(size) / WEIGHT_OF_SUMS
        means = pure_class_means.PureClassMeansRecipe.planned(situation.terms, **numbers)
        sums = noise_plan(means, situation.terms)[pure_class_means.SUMS].noise.std_in(
            situation.classes * situation.features
        )
        return cls(
            matrix=average / (joint * math.sqrt(matrix.width)),
            means=average / (sums * math.sqrt(situation.features)),
            directions=matrix.width,
        )

    @property
    def ratio(self) -> float:
        """Above 1 where class means of all features have less noise than the matrix."""
        return self.means / self.matrix

    def signal(self, learner: str) -> float:
        """Of one of the two learners."""
        return {PURE_MEANS: self.means, MATRIX_LDA: self.matrix}[learner]

    def logit_noise(self, learner: str, situation: Situation) -> float:
        """The noise of one entry of a class mean, over the variance that scores are divided by.

        Of the matrix that variance is at least the damping √k·noise/N: what is left of the noise
        depends on k alone.
        """
        width = situation.features
        noise = {
            MATRIX_LDA: situation.classes * MOMENT / (WEIGHT_OF_SUMS * math.sqrt(self.directions)),
            PURE_MEANS: min(preconditioner.UNKNOWN_SPREAD, width) / (self.means * math.sqrt(width)),
        }
        return noise[learner]


@dataclass(frozen=True, kw_only=True)
class PureRule:
    """Class means while noise is what they lose by, and they have about as little as the matrix.

    Once their own signal is large, less noise makes them no better: means alone do not tell
    classes of unequal shape apart, and the moment does.
    """

    smallest_ratio: float
    """Of the signals, from which on class means are taken."""
    largest_signal: float
    """Of class means, up to which they are."""
    cluster_ratio: float
    """Where labels are clusters of the features: class means from this ratio on, at any signal."""

    def choice(self, signals: PureSignals, *, prototypes: bool) -> str:
        """The learner that loses less, as far as public numbers tell."""
        if prototypes and signals.ratio >= self.cluster_ratio:
            return PURE_MEANS
        few = signals.means <= self.largest_signal
        return PURE_MEANS if few and signals.ratio >= self.smallest_ratio else MATRIX_LDA


RULE: Final = PureRule(smallest_ratio=0.534, largest_signal=4.10, cluster_ratio=0.537)
