"""The records that a release is made of, checked one by one before anything is charged.

The theorems are about finite rows and labels of the recipe's kind: a row of infinities has no
direction, and a label beyond the classes would weigh as much as many records.
"""

import numpy as np
from numpy.typing import ArrayLike

from reticent.arrays import Array, Floats
from reticent.data.dataset import where
from reticent.protect.recipe import Recipe
from reticent.validation import InputError, float_rows

_BLOCK = 4096


def checked_records(recipe: Recipe, rows: ArrayLike, labels: ArrayLike) -> tuple[Floats, Array]:
    """Rows and labels that the recipe's theorem is about; a record that is none is refused.

    Args:
        recipe: What will be learned of them.
        rows: Finite numbers, one column for each feature of the recipe.
        labels: Places among the classes, or finite targets; of an encoder or a statistic they are
            not looked at. Several labels of a record are checked by the head that is fitted on
            them.
    """
    finite_rows = _finite_rows(rows)
    if finite_rows.shape[1] != recipe.features:
        raise InputError(f"rows must have {recipe.features} features, got {finite_rows.shape[1]}")
    marks = np.asarray(labels)
    if recipe.task not in ("classification", "regression"):
        return finite_rows, marks
    if len(marks.shape) == 0 or len(marks) != len(finite_rows):
        raise InputError(
            f"labels must be one for each of {len(finite_rows)} rows, got {marks.shape}"
        )
    if getattr(recipe, "outputs", "") == "sigmoid":
        return finite_rows, marks
    if marks.ndim != 1:
        raise InputError(f"labels must be one number for each row, got shape {marks.shape}")
    if recipe.task == "regression":
        return finite_rows, _targets(marks)
    return finite_rows, _places(marks, recipe.classes)


def _finite_rows(rows: ArrayLike) -> Floats:
    """Plain float64 rows: not copied where they are that already, a large table least of all."""
    if type(rows) is not np.ndarray or rows.dtype != np.float64 or rows.ndim != 2:
        return float_rows("rows", rows)
    for start in range(0, len(rows), _BLOCK):
        wrong = np.flatnonzero(~np.isfinite(rows[start : start + _BLOCK]).all(axis=1))
        if len(wrong):
            raise InputError(f"rows must be finite, got another in {where(start + int(wrong[0]))}")
    return rows


def _places(marks: Array, classes: int) -> Array:
    if marks.dtype.kind not in "iu" and marks.size:
        raise InputError(f"labels must be places among the classes, got {marks.dtype}")
    wrong = np.flatnonzero((marks < 0) | (marks >= classes))
    if len(wrong):
        raise InputError(
            f"labels must be places among {classes} classes, from 0, got another in"
            f" {where(int(wrong[0]))}"
        )
    return marks.astype(np.int64)


def _targets(marks: Array) -> Array:
    if marks.dtype.kind not in "iuf":
        raise InputError(f"labels must be real numbers, got {marks.dtype}")
    targets = marks.astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(targets))
    if len(wrong):
        raise InputError(f"labels must be finite, got another in {where(int(wrong[0]))}")
    return targets
