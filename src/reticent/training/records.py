"""Records as scikit-learn checks them, with messages that hold no private value."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from reticent.arrays import Array, ArrayLike, Floats, Integers
from reticent.data.cells import plain_cells
from reticent.training.features import MappedRows
from reticent.validation import InputError, has_type


@contextmanager
def without_private_values() -> Iterator[None]:
    """Errors of scikit-learn, cut down to their first line and without the values they quote."""
    try:
        yield
    except InputError:
        raise
    except OverflowError:  # a whole number beyond float64
        raise InputError("numbers must fit a float, got an integer beyond 1.8e308") from None
    except (ValueError, TypeError) as error:
        raise type(error)(_first_line(str(error))) from None


def classified_records(
    estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, *, declared: bool
) -> tuple[Floats, Array]:
    """Rows in float64 and their labels.

    Where the classes are ``declared`` there may be no records, and labels are judged one by one,
    against the classes: what scikit-learn says of all labels together depends on the data set, and
    so does the one type that numpy gives to the labels of a list. They stay objects here.
    """
    if isinstance(X, MappedRows):
        return _checked_before(estimator, X, y)
    fewest = 0 if declared else 1
    cells = plain_cells(y) if declared and y is not None else y
    with without_private_values():
        rows, labels = validate_data(
            estimator, X, cells, dtype=np.float64, ensure_min_samples=fewest
        )
        if not declared:
            check_classification_targets(labels)
    return rows, labels


def _checked_before(estimator: BaseEstimator, X: MappedRows, y: ArrayLike) -> tuple[Floats, Array]:
    """Rows of a ``Dataset``, which looked at them when it was made; they are not held here."""
    labels = np.asarray(y)
    if labels.shape != (len(X),):
        raise InputError(f"y must have {len(X)} labels, got shape {labels.shape}")
    vars(estimator)["n_features_in_"] = X.shape[1]
    return cast("Floats", X), labels


def indices_of(labels: Array, classes: Array) -> Integers:
    """The place of each label among the classes; a label that is none of them is refused."""
    if labels.dtype == object:
        chosen = _found_one_by_one(labels, classes)
        wrong = np.flatnonzero(chosen < 0)
    else:
        order = np.argsort(classes, kind="stable")
        places = np.searchsorted(classes, labels, sorter=order)
        chosen = order[np.minimum(places, len(order) - 1)]
        wrong = np.flatnonzero(classes[chosen] != labels)
    if wrong.size:
        raise InputError(f"label of row {wrong[0]} must be one of the classes, got another")
    return np.asarray(chosen, dtype=np.int64)


def real_targets(y: Any) -> Any:
    """Targets of a regression for scikit-learn to check; those of a list become floats one by one.

    To be called within ``without_private_values``: numpy's messages show the cell.
    """
    return y if y is None or has_type(y) else np.asarray(y, dtype=np.float64)


def _found_one_by_one(labels: Array, classes: Array) -> Integers:
    """As Python compares values: exactly, and 1 is 1.0 and True. −1 for what is no class."""
    place = {name: index for index, name in enumerate(classes.tolist())}

    def of(label: Any) -> int:
        try:
            return place.get(label.item() if isinstance(label, np.generic) else label, -1)
        except TypeError:  # a list has no hash, and is no class
            return -1

    return np.array([of(label) for label in labels], dtype=np.int64)


def _first_line(message: str) -> str:
    line = message.splitlines()[0]
    for quoted in (": '", ": array", ": b'", ": np.", ': "'):
        line = line.split(quoted)[0]
    return f"{line} Reshape your data." if "Reshape your data" in message else line
