"""The loss attack (Yeom et al. 2018): members have smaller losses. Black box, scores needed."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.validation import InputError

Floats = NDArray[np.float64]

_SMALLEST = 1e-300
"""A probability of 0 has an infinite loss; all of them rank alike."""


class Scoring(Protocol):
    """Whatever answers with probabilities, one column per class."""

    classes_: NDArray[Any]

    def predict_proba(self, X: ArrayLike) -> Floats:
        """One row per query."""
        ...


def loss_scores(target: Scoring, X: ArrayLike, y: ArrayLike) -> Floats:
    """log p(y | x): the larger, the more the record looks like a member."""
    probabilities, labels = np.asarray(target.predict_proba(X)), np.asarray(y)
    if labels.shape != probabilities.shape[:1]:
        raise InputError(
            f"y must have a label for each of {len(probabilities)} records, got {labels.shape}"
        )
    matches = labels[:, None] == np.asarray(target.classes_)[None, :]
    if not matches.any(axis=1).all():
        row = int(np.argmin(matches.any(axis=1)))
        raise InputError(f"label of row {row} must be a class of the target, got another")
    scores: Floats = np.log(np.maximum(probabilities[matches], _SMALLEST))
    return scores
