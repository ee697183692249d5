"""Linear regression from noisy sufficient statistics (AdaSSP, Wang 2018): one number per row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from reticent import bounds
from reticent.arrays import Array, Floats
from reticent.guarantee.guarantee import checked_by
from reticent.protect.recipe import (
    Affine,
    Plan,
    Step,
    Task,
    Tensors,
)
from reticent.protect.recipes.adassp import ridge
from reticent.protect.recipes.linear import NOISY_SUMS, OWN_CLASS, LinearRecipe
from reticent.protect.recipes.statistics import (
    CLASS_THEOREM,
    MEAN,
    MEAN_COUNT,
    STATISTICS,
    cross_moment,
    flat,
    released_mean,
    second_moment,
    split_release,
    symmetric,
)
from reticent.protect.terms import Terms
from reticent.training.features import MappedRows, clip_rows
from reticent.validation import positive

TARGETS = 0.25
"""The weight of Σ t beside Σ x xᵀ and Σ x·t; a power of two."""
_STEP = 2.0**-20
BOUNDED_ROWS = checked_by(
    "each record's row and target are brought within their public bounds by themselves, and "
    "cut to a grid on which sums and products are exact",
    "protect.recipes.regression.within",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RegressionRecipe(LinearRecipe):
    """Ridge regression: B·(w·u + b) for rows u = x/R clipped to norm 1, within ±B."""

    name: ClassVar[str] = "adassp-regression"
    task: ClassVar[Task] = "regression"
    options: ClassVar[tuple[str, ...]] = ("bound", "target_bound")
    checked: ClassVar[tuple[str, ...]] = (BOUNDED_ROWS, NOISY_SUMS, OWN_CLASS)

    bound: float
    target_bound: float
    mean_share: float = 0.1

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """``options`` are the bounds on rows and targets."""
        bounded = {name: positive(name, value) for name, value in options.items()}
        return super(RegressionRecipe, cls)._planned(terms, numbers | {"classes": 1}, bounded)

    def steps(self, terms: Terms) -> dict[str, Step]:
        """The mean with the number of records, then the statistics with what is left."""
        public: dict[str, Any] = {
            "features": self.features,
            "records": self.records,
            "relation": terms.relation,
            "max_records_per_person": terms.records_touched,
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

    def learn(self, rows: Floats, labels: Array, plan: Plan) -> Tensors:
        """Weights and offset, of rows over their bound and targets over theirs."""
        short = MappedRows(rows, lambda block: on_grid(within(block, self.bound)))
        mean = released_mean(short, self, plan)
        centred = MappedRows(short, lambda block: on_grid(clip_rows(block - mean.values, 1.0)))
        targets = on_grid(within_one(labels, self.target_bound))[:, None]
        parts = [
            flat(second_moment(centred)),
            cross_moment(centred, targets)[:, 0],
            TARGETS * targets.sum(axis=0),
        ]
        moment, products, total = split_release(plan[STATISTICS], parts)
        level = float(np.clip(total[0] / TARGETS / mean.records, -1.0, 1.0))
        std = plan[STATISTICS].noise.std_in(sum(part.size for part in parts))
        weights = ridge(symmetric(moment), products, std)
        offset = level - float(weights @ mean.values)
        return {"weights": weights, "offset": np.array([offset])}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """w has an entry per feature."""
        return {"weights": (self.features,), "offset": (1,)}

    def scores(self, tensors: Mapping[str, Floats], rows: Floats) -> Floats:
        """One predicted number per row, within ± the target bound."""
        values = within(rows, self.bound) @ tensors["weights"] + tensors["offset"][0]
        return np.asarray(self.target_bound * np.clip(values, -1.0, 1.0))

    def decided(self, scores: Floats, classes: Array) -> Floats:  # noqa: ARG002 - no classes
        """The scores themselves: a regression tells numbers."""
        return scores

    @property
    def formula(self) -> tuple[str, ...]:
        """Rows within norm 1, one number, cut to its bound."""
        top = repr(self.target_bound)
        return (
            f"u = x/{self.bound!r}; a u that is longer than 1 is shortened to norm 1",
            f"the answer is {top}·(weights·u + offset), cut to within ±{top}",
        )

    def layer(self, tensors: Mapping[str, Floats]) -> Affine:
        """w as one row, and b."""
        return Affine(tensors["weights"][None, :], tensors["offset"])


def within(rows: Floats, bound: float) -> Floats:
    """Rows over their bound, at most 1 long: clipped before the division, and after it rounded."""
    return clip_rows(clip_rows(rows, bound) / bound, 1.0)


def within_one(targets: Floats, bound: float) -> Floats:
    """Targets over their bound, clipped: before the division, which could overflow, and after."""
    clipped: Floats = np.clip(np.clip(targets, -bound, bound) / bound, -1.0, 1.0)
    return clipped


def on_grid(values: Floats) -> Floats:
    """Cut towards zero to multiples of 2⁻²⁰: sums of them are exact, and none grows."""
    cut: Floats = np.trunc(values / _STEP) * _STEP
    return cut
