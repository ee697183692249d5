"""Centring and mild whitening by public rows: directions that vary much are made shorter."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from reticent.arrays import Floats
from reticent.training.records import without_private_values
from reticent.validation import positive

_LARGEST_ENTRY = 2.0**400
_LARGEST_COORDINATE = 2.0**100


class PublicWhitening(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """(x − mean)·V·(w + shrinkage·w_max)^−½, with mean and spectrum (w, V) of the fitted rows.

    Fit it on public rows and put it into a pipeline as ``PublicStep(PublicWhitening().fit(rows))``.

    >>> rows = np.random.default_rng(0).normal(size=(500, 2)) * [10.0, 1.0] + 5.0
    >>> white = PublicWhitening(shrinkage=0.01).fit(rows).transform(rows)
    >>> [round(float(s), 1) for s in sorted(white.std(axis=0))]
    [0.7, 1.0]
    """

    def __init__(self, *, shrinkage: float = 0.1) -> None:
        self.shrinkage = shrinkage

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Mean and spectrum of public rows."""
        positive("shrinkage", self.shrinkage)
        rows = validate_data(self, X, dtype=np.float64)
        self.mean_ = rows.mean(axis=0)
        centred = rows - self.mean_
        values, vectors = np.linalg.eigh(centred.T @ centred / len(rows))
        spread = np.maximum(values, 0.0) + self.shrinkage * max(values[-1], 1e-300)
        self.components_ = vectors / np.sqrt(spread)
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """The rows in these coordinates; there may be none, and finite ones stay finite.

        Each row is a function of itself alone, bit by bit, whatever the batch and its memory
        layout: one private record more moves no other's coordinates (docs/theory.md E.2). Entries
        are cut to ±2⁴⁰⁰ before the product and to ±2¹⁰⁰ after it, cell by cell: a record with huge
        numbers overflows neither in float64 nor in float32, so nothing later has to refuse it.
        """
        from reticent.training.row_kernels import products  # numba, only where rows are

        check_is_fitted(self)
        with without_private_values():
            rows = validate_data(self, X, dtype=np.float64, reset=False, ensure_min_samples=0)
        centred = np.clip(rows, -_LARGEST_ENTRY, _LARGEST_ENTRY) - self.mean_
        white = products(centred, self.components_)
        return np.clip(white, -_LARGEST_COORDINATE, _LARGEST_COORDINATE, out=white)
