"""Centring and mild whitening by public rows: directions that vary much are made shorter."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from reticent.validation import positive

Floats = NDArray[np.float64]


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
        """The rows in these coordinates."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        white: Floats = (rows - self.mean_) @ self.components_
        return white
