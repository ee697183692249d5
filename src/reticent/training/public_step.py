"""A step of a pipeline that was fitted on public data and is never fitted again."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from reticent.training.public_whitening import PublicWhitening
from reticent.training.records import without_private_values
from reticent.validation import InputError

_CELL_BY_CELL = (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    SimpleImputer,
    StandardScaler,
)
"""What these make of a cell depends on it and on what was fitted: additions, multiplications and
divisions by public numbers, each rounded by itself, or a look into a public table."""


class PublicStep(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Wraps a transformer that saw public data alone; ``fit`` leaves it as it is.

    A scaler that a pipeline fits on private rows is a release without noise, so a proven release
    refuses it (theory F7). Wrapped like this it is a public map; that its data was public is your
    word, and the guarantee says so.

    What comes out for a record depends on that record alone, bit by bit (theory F14). A matrix
    product (PCA) rounds a row differently among others, and a function may even look at all rows
    at once; so rows are shown to the wrapped step one by one, as batches of one. Scalers, encoders
    of categories, ``PublicWhitening`` and pipelines or column transformers of these look at one
    cell or row anyway and get all rows at once: one by one PCA takes about 0.4 ms a row, they 5 µs.

    >>> from sklearn.preprocessing import StandardScaler
    >>> step = PublicStep(StandardScaler().fit([[0.0], [2.0]]))
    >>> step.fit([[100.0]]).transform([[2.0]])
    array([[1.]])
    """

    def __init__(self, step: Any) -> None:
        self.step = step

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Nothing is learnt; a step that was not fitted before is refused."""
        check_is_fitted(self.step)
        return self

    def transform(self, X: ArrayLike) -> Any:
        """What the wrapped step makes of each row, numbers in float64; there may be no rows."""
        rows = _in_float64(X)
        with without_private_values():
            if not _number_of(rows):
                return self._of_no_rows(rows)
            if row_by_itself(self.step):
                return _result(self.step.transform(rows), _number_of(rows))
            return self._one_by_one(rows)

    def _of_no_rows(self, rows: Any) -> Any:
        """No rows of the right width: a refusal of the empty data set would tell it apart."""
        if isinstance(rows, np.ndarray) and rows.ndim == 2:
            return _result(self.step.transform(np.zeros((1, rows.shape[1]))), 1)[:0]
        return np.zeros((0, len(self.step.get_feature_names_out())))

    def _one_by_one(self, rows: Any) -> Any:
        parts = [
            _result(self.step.transform(_safe_indexing(rows, [place])), 1)
            for place in range(_number_of(rows))
        ]
        if sparse.issparse(parts[0]):
            return sparse.vstack(parts, format="csr")
        return np.concatenate(parts)

    def __sklearn_clone__(self) -> Self:
        """A clone of a fitted step would be unfitted: it is public and fixed, so it is shared."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Fitted before it came here."""
        return True


def row_by_itself(step: Any) -> bool:
    """Whether a transformer is known to treat each row alone, bit by bit, in whatever batch.

    Types themselves: a subclass may do something else.
    """
    if step is None or isinstance(step, str):  # "passthrough", "drop"
        return True
    if type(step) is Pipeline:
        return all(row_by_itself(inner) for _, inner in step.steps)
    if type(step) is ColumnTransformer:
        return all(row_by_itself(inner) for _, inner, _ in step.transformers_)
    if type(step) is FunctionTransformer:  # passthrough in a fitted column transformer
        return step.func is None
    return type(step) in (PublicStep, PublicWhitening, *_CELL_BY_CELL)


def _in_float64(values: Any) -> Any:
    """A copy of numbers as float64 in C order; tables, texts and sparse rows as they are.

    The type of an array is that of all its cells together: one fractional or long number must not
    change how the wrapped step computes with those of other records.
    """
    if sparse.issparse(values):
        return values.astype(np.float64) if values.dtype.kind in "biuf" else values
    if hasattr(values, "columns"):
        return values
    array = np.asarray(values)
    return np.array(array, dtype=np.float64, order="C") if array.dtype.kind in "biuf" else values


def _number_of(rows: Any) -> int:
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _result(values: Any, count: int) -> Any:
    result = _in_float64(values if sparse.issparse(values) else np.asarray(values))
    if _number_of(result) != count:
        raise InputError("step must give one row for each row, got another number of them")
    return result
