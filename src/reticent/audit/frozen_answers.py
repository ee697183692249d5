"""The answers of one model to fixed queries, asked once and served by row number.

A bootstrap scores a model thousands of times on the same queries; and a protected model that adds
noise to its answers must not be asked twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import ClassifierTags, Tags, TargetTags, get_tags
from sklearn.utils.metaestimators import available_if

from reticent.arrays import Array, Integers
from reticent.validation import InputError


def _answered(method: str) -> Callable[[FrozenAnswers], bool]:
    return lambda self: hasattr(self._model, method)


class FrozenAnswers:
    """A model for scikit-learn's scorers: where they pass X, they pass row numbers of the queries.

    It has the response methods that the model has, and calls each at most once, when it is needed.
    """

    def __init__(self, model: Any, X: Any, *, records: int) -> None:
        self._model = model
        self._queries = X
        self._records = records
        self._answers: dict[str, Array] = {}

    @property
    def classes_(self) -> Array:
        """Those of the model, which has none if it is no classifier."""
        return np.asarray(self._model.classes_)

    @available_if(_answered("predict"))  # type: ignore[untyped-decorator]
    def predict(self, rows: Integers) -> Array:
        """The labels that were recorded for these rows."""
        return self._answer("predict", rows)

    @available_if(_answered("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, rows: Integers) -> Array:
        """Probabilities, one column per class."""
        return self._answer("predict_proba", rows)

    @available_if(_answered("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, rows: Integers) -> Array:
        """The logarithms of the recorded probabilities."""
        return self._answer("predict_log_proba", rows)

    @available_if(_answered("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, rows: Integers) -> Array:
        """The decision values that were recorded for these rows."""
        return self._answer("decision_function", rows)

    def __sklearn_tags__(self) -> Tags:
        """The model's; one that is no scikit-learn estimator is a classifier if it has classes."""
        if hasattr(self._model, "__sklearn_tags__"):
            return get_tags(self._model)
        kind = "classifier" if hasattr(self._model, "classes_") else None
        return Tags(
            estimator_type=kind,
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags() if kind else None,
        )

    def _answer(self, method: str, rows: Integers) -> Array:
        if method not in self._answers:
            answers = np.asarray(getattr(self._model, method)(self._queries))
            if answers.shape[:1] != (self._records,):
                raise InputError(
                    f"{method} must answer each of {self._records} records, got shape "
                    f"{answers.shape}"
                )
            self._answers[method] = answers
        chosen: Array = self._answers[method][rows]
        return chosen
