"""Linear regression from noisy sufficient statistics (AdaSSP, Wang 2018): one number per row."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from reticent.guarantee import Guarantee, Relation
from reticent.guarantee.grade import as_relation
from reticent.protect.learners.claim import STATED, claim_of
from reticent.protect.learners.recipe import Plan, Watched, event_of_plan, planned
from reticent.protect.learners.refusals import refuse_as_learner
from reticent.protect.learners.regression_recipe import TARGETS, RegressionRecipe
from reticent.protect.learners.released_regression import (
    ReleasedRegression,
    minted_regression,
    within,
)
from reticent.protect.learners.statistics import (
    STATISTICS,
    cross_moment,
    flat,
    released_mean,
    second_moment,
    split_release,
    std_of,
    symmetric,
)
from reticent.protect.learners.sufficient_statistics import ridge
from reticent.protect.mean import Charge
from reticent.protect.noisy_query import NoiseFunction, with_noise_function
from reticent.protect.public_numbers import checked_each
from reticent.training.features import clip_rows
from reticent.training.records import real_targets, without_private_values
from reticent.validation import count, positive, probability

Floats = NDArray[np.float64]

_STEP = 2.0**-20


class AdaSSPRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Ridge regression whose every look at the records is a noisy sum; each ``fit`` is a release.

    Args:
        bound: The public bound on the norm of a row; longer rows are scaled down to it.
        target_bound: The public bound on the absolute target; others are clipped to it.
        records: The public N: about the number of records; at most 2N may be there.
        epsilon: The ε of the whole fit.
        delta: Its δ.
        relation: "add-remove" or "replace-one".
        mechanism: The noise: "gaussian", or "logistic" and others by zCDP or ε.
        records_each: The most records that one person owns, where the person is protected; None
            where no persons are named, and the record is.
        charge: Called with the event of the whole fit before a sum is formed.

    Attributes:
        released_: The affine function with its guarantee.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(20000, 3))
    >>> y = X @ [1.0, -1.0, 0.5] + 0.25
    >>> model = AdaSSPRegressor(
    ...     bound=1.0,
    ...     target_bound=1.5,
    ...     records=20000,
    ...     epsilon=4.0,
    ...     delta=1e-6,
    ...     relation="add-remove",
    ... ).fit(X, y)
    >>> print(model.guarantee_)
    ε ≤ 4, δ ≤ 1e-6 (proven; neighbours: add-remove; unit: one record)
    >>> model.score(X, y) > 0.9
    True
    """

    name = "AdaSSP regression"

    def __init__(  # noqa: PLR0913 - one argument for each public number
        self,
        *,
        bound: float,
        target_bound: float,
        records: int,
        epsilon: float,
        delta: float,
        relation: Relation | str,
        mechanism: str = "gaussian",
        records_each: int | None = None,
        charge: Charge | None = None,
    ) -> None:
        self.bound = bound
        self.target_bound = target_bound
        self.records = records
        self.epsilon = epsilon
        self.delta = delta
        self.relation = relation
        self.mechanism = mechanism
        self.records_each = records_each
        self.charge = charge

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Release a model; every data set of finite records has one, the empty one too."""
        steps = refuse_as_learner(self)
        rows, targets = self._records(X, y)
        recipe, plan, claim = self._planned(rows.shape[1], steps)
        if self.charge is not None:
            self.charge(event_of_plan(plan, delta=claim.delta))
        function = _learnt(rows, targets, recipe, plan)
        self.released_ = minted_regression(self.name, function, claim, recipe=recipe, plan=plan)
        return self

    def planned_guarantee(self, X: ArrayLike, y: ArrayLike) -> Guarantee:
        """What a fit on these records would promise: declared, because nothing was released."""
        rows, _ = self._records(X, y)
        return self._planned(rows.shape[1])[2]

    def watched(self, X: ArrayLike, y: ArrayLike) -> Watched:
        """The fit as an audit watches it, again and again, and answers its sums itself.

        Nothing is charged, and no guarantee comes of it.
        """
        rows, targets = self._records(X, y)
        recipe, plan, _ = self._planned(rows.shape[1])

        def watch(answer: NoiseFunction) -> Floats:
            with with_noise_function(answer):
                return np.append(*_learnt(rows, targets, recipe, plan))

        return watch

    def __sklearn_tags__(self) -> Tags:
        """Each fit draws noise of its own."""
        tags: Tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags

    @property
    def guarantee_(self) -> Guarantee:
        """What the fit promises."""
        check_is_fitted(self, "released_")
        guarantee: Guarantee = self.released_.guarantee
        return guarantee

    def predict(self, X: ArrayLike) -> Floats:
        """Those of the released function."""
        check_is_fitted(self, "released_")
        with without_private_values():
            rows = validate_data(self, X, dtype=np.float64, reset=False)
        released: ReleasedRegression = self.released_
        return released.predict(rows)

    def _records(self, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
        with without_private_values():
            rows, targets = validate_data(
                self, X, real_targets(y), dtype=np.float64, y_numeric=True, ensure_min_samples=0
            )
        return rows, np.asarray(targets, dtype=np.float64)

    def _planned(
        self, features: int, steps: tuple[str, ...] = ()
    ) -> tuple[RegressionRecipe, Plan, Guarantee]:
        """All that follows from public numbers."""
        recipe = self._recipe(features)
        epsilon, delta = positive("epsilon", self.epsilon), probability("delta", self.delta)
        plan = planned(
            recipe,
            epsilon=epsilon,
            delta=delta,
            relation=as_relation(self.relation),
            mechanism=self.mechanism,
        )
        stated = (*STATED, *steps)
        return recipe, plan, claim_of(recipe, plan, epsilon=epsilon, delta=delta, stated=stated)

    def _recipe(self, features: int) -> RegressionRecipe:
        return RegressionRecipe(
            records=count("records", self.records),
            features=features,
            classes=1,
            records_each=checked_each(self.records_each),
            bound=positive("bound", self.bound),
            target_bound=positive("target_bound", self.target_bound),
        )


def _learnt(
    rows: Floats, targets: Floats, recipe: RegressionRecipe, plan: Plan
) -> tuple[Floats, float]:
    """Weights and offset, of rows over their bound and targets over theirs."""
    short = _on_grid(within(rows, recipe.bound))
    mean = released_mean(short, recipe, plan)
    centred = _on_grid(clip_rows(short - mean.values, 1.0))
    targets = _on_grid(_within_one(targets, recipe.target_bound))[:, None]
    parts = [
        flat(second_moment(centred)),
        cross_moment(centred, targets)[:, 0],
        TARGETS * targets.sum(axis=0),
    ]
    moment, products, total = split_release(plan[STATISTICS], parts)
    level = float(np.clip(total[0] / TARGETS / mean.records, -1.0, 1.0))
    std = std_of(plan[STATISTICS].noise, sum(part.size for part in parts))
    weights = ridge(symmetric(moment), products, std)
    return weights, level - float(weights @ mean.values)


def _within_one(targets: Floats, bound: float) -> Floats:
    """Targets over their bound, clipped: before the division, which could overflow, and after."""
    clipped: Floats = np.clip(np.clip(targets, -bound, bound) / bound, -1.0, 1.0)
    return clipped


def _on_grid(values: Floats) -> Floats:
    """Cut towards zero to multiples of 2⁻²⁰: sums of them are exact, and none grows."""
    cut: Floats = np.trunc(values / _STEP) * _STEP
    return cut
