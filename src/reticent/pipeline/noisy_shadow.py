"""A shadow of a learner with the noise inside: the same sums, with noise from a seed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from reticent.mechanisms import AdditiveMechanism
from reticent.pipeline.learning import learner_like
from reticent.protect import ReleasedLinear
from reticent.randomness import seeded

Floats = NDArray[np.float64]


class NoisyShadow(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The learner of a release, trained by an adversary: nothing is protected by its noise.

    Args:
        released: What was released; its certificate tells the learner and all public numbers.
        random_state: Of the noise, which is plain floats.
    """

    def __init__(self, released: ReleasedLinear, random_state: int = 0) -> None:
        self.released = released
        self.random_state = random_state

    @property
    def classes(self) -> NDArray[Any]:
        """All of them, in the order that was declared; a part of the records may lack one."""
        return self.released.classes_

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """The learner's own way through its sums."""
        generator = seeded("noise of a shadow", self.random_state)

        def answer(noise: AdditiveMechanism, value: Floats) -> Floats:
            return np.asarray(noise.with_float_noise(generator).release(value))

        self.classes_ = self.released.classes_
        numbers = learner_like(self.released).watched(X, y)(answer)
        weights = self.released.weights
        self.model_ = replace(
            self.released,
            weights=numbers[: weights.size].reshape(weights.shape),
            offsets=numbers[weights.size :],
        )
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Scores of the shadow."""
        return self.model_.decision_function(X)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities of the shadow."""
        return self.model_.predict_proba(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Labels of the shadow."""
        return self.model_.predict(X)
