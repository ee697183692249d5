"""Somebody's classifier behind classes that are texts, as the data of a run spell them."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier

from reticent.arrays import Array, ArrayLike, Floats
from reticent.validation import InputError

Spelled = Mapping[str, Any]
"""All classes of a run by their texts, each as the model's owner writes it."""


def is_fitted(model: Any) -> bool:
    """A classifier knows its classes from its fit on."""
    return model is not None and hasattr(model, "classes_")


def with_string_labels(
    model: Any, spelled: Spelled, private: tuple[Floats, Array]
) -> "FixedClassifier | None":
    """The model as it is, or fitted on the private rows; None for none."""
    if model is None:
        return None
    copied = _can_be_fitted(model)
    if not (is_fitted(model) or copied) or not hasattr(model, "predict_proba"):
        raise InputError(
            "model must be a classifier with predict_proba, and fitted (have classes_) or an"
            f" estimator of scikit-learn's to be fitted, got {type(model).__name__}"
        )
    classifier = (
        StringLabelClassifier(model, dict(spelled)) if copied else FixedClassifier(model, spelled)
    )
    if not is_fitted(model):
        assert isinstance(classifier, StringLabelClassifier)
        return classifier.fit(*private)
    classifier.estimator_ = model
    return classifier


def _can_be_fitted(model: Any) -> bool:
    """Whether it is a classifier of scikit-learn's kind, of which copies can be made."""
    if not (hasattr(model, "get_params") and hasattr(model, "fit")) or isinstance(model, type):
        return False
    try:
        return bool(is_classifier(model))
    except AttributeError:  # it does not tell what it is
        return False


class FixedClassifier:
    """A fitted model that cannot be fitted again: nobody makes shadows of its kind."""

    def __init__(self, estimator: Any, spelled: Spelled) -> None:
        self.estimator = self.estimator_ = estimator
        self.spelled = spelled

    @property
    def called(self) -> str:
        """The name of the wrapped model's class."""
        return type(self.estimator).__name__

    @property
    def classes_(self) -> Array:
        """All classes of the run, whether the model ever saw them or not."""
        return np.asarray(list(self.spelled), dtype=np.str_)

    def predict(self, X: ArrayLike) -> Array:
        """Texts: the model's own choice, or what it finds most probable."""
        if hasattr(self.estimator_, "predict"):
            return np.asarray(self.estimator_.predict(X)).astype(str)
        chosen: Array = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return chosen

    def predict_proba(self, X: ArrayLike) -> Floats:
        """A column for each class of the run; 0 for those that the model never saw."""
        answers = np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)
        own = np.asarray(self.estimator_.classes_).astype(str).tolist()
        places = {name: place for place, name in enumerate(self.spelled)}
        if answers.shape[1:] != (len(own),) or not set(own) <= set(places):
            raise InputError(
                f"model must answer with one column for each of its classes, all of them among the"
                f" {len(places)} of the run, got {answers.shape[1:]} for {len(own)} classes"
            )
        probabilities = np.zeros((len(answers), len(places)))
        probabilities[:, [places[name] for name in own]] = answers
        return probabilities


class StringLabelClassifier(FixedClassifier, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator that can be fitted again, on labels as its owner writes them."""

    def __init__(self, estimator: Any, spelled: Spelled) -> None:
        self.estimator = estimator
        self.spelled = spelled

    @property
    def classes(self) -> list[str]:
        """Of every copy: a part of the records may lack one."""
        return list(self.spelled)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """A copy of the estimator."""
        own = np.asarray([self.spelled[str(label)] for label in np.asarray(y)])
        self.estimator_ = clone(self.estimator).fit(X, own)
        return self
