"""The public numbers of a linear regression, and how far a record moves what it releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reticent import bounds
from reticent.guarantee import Relation
from reticent.guarantee.checks import checked_by
from reticent.protect.learners.recipe import Recipe, Step
from reticent.protect.learners.statistics import CLASS_THEOREM, MEAN, MEAN_COUNT, STATISTICS
from reticent.protect.public_numbers import records_touched

TARGETS = 0.25
"""The weight of Σ t beside Σ x xᵀ and Σ x·t; a power of two."""


@dataclass(frozen=True, kw_only=True)
class RegressionRecipe(Recipe):
    """N, d, the bounds on rows and targets, and the mean's share of the budget."""

    rows = checked_by(
        "each record's row and target are brought within their public bounds by themselves, and "
        "cut to a grid on which sums and products are exact",
        "protect.learners.released_regression.within",
    )

    bound: float
    target_bound: float
    mean_share: float = 0.1

    def steps(self, relation: Relation) -> dict[str, Step]:
        """The mean with the number of records, then the statistics with what is left."""
        public: dict[str, Any] = {
            "features": self.features,
            "records": self.records,
            "relation": relation,
            "records_each": records_touched(self.records_each),
        }
        mean = bounds.class_statistics(moment=0.0, sums=1.0, counts=MEAN_COUNT, **public)
        rest = bounds.target_statistics(moment=1.0, products=1.0, targets=TARGETS, **public)
        return {
            MEAN: Step(sensitivity=mean, share=self.mean_share, theorem=CLASS_THEOREM),
            STATISTICS: Step(
                sensitivity=rest,
                share=1 - self.mean_share,
                theorem="bounds.statistics.target_statistics",
            ),
        }
