"""Linear regression from noisy sufficient statistics (AdaSSP, Wang 2018): one number per row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from reticent import bounds
from reticent.arrays import Array, Floats
from reticent.guarantee.guarantee import checked_by
from reticent.protect.plain_values import SignedFloat
from reticent.protect.recipe import Affine, Plan, RowMap, Step, TargetRange, Task, Tensors
from reticent.protect.recipes import adassp, linear, statistics
from reticent.protect.terms import Terms
from reticent.training.features import MappedRows, clip_rows
from reticent.validation import finite, positive

TARGETS = 0.25
"""The weight of Σ t beside Σ x xᵀ and Σ x·t; a power of two."""
_STEP = 2.0**-20
BOUNDED_ROWS = checked_by(
    "each record's row and target are brought within their public bounds by themselves, and "
    "cut to a grid on which sums and products are exact",
    "protect.recipes.regression.within",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class NumberRecipe(linear.LinearRecipe):
    """A linear model of one number y within [M − B, M + B]: M + B·(w·u + b), cut to that range.

    u = x/R, clipped to norm 1; t = (y − M)/B, clipped to [−1, 1], is what sums over records see. B
    is ``target_bound``, M ``target_centre`` and R ``bound``, all public.
    """

    task: ClassVar[Task] = "regression"
    options: ClassVar[tuple[str, ...]] = ("bound", "target_bound", "target_centre")
    checked: ClassVar[tuple[str, ...]] = (BOUNDED_ROWS, linear.NOISY_SUMS, linear.OWN_CLASS)

    bound: float
    target_bound: float
    target_centre: SignedFloat = SignedFloat(0.0)  # noqa: RUF009 - a plain number

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """``options`` are the bounds on rows and targets, and the middle of the targets."""
        centre = finite("target_centre", options.pop("target_centre", 0.0))
        bounded = {name: positive(name, value) for name, value in options.items()}
        bounded["target_centre"] = centre
        return super(NumberRecipe, cls)._planned(terms, numbers | {"classes": 1}, bounded)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; a middle of 0 is left out."""
        values = super(NumberRecipe, self).to_dict()
        if not self.target_centre:
            del values["target_centre"]
        return values

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """From plain values; where no middle is named, it is 0."""
        if isinstance(values, Mapping):
            values = {"target_centre": 0.0, **values}
        return super(NumberRecipe, cls).from_dict(values)

    @property
    def public_numbers(self) -> tuple[str, ...]:
        """Without a middle of 0, which nobody has to say."""
        named = ("records", "classes", *self.options)
        return named if self.target_centre else named[:-1]

    def targets(self, labels: Array) -> Floats:
        """t of each record by itself, on the grid."""
        return on_grid(within_one(labels - self.target_centre, self.target_bound))

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """w has an entry per feature."""
        return {"weights": (self.features,), "offset": (1,)}

    def scores(self, tensors: Mapping[str, Floats], rows: Floats) -> Floats:
        """One predicted number per row, in the label's units, within its range."""
        values = within(rows, self.bound) @ tensors["weights"] + tensors["offset"][0]
        return np.asarray(self.target_centre + self.target_bound * np.clip(values, -1.0, 1.0))

    def decided(self, scores: Floats, classes: Array) -> Floats:  # noqa: ARG002 - no classes
        """The scores themselves: a regression tells numbers."""
        return scores

    @property
    def formula(self) -> tuple[str, ...]:
        """Rows within norm 1, one number, cut to its range."""
        top, centre = repr(self.target_bound), self.target_centre
        shift = f"{centre!r} + " if centre else ""
        within_range = f"[{centre - self.target_bound!r}, {centre + self.target_bound!r}]"
        return (
            f"u = x/{self.bound!r}; a u that is longer than 1 is shortened to norm 1",
            f"the answer is {shift}{top}·(weights·u + offset), cut to within"
            + (f" {within_range}" if centre else f" ±{top}"),
        )

    @property
    def row_map(self) -> RowMap:
        """Rows that are clipped to the bound R; w is of their R-th part."""
        return RowMap(norms="clip", bound=self.bound)

    @property
    def target(self) -> TargetRange:
        """The middle M and the half B, as the user said them."""
        return TargetRange(self.target_centre, self.target_bound)

    def layer(self, tensors: Mapping[str, Floats]) -> Affine:
        """w as one row, and b."""
        return Affine(tensors["weights"][None, :], tensors["offset"])


@dataclass(frozen=True, kw_only=True, slots=True)
class RegressionRecipe(NumberRecipe):
    """Ridge regression from noisy sums (AdaSSP): rows centred by a noisy mean first."""

    name: ClassVar[str] = "adassp-regression"

    mean_share: float = 0.1

    def steps(self, terms: Terms) -> dict[str, Step]:
        """The mean with the number of records, then the statistics with what is left."""
        public: dict[str, Any] = {
            "features": self.features,
            "records": self.records,
            "relation": terms.relation,
            "max_records_per_person": terms.records_touched,
        }
        mean = bounds.class_statistics(moment=0.0, sums=1.0, counts=statistics.MEAN_COUNT, **public)
        rest = bounds.target_statistics(moment=1.0, products=1.0, targets=TARGETS, **public)
        return {
            statistics.MEAN: Step(
                sensitivity=mean, share=self.mean_share, theorem=statistics.CLASS_THEOREM
            ),
            statistics.STATISTICS: Step(
                sensitivity=rest,
                share=1 - self.mean_share,
                theorem="bounds.statistics.target_statistics",
            ),
        }

    def learn(self, rows: Floats, labels: Array, plan: Plan) -> Tensors:
        """Weights and offset, of rows over their bound and targets over theirs."""
        short = MappedRows(rows, lambda block: on_grid(within(block, self.bound)))
        mean = statistics.released_mean(short, self, plan)
        centred = MappedRows(short, lambda block: on_grid(clip_rows(block - mean.values, 1.0)))
        targets = self.targets(labels)[:, None]
        parts = [
            statistics.flat(statistics.second_moment(centred)),
            statistics.cross_moment(centred, targets)[:, 0],
            TARGETS * targets.sum(axis=0),
        ]
        moment, products, total = statistics.split_release(plan[statistics.STATISTICS], parts)
        level = float(np.clip(total[0] / TARGETS / mean.records, -1.0, 1.0))
        std = plan[statistics.STATISTICS].noise.std_in(sum(part.size for part in parts))
        weights = adassp.ridge(statistics.symmetric(moment), products, std)
        offset = level - float(weights @ mean.values)
        return {"weights": weights, "offset": np.array([offset])}


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
