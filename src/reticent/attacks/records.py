"""Records that an attack scores, or that an adversary has: inputs with their labels."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.data import Dataset
from reticent.training.records import indices_of
from reticent.validation import InputError


@dataclass(frozen=True)
class Records:
    """n inputs (features, images, texts, or numbers of rows) and n labels; no membership.

    >>> records = Records(np.zeros((2, 3)), ["cat", "dog"])
    >>> len(records), records.among(["dog", "cat"])
    (2, array([1, 0]))
    """

    inputs: NDArray[Any]
    labels: NDArray[Any]

    def __init__(self, inputs: ArrayLike, labels: ArrayLike) -> None:
        found, wanted = np.asarray(inputs), np.asarray(labels)
        if found.ndim == 0 or wanted.shape != found.shape[:1]:
            raise InputError(
                f"records must have one label each, got {found.shape} inputs and"
                f" {wanted.shape} labels"
            )
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            raise InputError("inputs must be finite, got NaN or infinity")
        object.__setattr__(self, "inputs", found)
        object.__setattr__(self, "labels", wanted)

    @classmethod
    def of(cls, data: Dataset) -> Records:
        """Features and named classes of a data set."""
        if data.labels is None or not data.classes:
            raise InputError(f"{data.name} must have classes to be attacked, got no labels")
        return cls(data.features.astype(np.float64), np.asarray(data.classes)[data.labels])

    def __len__(self) -> int:
        return len(self.inputs)

    def take(self, rows: ArrayLike) -> Records:
        """The records at these positions (or of this mask), in this order."""
        chosen = np.asarray(rows)
        return Records(self.inputs[chosen], self.labels[chosen])

    def joined(self, others: Records) -> Records:
        """These, then the others."""
        return Records(
            np.concatenate([self.inputs, others.inputs]),
            np.concatenate([self.labels, others.labels]),
        )

    def among(self, classes: ArrayLike) -> NDArray[np.int64]:
        """The place of each label in the list of classes; another label is refused."""
        return indices_of(self.labels, np.asarray(classes))

    @cached_property
    def keys(self) -> tuple[bytes, ...]:
        """A hash of each record with its label: equal records are found by it. Keep it private."""
        rows = np.ascontiguousarray(self.inputs.astype(_plain(self.inputs)))
        return tuple(
            hashlib.sha256(row.tobytes() + b"\0" + str(label).encode()).digest()
            for row, label in zip(rows, self.labels, strict=True)
        )


def _plain(inputs: NDArray[Any]) -> Any:
    """float32 and float64 rows of equal values are equal records."""
    return np.float64 if inputs.dtype.kind in "fiub" else inputs.dtype
