"""One affine function that a learner released: public from now on."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.frozen import frozen
from reticent.guarantee import Grade, Guarantee
from reticent.protect.learners.recipe import Plan
from reticent.protect.learners.regression_recipe import RegressionRecipe
from reticent.protect.noisy_query import minted
from reticent.training.features import clip_rows
from reticent.validation import InputError, float_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleasedRegression:
    """B·(w·u + b) for rows u = x/R clipped to norm 1, within ±B; made from noisy sums alone.

    ``recipe`` (R and B among it) and ``scales`` are the public numbers from which anybody computes
    ε anew.
    """

    learner: str
    weights: Floats
    offset: float
    guarantee: Guarantee
    mechanism: str
    recipe: RegressionRecipe
    scales: dict[str, float]

    def __post_init__(self) -> None:
        """Whoever builds one by hand, or changes a field, has a declared guarantee at most."""
        if self.guarantee.grade is Grade.PROVEN:
            declared = dataclasses.replace(self.guarantee, grade=Grade.DECLARED)
            object.__setattr__(self, "guarantee", declared)
        object.__setattr__(self, "weights", frozen(self.weights))
        if self.weights.shape != (self.recipe.features,):
            raise InputError(
                f"weights must be {self.recipe.features} numbers, got shape {self.weights.shape}"
            )

    def predict(self, X: ArrayLike) -> Floats:
        """One number per row."""
        rows = float_rows("X", X)
        if rows.shape[1] != self.weights.size:
            raise InputError(f"X must have {self.weights.size} features, got {rows.shape[1]}")
        values = within(rows, self.recipe.bound) @ self.weights + self.offset
        return np.asarray(self.recipe.target_bound * np.clip(values, -1.0, 1.0))


def within(rows: Floats, bound: float) -> Floats:
    """Rows over their bound, at most 1 long: clipped before the division, and after it rounded."""
    return clip_rows(clip_rows(rows, bound) / bound, 1.0)


def minted_regression(
    learner: str,
    function: tuple[Floats, float],
    claim: Guarantee,
    *,
    recipe: RegressionRecipe,
    plan: Plan,
) -> ReleasedRegression:
    """The release, graded proven: the learner made it from the plan's noisy sums alone."""
    released = ReleasedRegression(
        learner=learner,
        weights=function[0],
        offset=function[1],
        guarantee=claim,
        mechanism=next(iter(plan.values())).noise.name,
        recipe=recipe,
        scales={name: step.noise.scale for name, step in plan.items()},
    )
    object.__setattr__(released, "guarantee", minted(claim))
    return released
