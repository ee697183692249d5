"""Shadow models that the target's owner trains: a function (X, y, seed) → model."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin

from reticent.arrays import Array, ArrayLike, Floats
from reticent.attacks.targets import FunctionTarget, ModelTarget, Target, TorchTarget
from reticent.validation import InputError

TrainFunction = Callable[[Array, Array, int], Any]
"""Rows, labels and a seed in; a fitted model, a torch module or a function of rows out."""
_NEVER = -690.0
"""The logit of a class that a shadow never saw: the logarithm of 1e-300."""


class FunctionShadow(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What ``train(X, y, seed)`` returns, behind the target's classes.

    Args:
        train: The owner's way to train the target.
        classes: The target's, in the order of its answers; what a torch module or a function
            answers has a column for each. Labels are whole numbers where all classes are.
        random_state: The seed of this shadow.
    """

    def __init__(self, train: TrainFunction, classes: list[Any], random_state: int = 0) -> None:
        self.train = train
        self.classes = classes
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """One training by the function."""
        labels = _as_numbers(np.asarray(y), self.classes)
        model = self.train(np.asarray(X), labels, int(self.random_state))
        self.classes_ = np.asarray(self.classes)
        self.target_ = _target(model, self.classes)
        return self

    def logits(self, X: ArrayLike) -> Floats:
        """A column for each class of the target."""
        answers = self.target_.logits(X)
        places = {str(name): place for place, name in enumerate(self.classes)}
        own = [places.get(str(name), -1) for name in self.target_.classes]
        if min(own) < 0:
            raise InputError("shadow model must know the classes of the target, got others")
        logits = np.full((len(answers), len(places)), _NEVER)
        logits[:, own] = answers
        return logits

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The softmax of the logits."""
        return np.asarray(special.softmax(self.logits(X), axis=1))

    def predict(self, X: ArrayLike) -> Array:
        """The likeliest class of each row."""
        chosen: Array = self.classes_[self.logits(X).argmax(axis=1)]
        return chosen


def _as_numbers(labels: Array, classes: list[Any]) -> Array:
    """Whole numbers where all classes are texts of such: a file has texts for them."""
    if all(isinstance(name, str) and name.isascii() and name.isdigit() for name in classes):
        return labels.astype(np.int64)
    return labels


def _target(model: Any, classes: list[Any]) -> Target:
    if isinstance(model, Target):
        return model
    if hasattr(model, "classes_"):
        return ModelTarget(model)
    if hasattr(model, "state_dict"):
        return TorchTarget(model, classes=classes)
    if callable(model):
        return FunctionTarget(model, classes=classes)
    raise InputError(
        "shadow model must be trained to a fitted model, a torch module or a function, got"
        f" {type(model).__name__}"
    )
