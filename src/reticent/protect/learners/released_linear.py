"""One affine layer that a learner released: public from now on."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from reticent.frozen import frozen
from reticent.guarantee import Grade, Guarantee
from reticent.protect.learners.recipe import Plan, Recipe
from reticent.protect.noisy_query import minted
from reticent.training.features import scale_rows
from reticent.validation import InputError, float_rows

Floats = NDArray[np.float64]


class Affine(NamedTuple):
    """W (a row per class) and b."""

    weights: Floats
    offsets: Floats


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleasedLinear:
    """Scores W u + b of rows u that are scaled to norm 1; made from noisy sums alone.

    ``recipe`` and ``scales`` are the public numbers from which anybody computes ε anew.
    """

    learner: str
    weights: Floats
    offsets: Floats
    classes_: NDArray[Any]
    guarantee: Guarantee
    mechanism: str
    recipe: Recipe
    scales: dict[str, float]

    def __post_init__(self) -> None:
        """Whoever builds one by hand, or changes a field, has a declared guarantee at most."""
        if self.guarantee.grade is Grade.PROVEN:
            declared = dataclasses.replace(self.guarantee, grade=Grade.DECLARED)
            object.__setattr__(self, "guarantee", declared)
        for name in ("weights", "offsets", "classes_"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        shape = (self.recipe.classes, self.recipe.features)
        if self.weights.shape != shape or self.offsets.shape != shape[:1]:
            raise InputError(f"weights must have shape {shape}, got {self.weights.shape}")
        if len(self.classes_) != shape[0]:
            raise InputError(f"classes must be {shape[0]}, got {len(self.classes_)}")

    def logits(self, X: ArrayLike) -> Floats:
        """W u + b."""
        rows = float_rows("X", X)
        if rows.shape[1] != self.weights.shape[1]:
            raise InputError(f"X must have {self.weights.shape[1]} features, got {rows.shape[1]}")
        scores: Floats = scale_rows(rows, 1.0) @ self.weights.T + self.offsets
        return scores

    def decision_function(self, X: ArrayLike) -> Floats:
        """Logits; for two classes the difference of the second and the first."""
        logits = self.logits(X)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Softmax of the logits."""
        return np.asarray(special.softmax(self.logits(X), axis=1))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of the largest logit."""
        chosen: NDArray[Any] = self.classes_[self.logits(X).argmax(axis=1)]
        return chosen


def minted_linear(
    learner: str,
    affine: Affine,
    claim: Guarantee,
    *,
    classes: NDArray[Any],
    recipe: Recipe,
    plan: Plan,
) -> ReleasedLinear:
    """The release, graded proven: the learner made it from the plan's noisy sums alone."""
    released = ReleasedLinear(
        learner=learner,
        weights=affine.weights,
        offsets=affine.offsets,
        classes_=np.array(classes),
        guarantee=claim,
        mechanism=next(iter(plan.values())).noise.name,
        recipe=recipe,
        scales={name: step.noise.scale for name, step in plan.items()},
    )
    object.__setattr__(released, "guarantee", minted(claim))
    return released
