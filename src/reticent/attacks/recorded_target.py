"""Answers that somebody wrote down, found again by the record that was asked."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.arrays import Floats
from reticent.attacks.records import Records
from reticent.attacks.targets import AnsweredTarget, Target
from reticent.validation import InputError


class RecordedTarget(Target):
    """The rows of an answered target, one for each of these records in their order.

    A shadow model is asked with features, so the target must be too. Of equal records the first
    one's answer stands for all, unless all records are asked in their order.
    """

    def __init__(self, answers: AnsweredTarget, records: Records) -> None:
        if len(answers) != len(records):
            raise InputError(
                f"answers must be one row for each of {len(records)} records, members first and"
                f" then the others, got {len(answers)}"
            )
        self.classes = answers.classes
        self._logits = answers.logits(np.arange(len(answers)))
        self._inputs = records.inputs
        self._places: dict[bytes, int] = {}
        for place, key in enumerate(_keys(records.inputs)):
            self._places.setdefault(key, place)

    def logits(self, inputs: ArrayLike) -> Floats:
        """Of records that were answered; others are refused."""
        asked = np.asarray(inputs)
        if np.array_equal(asked, self._inputs):
            return self._logits
        places = [self._places.get(key, -1) for key in _keys(asked)]
        if min(places, default=0) < 0:
            raise InputError("queries must be records that were answered, got others")
        found: Floats = self._logits[places]
        return found


def _keys(inputs: NDArray[np.generic]) -> tuple[bytes, ...]:
    return Records(inputs, np.zeros(len(inputs), dtype=np.int64)).keys
