"""Class means at pure ε: a record touches the sum of its own class alone."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from reticent import bounds
from reticent.arrays import Floats, Integers
from reticent.protect.recipe import Plan, Step, Tensors
from reticent.protect.recipes import class_means, linear
from reticent.protect.recipes.exact_rows import unit_rows
from reticent.protect.recipes.statistics import Mean, Statistics, class_sums, likely_counts
from reticent.protect.terms import Terms
from reticent.training.features import MappedRows

COUNTS, SUMS = "counts", "sums"
SMALLEST_COUNT_SHARE, LARGEST_COUNT_SHARE = 0.02, 0.2
"""Of ε, for the numbers of records: a mean is a sum over its count."""
_COUNT_NOISE = 0.1
"""How large the noise of a count may be beside the average class, while its share is below the
largest; after few records of digits had been drawn with the smallest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PureRecipe(linear.LinearRecipe):
    """Of recipes with noise of their own: no δ is spent, whatever the terms allow."""

    def public(self, terms: Terms) -> dict[str, Any]:
        """What every theorem asks for."""
        return {
            "records": self.records,
            "relation": terms.relation,
            "max_records_per_person": terms.records_touched,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class PureClassMeansRecipe(PureRecipe):
    """The nearest of C noisy means of unit rows, L2-Laplace noise of its own on each class sum.

    Noise of std √(d + 1)/ε on an entry (over .98), where one vector of all sums would need
    √(C·d + 1)/ε.
    """

    name: ClassVar[str] = "pure-class-means"
    noises: ClassVar[tuple[str, ...]] = ("block-l2-laplace",)

    def count_share(self, terms: Terms) -> float:
        """The share of the counts, in public numbers: more of ε where records are few."""
        unit = bounds.class_counts(**self.public(terms)).require_l1(self.name)
        wanted = math.sqrt(2) * unit * self.classes / (_COUNT_NOISE * terms.epsilon * self.records)
        return min(max(wanted, SMALLEST_COUNT_SHARE), LARGEST_COUNT_SHARE)

    def steps(self, terms: Terms) -> dict[str, Step]:
        """Counts by Laplace noise, then the sums with what is left."""
        public, share = self.public(terms), self.count_share(terms)
        counts = bounds.class_counts(**public)
        sums = bounds.separate_class_sums(classes=self.classes, **public)
        return {
            COUNTS: Step(
                sensitivity=counts,
                share=share,
                theorem="bounds.structured.class_counts",
                mechanism="laplace",
            ),
            SUMS: Step(
                sensitivity=sums,
                share=1 - share,
                theorem="bounds.structured.separate_class_sums",
            ),
        }

    def learn(self, rows: Floats, labels: Integers, plan: Plan) -> Tensors:
        """Class sums over class counts, each released once."""
        unit = MappedRows(rows, lambda block: unit_rows(block, np.zeros(rows.shape[1])))
        numbers = np.bincount(labels, minlength=self.classes).astype(np.float64)
        counts = plan[COUNTS].release(numbers)
        sums = plan[SUMS].release(class_sums(unit, labels, self.classes).ravel())
        statistics = Statistics(
            mean=Mean(values=np.zeros(self.features), records=float(self.records), length=1.0),
            sums=sums.reshape(self.classes, self.features),
            counts=likely_counts(counts, plan[COUNTS].noise.std_in(self.classes)),
            moment=np.zeros((0, 0)),
            sum_noise=plan[SUMS].noise.std_in(sums.size),
            moment_noise=0.0,
        )
        return linear.layer_tensors(class_means.nearest_trusted_mean(statistics))
