"""What learners share: public numbers in, a plan, its charge, noisy sums, one affine layer out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from reticent.guarantee import Guarantee, Relation
from reticent.guarantee.grade import as_relation
from reticent.protect.learners.claim import STATED, claim_of
from reticent.protect.learners.recipe import Plan, Recipe, Watched, event_of_plan, planned
from reticent.protect.learners.refusals import refuse_as_learner
from reticent.protect.learners.released_linear import Affine, ReleasedLinear, minted_linear
from reticent.protect.mean import Charge
from reticent.protect.noisy_query import NoiseFunction, with_noise_function
from reticent.training.records import classified_records, indices_of
from reticent.validation import InputError, positive, probability

Floats = NDArray[np.float64]


class Learner(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose every look at the records is a noisy sum; each ``fit`` is one release.

    Args:
        classes: All classes, public; one may have no records.
        records: The public N: about the number of records; at most 2N may be there.
        epsilon: The ε of the whole fit.
        delta: Its δ.
        relation: "add-remove" or "replace-one".
        mechanism: The noise: "gaussian", or "logistic" and others by zCDP or ε.
        records_each: The most records that one person owns, where the person is protected; None
            where no persons are named, and the record is.
        charge: Called with the event of the whole fit before a sum is formed.

    Attributes:
        released_: The affine layer with its guarantee.
    """

    name: ClassVar[str]
    stated: ClassVar[tuple[str, ...]] = STATED

    def __init__(  # noqa: PLR0913 - one argument for each public number
        self,
        *,
        classes: Sequence[Any],
        records: int,
        epsilon: float,
        delta: float,
        relation: Relation | str,
        mechanism: str = "gaussian",
        records_each: int | None = None,
        charge: Charge | None = None,
    ) -> None:
        self.classes = classes
        self.records = records
        self.epsilon = epsilon
        self.delta = delta
        self.relation = relation
        self.mechanism = mechanism
        self.records_each = records_each
        self.charge = charge

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Release a model; every data set of valid records has one, the empty one too."""
        steps = refuse_as_learner(self)
        names, rows, labels = self._records(X, y)
        recipe, plan, claim = self._planned(rows.shape[1], len(names), steps)
        if self.charge is not None:
            self.charge(event_of_plan(plan, delta=claim.delta))
        self.classes_ = names
        layer = self._learnt(rows, labels, recipe, plan)
        self.released_ = minted_linear(
            self.name, layer, claim, classes=names, recipe=recipe, plan=plan
        )
        return self

    def planned_guarantee(self, X: ArrayLike, y: ArrayLike) -> Guarantee:
        """What a fit on these records would promise: declared, because nothing was released."""
        names, rows, _ = self._records(X, y)
        return self._planned(rows.shape[1], len(names))[2]

    def watched(self, X: ArrayLike, y: ArrayLike) -> Watched:
        """The fit as an audit watches it, again and again, and answers its sums itself.

        Nothing is charged, and no guarantee comes of it.
        """
        names, rows, labels = self._records(X, y)
        recipe, plan, _ = self._planned(rows.shape[1], len(names))

        def watch(answer: NoiseFunction) -> Floats:
            with with_noise_function(answer):
                layer = self._learnt(rows, labels, recipe, plan)
            return np.append(layer.weights, layer.offsets)

        return watch

    @property
    def guarantee_(self) -> Guarantee:
        """What the fit promises."""
        return self._released().guarantee

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Those of the released layer."""
        return self._released().predict_proba(X)

    def decision_function(self, X: ArrayLike) -> Floats:
        """Those of the released layer."""
        return self._released().decision_function(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Those of the released layer."""
        return self._released().predict(X)

    def __sklearn_tags__(self) -> Tags:
        """Two fits differ: each draws its own noise."""
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags

    def _records(
        self, X: ArrayLike, y: ArrayLike
    ) -> tuple[NDArray[Any], Floats, NDArray[np.int64]]:
        """The classes, the rows, and the place of each row's label among the classes."""
        names = np.asarray(self.classes)
        if len(names) < 2 or len(set(names.tolist())) < len(names):
            raise InputError("classes must be at least two different ones, got others")
        rows, targets = classified_records(self, X, y, declared=True)
        return names, rows, indices_of(targets, names)

    def _planned(
        self, features: int, classes: int, steps: tuple[str, ...] = ()
    ) -> tuple[Recipe, Plan, Guarantee]:
        """All that follows from public numbers."""
        recipe = self._recipe(features, classes)
        epsilon, delta = positive("epsilon", self.epsilon), probability("delta", self.delta)
        plan = planned(
            recipe,
            epsilon=epsilon,
            delta=delta,
            relation=as_relation(self.relation),
            mechanism=self.mechanism,
        )
        stated = (*self.stated, *steps)
        claim = claim_of(recipe, plan, epsilon=epsilon, delta=delta, stated=stated)
        return recipe, plan, claim

    def _released(self) -> ReleasedLinear:
        check_is_fitted(self, "released_")
        released: ReleasedLinear = self.released_
        return released

    @abstractmethod
    def _recipe(self, features: int, classes: int) -> Recipe: ...

    @abstractmethod
    def _learnt(
        self, rows: Floats, labels: NDArray[np.int64], recipe: Any, plan: Plan
    ) -> Affine: ...
