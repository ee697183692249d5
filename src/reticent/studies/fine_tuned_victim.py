"""A text encoder fine-tuned without privacy, as a victim of attacks and as its own shadows."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin

from reticent.arrays import Array, ArrayLike, Floats
from reticent.attacks import Records
from reticent.data import load
from reticent.guarantee import Relation
from reticent.protect import ReleaseRequest
from reticent.protect.noise_scales import noise_plan
from reticent.protect.recipe import replay, tensors_of
from reticent.studies.network_training import Training
from reticent.training.networks import token_encoder
from reticent.training.records import indices_of

LENGTH: Final = 32
"""Tokens of a text at most."""


@dataclass(frozen=True, kw_only=True)
class FineTunedVictim:
    """Adapters and a head from public weights, by the steps of DP-SGD without any noise."""

    training: Training

    def head(self, records: Records, *, members: int, seed: int) -> "NoiselessNetwork":
        """Untrained, with all classes of the records."""
        classes = np.unique(records.labels).tolist()
        return NoiselessNetwork(self.training, classes, records=members, random_state=seed)

    def __str__(self) -> str:
        """For a note below a table."""
        return f"{self.training}, without noise and hardly clipped"


class NoiselessNetwork(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A network that takes the steps of its recipe with exact sums.

    Args:
        training: Its constants.
        classes: All of them, in the order of the scores.
        records: About how many it is trained on, which the sampling rate follows from.
        random_state: Of the first weights of the head.
    """

    def __init__(
        self, training: Training, classes: Sequence[Any], records: int, random_state: int = 0
    ) -> None:
        self.training = training
        self.classes = classes
        self.records = records
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """All steps; nothing is released, so ε is of no account."""
        rows = np.asarray(X, dtype=np.float64)
        request = ReleaseRequest.of(
            epsilon=8.0,
            delta=1e-5,
            relation=Relation.ADD_REMOVE,
            records=self.records,
            recipe="network",
            exact=False,
            seed=int(self.random_state),
            **{name: value for name, value in asdict(self.training).items() if value},
        )
        self.classes_ = np.asarray(self.classes)
        self.recipe_ = request.planned(rows.shape[1], len(self.classes_))
        labels = indices_of(np.asarray(y), self.classes_)
        plan = noise_plan(self.recipe_, request.terms)
        numbers = replay(self.recipe_, plan, rows, labels)(lambda _, value: value)
        self.tensors_ = tensors_of(self.recipe_, numbers)
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """A logit for each class."""
        return self.recipe_.scores(self.tensors_, np.asarray(X, dtype=np.float64))

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The softmax of the logits."""
        return np.asarray(special.softmax(self.decision_function(X), axis=1))

    def predict(self, X: ArrayLike) -> Array:
        """The likeliest class of each row."""
        chosen: Array = self.classes_[self.decision_function(X).argmax(axis=1)]
        return chosen


def token_records(names: Sequence[str], architecture: str, folder: Path | None) -> Records:
    """The texts of these parts, each as the tokens that the encoder sees."""
    parts = [load(name, folder) for name in names]
    encoder = token_encoder(architecture, LENGTH)
    rows = np.concatenate([encoder.encode(part.texts) for part in parts])
    return Records(rows.astype(np.float64), np.concatenate([part.labels for part in parts]))
