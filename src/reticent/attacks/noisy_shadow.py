"""A shadow of a learner with the noise inside: the same sums, with noise from a seed."""

from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin

from reticent.arrays import Array, Floats
from reticent.mechanisms import AdditiveMechanism
from reticent.protect import Release
from reticent.protect.recipe import replay, tensors_of, with_scales
from reticent.randomness import seeded
from reticent.training.records import indices_of
from reticent.validation import float_rows


class NoisyShadow(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The learner of a release, trained by an adversary: nothing is protected by its noise.

    Args:
        released: What was released; its certificate tells the learner and all public numbers.
        random_state: Of the noise, which is plain floats.
    """

    def __init__(self, released: Release, random_state: int = 0) -> None:
        self.released = released
        self.random_state = random_state

    @property
    def classes(self) -> Array:
        """All of them, in the order that was declared; a part of the records may lack one."""
        return self.released.classes_

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """The learner's own way through its sums."""
        generator = seeded("noise of a shadow", self.random_state)

        def answer(noise: AdditiveMechanism, value: Floats) -> Floats:
            return np.asarray(noise.with_float_noise(generator).release(value))

        released = self.released
        self.classes_ = released.classes_
        plan = with_scales(released.recipe, released.scales, released.terms)
        labels = indices_of(np.asarray(y), released.classes_)
        numbers = replay(released.recipe, plan, float_rows("X", X), labels)(answer)
        self.model_ = replace(released, tensors=tensors_of(released.recipe, numbers))
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Scores of the fitted shadow, as the release gives them."""
        return self.model_.decision_function(X)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities of the fitted shadow, a column per class."""
        return self.model_.predict_proba(X)

    def predict(self, X: ArrayLike) -> Array:
        """The labels that the fitted shadow predicts."""
        return self.model_.predict(X)
