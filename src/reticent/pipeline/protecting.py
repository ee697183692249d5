"""From a table of private features to a released head: cap, choose a penalty, fit, release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reticent.data import Dataset
from reticent.guarantee import Relation
from reticent.protect import ReleasedHead, public_penalty, release_weights
from reticent.training import SoftmaxHead
from reticent.training.features import radius
from reticent.validation import InputError, count


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is asked of a release; every number is public and said by the user."""

    epsilon: float
    delta: float
    relation: Relation
    records: int
    bound: float
    mechanism: str = "gaussian"
    intercept: float = 1.0
    penalty: float | None = None
    records_each: int = 1


def protect_head(data: Dataset, wanted: Wanted) -> ReleasedHead:
    """A softmax head on the features, fitted and released once.

    With persons in the data each keeps its first ``records_each`` rows, and the person is the unit.
    """
    if not data.public_classes:
        raise InputError("classes must be declared for a proven release, got them from the labels")
    if data.labels is None:
        raise InputError("data must have labels, got none")
    rows = np.arange(len(data)) if data.persons is None else capped(data.persons, wanted)
    features = data.features[rows].astype(np.float64)
    head = SoftmaxHead(
        penalty=_penalty(wanted, features.shape[1], len(data.classes)),
        bound=wanted.bound,
        classes=data.classes,
        records=wanted.records,
        intercept=wanted.intercept,
    )
    head.fit(features, np.asarray(data.classes)[data.labels[rows]])
    return release_weights(
        head,
        epsilon=wanted.epsilon,
        delta=wanted.delta,
        relation=wanted.relation,
        mechanism=wanted.mechanism,
        records_each=wanted.records_each,
    )


def capped(persons: NDArray[np.generic], wanted: Wanted) -> NDArray[np.int64]:
    """The first rows of each person: which ones depends on that person's rows alone."""
    most = count("records_each", wanted.records_each)
    order = np.argsort(persons, kind="stable")
    ordered = persons[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    place = np.arange(len(persons)) - np.repeat(starts, np.diff(np.append(starts, len(persons))))
    return np.sort(order[place < most])


def _penalty(wanted: Wanted, features: int, classes: int) -> float:
    if wanted.penalty is not None:
        return wanted.penalty
    width = features + (1 if wanted.intercept else 0)
    return public_penalty(
        records=wanted.records,
        radius=radius(wanted.bound, wanted.intercept),
        coordinates=(classes - 1) * width,
        epsilon=wanted.epsilon,
        delta=wanted.delta,
        relation=wanted.relation,
        mechanism=wanted.mechanism,
        records_each=wanted.records_each,
    )
