"""Records as scikit-learn checks them, with messages that hold no private value."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from reticent.validation import InputError

Floats = NDArray[np.float64]


@contextmanager
def without_private_values() -> Iterator[None]:
    """Errors of scikit-learn, cut down to their first line and without the values they quote."""
    try:
        yield
    except InputError:
        raise
    except (ValueError, TypeError) as error:
        raise type(error)(_first_line(str(error))) from None


def classified_records(
    estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, *, declared: bool
) -> tuple[Floats, NDArray[Any]]:
    """Rows in float64 and their labels.

    Where the classes are ``declared`` there may be no records, and labels are judged one by one,
    against the classes: what scikit-learn says of all labels together depends on the data set.
    """
    fewest = 0 if declared else 1
    with without_private_values():
        rows, labels = validate_data(estimator, X, y, dtype=np.float64, ensure_min_samples=fewest)
        if not declared:
            check_classification_targets(labels)
    return rows, labels


def indices_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """The place of each label among the classes; a label that is none of them is refused."""
    order = np.argsort(classes, kind="stable")
    places = np.searchsorted(classes, labels, sorter=order)
    found = order[np.minimum(places, len(order) - 1)]
    wrong = np.flatnonzero(classes[found] != labels)
    if wrong.size:
        raise InputError(f"label of row {wrong[0]} must be one of the classes, got another")
    return np.asarray(found, dtype=np.int64)


def _first_line(message: str) -> str:
    line = message.splitlines()[0]
    for quoted in (": '", ": array", ": b'", ": np.", ': "'):
        line = line.split(quoted)[0]
    return f"{line} Reshape your data." if "Reshape your data" in message else line
