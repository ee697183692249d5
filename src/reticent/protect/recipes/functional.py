"""The functional mechanism (Zhang et al. 2012, Algorithm 5.2 of the slides): noise on the loss.

Logistic loss is expanded to degree 2 around w = 0: ln 2 − s·(x·w)/2 + (x·w)²/8, s = ±1. Its sum
over records is a polynomial in w whose coefficients are Σ s·x and Σ x xᵀ, up to public factors.
These are released with noise, once, and the noisy polynomial is minimised, which is
post-processing (docs/theory.md I.1).

As printed the coefficients get Laplace noise by a loose constant (``published.functional``). Here
they are weighed, in an orthonormal basis, and noise follows from their L2 (or L1) sensitivity.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import numpy as np

from reticent import bounds
from reticent.arrays import Array, Floats, Integers
from reticent.guarantee.guarantee import checked_by
from reticent.protect.recipe import Affine, Plan, Step, Tensors
from reticent.protect.recipes import preconditioner, regression, statistics
from reticent.protect.recipes.linear import (
    NOISY_SUMS,
    OWN_CLASS,
    UNIT_ROWS,
    LinearRecipe,
    layer_tensors,
)
from reticent.protect.terms import Terms
from reticent.training.features import MappedRows, Rows, clip_rows

COEFFICIENTS: Final = "coefficients"
TARGET_THEOREM: Final = "bounds.statistics.target_statistics"
_INTERCEPT: Final = 0.1
"""A constant entry beside unit rows: the value of the theory's note on imbalance, not tuned."""
_MEAN_SHARE: Final = 0.05
"""As LDA and AdaSSP have it."""


_CENTRED_ROWS = checked_by(
    "each centred row is clipped to norm 1 by itself, its constant entry included, and cut to a "
    "grid on which sums and products are exact",
    "protect.recipes.functional.centred_rows",
)


def centred_rows(unit: Floats, mean: statistics.Mean, intercept: float) -> Floats:
    """((u − mean)/length, intercept), no longer than 1 and on the grid; each by itself.

    One public length for all rows keeps what is released one affine layer.
    """
    centred = (unit - mean.values) / mean.length
    longer = np.column_stack([centred, np.full(len(unit), intercept)])
    return regression.on_grid(clip_rows(longer, 1.0))


def minimum(quadratic: Floats, linear: Floats, *, noise: float) -> Floats:
    """argmin of ½·wᵀQw − l·w for a noisy Q, with half the edge of its noise added to its spectrum.

    Eigenvalues below 0 are noise alone: a sum of x xᵀ has none. ``noise`` is the standard deviation
    of Q's coordinates in an orthonormal basis; the edge is Wigner's.
    """
    values, vectors = np.linalg.eigh(quadratic)
    damping = preconditioner.edge(features=len(quadratic), noise=noise, records=1.0) / 2
    return np.asarray((vectors / (np.maximum(values, 0.0) + damping)) @ (vectors.T @ linear))


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionalRecipe(LinearRecipe):
    """Degree-2 logistic regression, one class against the rest, from noisy coefficients.

    Two classes need Σ s·x alone. With more, Σ x of each class is released: 2·(it) − (their sum) is
    Σ s·x of that class against the rest, and a record moves one block. Rows are centred by a noisy
    mean where it pays, scaled by one number so that most have norm 1, and have a constant entry.
    """

    name: ClassVar[str] = "functional"
    checked: ClassVar[tuple[str, ...]] = (UNIT_ROWS, _CENTRED_ROWS, NOISY_SUMS, OWN_CLASS)

    moment: float = 1.0
    products: float = 1.0
    """The weights of Σ x xᵀ and Σ s·x (or class sums) in the released vector; powers of two, those
    of LDA. On training records of MNIST, CIFAR-10 features, digits and hospital stays none of 1/4,
    1/2, 2 and 4 times this ratio was better throughout."""
    mean_share: float = _MEAN_SHARE
    intercept: float = _INTERCEPT

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """With the mean where it pays; class sums are half as long as Σ s·x, and weigh double."""
        weights = {"products": 1.0 if numbers["classes"] == 2 else 2.0}
        recipe = super(FunctionalRecipe, cls)._planned(terms, numbers, weights | options)
        if statistics.mean_pays(recipe, recipe.steps(terms), terms):
            return recipe
        return replace(recipe, mean_share=0.0)

    @property
    def width(self) -> int:
        """The number of entries of a row, the constant one included."""
        return self.features + 1

    def steps(self, terms: Terms) -> dict[str, Step]:
        """The mean with the number of records, then all coefficients with what is left."""
        public: dict[str, Any] = {
            "records": self.records,
            "relation": terms.relation,
            "max_records_per_person": terms.records_touched,
        }
        steps = {}
        if self.mean_share > 0:
            mean = bounds.class_statistics(
                moment=0.0, sums=1.0, counts=statistics.MEAN_COUNT, features=self.features, **public
            )
            steps[statistics.MEAN] = Step(
                sensitivity=mean, share=self.mean_share, theorem=statistics.CLASS_THEOREM
            )
        public |= {"moment": self.moment, "features": self.width}
        if self.classes == 2:
            sensitivity = bounds.target_statistics(products=self.products, targets=0.0, **public)
        else:
            sensitivity = bounds.class_statistics(sums=self.products, counts=0.0, **public)
        theorem = TARGET_THEOREM if self.classes == 2 else statistics.CLASS_THEOREM
        rest = Step(sensitivity=sensitivity, share=1 - self.mean_share, theorem=theorem)
        return steps | {COEFFICIENTS: rest}

    def learn(self, rows: Floats, labels: Integers, plan: Plan) -> Tensors:
        """Noisy coefficients of centred unit rows, the minimum, as a layer on unit rows."""
        unit = statistics.unit_rows_of(rows, np.zeros(rows.shape[1]))
        mean = statistics.released_mean(unit, self, plan)
        longer = MappedRows(unit, lambda block: centred_rows(block, mean, self.intercept))
        parts = [
            self.moment * statistics.flat(statistics.second_moment(longer)),
            self._linear(longer, labels).ravel(),
        ]
        moment, linear = statistics.split_release(plan[COEFFICIENTS], parts)
        std = plan[COEFFICIENTS].noise.std_in(sum(part.size for part in parts)) / self.moment
        against_rest = self._against_rest(linear.reshape(self.width, -1) / self.products)
        # −v·w/2 + wᵀMw/8 is least where M/4·w = v/2
        weights = 2 * minimum(statistics.symmetric(moment / self.moment), against_rest, noise=std)
        layer = mean.uncentred(np.ascontiguousarray(weights[:-1].T), self.intercept * weights[-1])
        return layer_tensors(_both(layer) if self.classes == 2 else layer)

    def _linear(self, rows: Rows, labels: Integers) -> Floats:
        """Σ s·x, s = ±1, or the sum of each class; a column each, weighed."""
        if self.classes == 2:
            signs = np.asarray(2.0 * labels - 1.0, dtype=np.float64)[:, None]
            return self.products * statistics.cross_moment(rows, signs)
        return self.products * statistics.class_sums(rows, labels, self.classes).T

    def _against_rest(self, linear: Floats) -> Floats:
        """Σ s·x of each class against the rest, from class sums; of two classes as it is."""
        return linear if self.classes == 2 else 2 * linear - linear.sum(axis=1, keepdims=True)


