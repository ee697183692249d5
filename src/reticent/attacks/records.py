"""Records that an attack scores, or that an adversary has: inputs with their labels."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reticent.arrays import Array, ArrayLike, Integers
from reticent.data import Dataset
from reticent.training.records import indices_of
from reticent.validation import InputError


@dataclass(frozen=True, eq=False)
class Records:
    """n inputs (features, images, texts, or numbers of rows) and n labels; no membership.

    >>> records = Records(np.zeros((2, 3)), ["cat", "dog"])
    >>> len(records), records.among(["dog", "cat"])
    (2, array([1, 0]))
    """

    inputs: Array
    labels: Array

    def __init__(self, inputs: ArrayLike, labels: ArrayLike) -> None:
        input_array, label_array = _array("inputs", inputs), _array("labels", labels)
        if input_array.ndim == 0 or label_array.shape != input_array.shape[:1]:
            raise InputError(
                f"records must have one label each, got {input_array.shape} inputs and"
                f" {label_array.shape} labels"
            )
        if input_array.dtype.kind == "f" and not np.isfinite(input_array).all():
            raise InputError("inputs must be finite, got NaN or infinity")
        object.__setattr__(self, "inputs", input_array)
        object.__setattr__(self, "labels", label_array)

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
        if chosen.dtype.kind == "b" and chosen.shape != (len(self),):
            raise InputError(f"mask must be of {len(self)} records, got shape {chosen.shape}")
        if chosen.dtype.kind not in "biu" or chosen.ndim != 1:
            raise InputError(f"rows must be whole numbers or a mask, got {chosen.dtype}")
        if chosen.size and not -len(self) <= chosen.min() <= chosen.max() < len(self):
            raise InputError(f"rows must be among 0 to {len(self) - 1}, got others")
        return Records(self.inputs[chosen], self.labels[chosen])

    def joined(self, others: Records) -> Records:
        """These, then the others; inputs of another shape are refused."""
        if self.inputs.shape[1:] != others.inputs.shape[1:]:
            raise InputError(
                f"inputs must be of one shape to be joined, got {self.inputs.shape[1:]} and"
                f" {others.inputs.shape[1:]}"
            )
        return Records(
            np.concatenate([self.inputs, others.inputs]),
            np.concatenate([self.labels, others.labels]),
        )

    def among(self, classes: ArrayLike) -> Integers:
        """The place of each label in the list of classes; another label is refused.

        Where one side is texts (columns of a file are), both are compared as texts.
        """
        labels, names = self.labels, np.asarray(classes)
        if (labels.dtype.kind in "US") != (names.dtype.kind in "US"):
            labels, names = labels.astype(np.str_), names.astype(np.str_)
        return indices_of(labels, names)

    @cached_property
    def keys(self) -> tuple[bytes, ...]:
        """A hash of each record with its label: equal records are found by it. Keep it private."""
        return tuple(
            hashlib.sha256(row + b"\0" + str(label).encode()).digest()
            for row, label in zip(_contents(self.inputs), self.labels, strict=True)
        )


def _array(name: str, value: ArrayLike) -> Array:
    """Numbers or texts; a list of texts that became objects on the way is texts again."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise InputError(f"{name} must be rectangular, got rows of unequal length") from None
    if array.dtype.kind == "O" and all(isinstance(cell, str) for cell in array.flat):
        array = array.astype(np.str_)
    if array.dtype.kind not in "biufU":
        raise InputError(f"{name} must hold numbers or texts, got an array of {array.dtype}")
    return array


def _contents(inputs: Array) -> Iterator[bytes]:
    """The bytes of each row: equal values in other types, and −0, are equal."""
    if inputs.dtype.kind == "U":  # whose bytes depend on the longest text of the array
        yield from ("\0".join(map(str, np.atleast_1d(row))).encode() for row in inputs)
    else:
        numbers = np.ascontiguousarray(inputs.astype(np.float64) + 0.0)
        yield from (row.tobytes() for row in numbers)
