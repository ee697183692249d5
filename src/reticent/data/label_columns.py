"""Labels that are no classes, from a table without a schema: a number, or several of 0 and 1."""

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reticent.data.dataset import Dataset, where
from reticent.data.tables import read_table
from reticent.validation import InputError


def with_label_columns(
    data: Dataset, path: str | os.PathLike[str], labels: Sequence[str], *, numbers: bool
) -> Dataset:
    """The records of a table with these columns as labels.

    Args:
        data: The features of the table, without labels.
        path: The same file.
        labels: One column of numbers, or several whose cells are 0 or 1, all public names.
        numbers: Whether the label is a number to predict.
    """
    label_values = read_table(path, label=None, features=list(labels)).features.astype(np.float64)
    if len(label_values) != len(data):
        raise InputError(
            f"{data.name} must have a label for each record, got {len(label_values)} labels"
        )
    if numbers:
        return replace(data, labels=label_values[:, 0], public_classes=True)
    wrong = np.argwhere((label_values != 0) & (label_values != 1))
    if len(wrong):
        row, column = map(int, wrong[0])
        raise InputError(
            f"{data.name} must hold 0 or 1 in each column of labels, got another in {where(row)},"
            f" column {labels[column]!r}: a schema reads other spellings (true-false)"
        )
    several = label_values.astype(np.int64)  # the names of columns were said: they are public
    return replace(data, labels=several, classes=tuple(labels), public_classes=True)