def _both(layer: Affine) -> Affine:
    """The score of the second class over the first, as a score for each of them."""
    half = Affine(layer.weights / 2, layer.offsets / 2)
    return Affine(
        np.concatenate([-half.weights, half.weights]), np.concatenate([-half.offsets, half.offsets])
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionalRegressionRecipe(regression.NumberRecipe):
    """Linear regression from the noisy coefficients of Σ (t − w·x)²: Σ x xᵀ and Σ t·x.

    Σ t², the constant of the polynomial, moves no minimum and is not released.
    """

    name: ClassVar[str] = "functional-regression"

    def steps(self, terms: Terms) -> dict[str, Step]:
        """One query: all coefficients of the squared loss at once (Zhang et al. 2012)."""
        sensitivity = bounds.target_statistics(
            moment=1.0,
            products=1.0,
            targets=0.0,
            features=self.features + 1,
            records=self.records,
            relation=terms.relation,
            max_records_per_person=terms.records_touched,
        )
        return {COEFFICIENTS: Step(sensitivity=sensitivity, share=1.0, theorem=TARGET_THEOREM)}

    def learn(self, rows: Floats, labels: Array, plan: Plan) -> Tensors:
        """Weights and offset, of rows over their bound and targets over theirs."""
        longer = MappedRows(rows, self._row)
        targets = self.targets(labels)[:, None]
        parts = [
            statistics.flat(statistics.second_moment(longer)),
            statistics.cross_moment(longer, targets)[:, 0],
        ]
        moment, products = statistics.split_release(plan[COEFFICIENTS], parts)
        std = plan[COEFFICIENTS].noise.std_in(sum(part.size for part in parts))
        weights = minimum(statistics.symmetric(moment), products, noise=std) * _HALF
        return {"weights": weights[:-1], "offset": weights[-1:]}

    def _row(self, block: Floats) -> Floats:
        """(u, 1)/√2 for u of norm at most 1, on the grid: no longer than 1."""
        halved = regression.within(block, self.bound) * _HALF
        return regression.on_grid(np.column_stack([halved, np.full(len(block), _HALF)]))


_HALF: Final = float(np.trunc(np.sqrt(0.5) * 2**20) / 2**20)
"""1/√2, cut to the grid: rows and constant entry take half of the norm each."""
