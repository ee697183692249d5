"""All learners with the noise inside, by the names that stand in certificates.

Only these mint a proven guarantee, and a certificate's recipe must be the one that the learner of
that name plans from the same public numbers.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Final

from reticent.guarantee import Guarantee
from reticent.protect.learners.class_means import ClassMeansHead
from reticent.protect.learners.lda import LDAHead
from reticent.protect.learners.learner import Learner
from reticent.protect.learners.noisy_gradient import NoisyGradientHead
from reticent.protect.learners.recipe import Recipe
from reticent.protect.learners.regression import AdaSSPRegressor
from reticent.protect.learners.regression_recipe import RegressionRecipe
from reticent.protect.learners.sufficient_statistics import AdaSSPHead
from reticent.validation import InputError

CLASSIFIERS: Final[dict[str, type[Learner]]] = {
    kind.name: kind for kind in (NoisyGradientHead, ClassMeansHead, AdaSSPHead, LDAHead)
}
LEARNERS: Final[dict[str, type[Learner] | type[AdaSSPRegressor]]] = {
    **CLASSIFIERS,
    AdaSSPRegressor.name: AdaSSPRegressor,
}
_SAME: Final = 1e-9
"""Relative: the last digits of a share depend on the mathematical library."""


def recipe_misfits(learner: str, recipe: Recipe, claim: Guarantee, mechanism: str) -> list[str]:
    """Where a certificate's recipe is not what the installed learner plans for the same terms."""
    try:
        planned = _planned_recipe(learner, recipe, claim, mechanism)
    except InputError as error:
        return [f"the learner cannot be planned from these numbers: {error}"]
    return [
        f"{field.name} is {getattr(recipe, field.name)}, and {learner} has"
        f" {getattr(planned, field.name)}"
        for field in dataclasses.fields(planned)
        if not _equal(getattr(recipe, field.name), getattr(planned, field.name))
    ]


def _planned_recipe(learner: str, recipe: Recipe, claim: Guarantee, mechanism: str) -> Recipe:
    public: dict[str, Any] = {
        "records": recipe.records,
        "records_each": recipe.records_each,
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "relation": claim.relation,
        "mechanism": mechanism,
    }
    if isinstance(recipe, RegressionRecipe):
        bounds: dict[str, Any] = {"bound": recipe.bound, "target_bound": recipe.target_bound}
        return AdaSSPRegressor(**bounds, **public)._recipe(recipe.features)
    kind = CLASSIFIERS[learner]
    return kind(classes=range(recipe.classes), **public)._recipe(recipe.features, recipe.classes)


def _equal(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=_SAME)
    return one == other
