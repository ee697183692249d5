"""Attribute inference: a hidden attribute of a record, guessed from the features of an encoder.

The adversary has records of its own with the attribute, and features of the victims'. It fits ridge
regression on its own and guesses for the victims. That alone is no harm of the training: what a
population's features tell of an attribute they tell of everybody. The *gap*, by how much more often
the guess is right for records that the encoder was trained on than for others, is what training
gave away about its own records; differential privacy bounds it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from reticent.arrays import Flags, Floats, Integers
from reticent.attacks.encoder import check_encoder
from reticent.attacks.records import Records
from reticent.attacks.targets import Access, Threat
from reticent.training.encoders.base import Encoder
from reticent.validation import InputError, float_array, positive

PENALTY: Final = 0.1


@dataclass(frozen=True, kw_only=True, eq=False)
class AttributeInference:
    """Guesses of an attribute from features, by ridge regression on records of the adversary.

    Args:
        encoder: The encoder that was released, or any other.
        known: The adversary's records; their labels are the attribute.
        penalty: Of the regression, in units of the mean eigenvalue of the features' moment.
    """

    encoder: Encoder
    known: Records
    penalty: float = PENALTY

    name = "attribute inference"
    threat = Threat(access=Access.SCORES)

    def __post_init__(self) -> None:
        """An encoder, and records with at least two values of the attribute."""
        check_encoder("encoder", self.encoder)
        positive("penalty", self.penalty)
        if not isinstance(self.known, Records) or len(np.unique(self.known.labels)) < 2:
            raise InputError("known must be Records with two values of the attribute, got fewer")

    @property
    def most_common(self) -> int:
        """The guess without a look at any feature."""
        values, counts = np.unique(self.known.labels, return_counts=True)
        return int(values[counts.argmax()])

    def guesses(self, records: Records) -> Integers:
        """The likeliest value of each record's attribute; the records' own labels are not read."""
        values, centre, weights = self._fitted
        scores = (self._features(records) - centre) @ weights
        return np.asarray(values[scores.argmax(axis=1)], dtype=np.int64)

    def correct_guesses(self, records: Records) -> Flags:
        """Whether each guess is the record's label."""
        return np.asarray(self.guesses(records) == records.labels)

    def gap(self, members: Records, others: Records) -> float:
        """The share of right guesses among members, less that among others."""
        return float(self.correct_guesses(members).mean() - self.correct_guesses(others).mean())

    @cached_property
    def _fitted(self) -> tuple[Integers, Floats, Floats]:
        rows = self._features(self.known)
        values = np.unique(self.known.labels)
        centre = rows.mean(axis=0)
        rows = rows - centre
        targets = (self.known.labels[:, None] == values).astype(np.float64)
        moment = rows.T @ rows
        damping = self.penalty * max(float(np.trace(moment)), 1e-300) / len(moment)
        weights = np.linalg.solve(
            moment + damping * np.eye(len(moment)), rows.T @ (targets - targets.mean(axis=0))
        )
        return np.asarray(values, dtype=np.int64), centre, weights

    def _features(self, records: Records) -> Floats:
        features = float_array("features of the encoder", self.encoder.encode(records.inputs))
        if features.ndim != 2 or len(features) != len(records):
            raise InputError(
                f"encoder must answer {len(records)} records with one row each, got"
                f" {features.shape}"
            )
        return features
