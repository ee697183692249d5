"""A linear softmax head, trained to a certified optimum (docs/theory.md D).

What the theorem needs is public and given: the classes, a bound on the features' norms, the
penalty, the normaliser N and the tolerance τ. What is fitted is a function of the records alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from reticent.training.features import clip_rows, with_bias
from reticent.training.objective import SoftmaxObjective, zero_sum_basis
from reticent.training.optimum import certified_minimum
from reticent.validation import (
    InputError,
    count,
    describe,
    float_array,
    non_negative,
    positive,
)

Floats = NDArray[np.float64]

TOLERANCE_SHARE = 1e-3
"""The default τ in units of the gradient of one record, w·√2·R/N: it adds 0.2 % to Δ."""


def radius(bound: float, intercept: float) -> float:
    """R = bound·√(1 + intercept²), rounded up."""
    return math.hypot(bound, intercept * bound) * (1 + 2.0**-50)


def public_map(rows: Floats, *, bound: float, intercept: float, centre: ArrayLike | None) -> Floats:
    """From rows to h, for training and queries alike: centred, clipped, constant appended."""
    if centre is None:
        rows = clip_rows(rows, bound)
    else:  # halves cannot overflow
        rows = 2 * clip_rows(rows / 2 - np.asarray(centre, dtype=np.float64) / 2, bound / 2)
    return with_bias(rows, intercept * bound) if intercept else rows


@dataclass(frozen=True, kw_only=True)
class CertifiedFit:
    """What a fit proved, kept apart from the estimator, whose attributes anybody can change."""

    parameters: tuple[object, ...]
    coordinates: bytes
    shape: tuple[int, int]
    classes: tuple[Any, ...]
    records: int
    tolerance: float
    largest_weight: float


_FITS: WeakKeyDictionary[SoftmaxHead, CertifiedFit] = WeakKeyDictionary()


class SoftmaxHead(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """min (1/N)·Σ w_y·CE(W h, y) + (λ/2)‖W‖² over weights with zero column sums.

    h is the row minus ``centre``, clipped to norm ``bound``, with a constant feature
    ``intercept·bound`` appended, so that ‖h‖ ≤ R = bound·√(1 + intercept²).

    Args:
        penalty: λ.
        bound: The public bound on the norm of a (centred) row; longer rows are scaled down.
        classes: All classes, in the order of the outputs. Without it they are read off the labels,
            and no release of the head can be proven.
        records: The public normaliser N. Without it the number of rows is used: fine under
            replace-one, where that number is public.
        intercept: The size of the constant feature in units of ``bound``; 0 for none.
        centre: A public vector that is subtracted from every row.
        class_weight: Public weights, class → weight. "balanced" reads the private labels.
        tolerance: The public τ on the norm of the gradient at the weights that are kept.
    """

    def __init__(  # noqa: PLR0913 - one argument for each public number of the theorem
        self,
        *,
        penalty: float = 1e-3,
        bound: float = 1.0,
        classes: Sequence[Any] | None = None,
        records: int | None = None,
        intercept: float = 1.0,
        centre: ArrayLike | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        tolerance: float | None = None,
    ) -> None:
        self.penalty = penalty
        self.bound = bound
        self.classes = classes
        self.records = records
        self.intercept = intercept
        self.centre = centre
        self.class_weight = class_weight
        self.tolerance = tolerance

    @property
    def radius(self) -> float:
        """R, the bound on the whole feature vector, constant included; rounded up."""
        return radius(self.bound, self.intercept)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train until the certificate holds, which it does on every data set of valid records."""
        self._check_parameters()
        rows, labels = self._checked_data(X, y)
        self.classes_ = np.unique(labels) if self.classes is None else np.asarray(self.classes)
        if len(self.classes_) < 2:
            raise InputError(f"classes must be at least 2 classes, got {len(self.classes_)} class")
        objective = self._objective(rows, self._indices(labels), labels)
        self.tolerance_ = self._tolerance(objective)
        found = certified_minimum(objective, tolerance=self.tolerance_)
        self.coordinates_ = found.point
        self.weights_ = objective.basis @ found.point
        self.optimum_gap_ = found.gradient_bound
        self.n_iter_ = found.steps
        _FITS[self] = CertifiedFit(
            parameters=self._frozen_parameters(),
            coordinates=found.point.tobytes(),
            shape=objective.shape,
            classes=tuple(self.classes_.tolist()),
            records=objective.records,
            tolerance=self.tolerance_,
            largest_weight=objective.largest_weight,
        )
        return self

    def certified(self) -> CertifiedFit:
        """What ``fit`` certified, if neither the weights nor a parameter was changed since."""
        fit = _FITS.get(self)
        if fit is None:
            raise InputError("head must be fitted in this process, got one that was not")
        same = fit.coordinates == np.ascontiguousarray(self.coordinates_).tobytes()
        if not same or fit.parameters != self._frozen_parameters():
            raise InputError("head must be as fit left it, got a changed one; fit again")
        return fit

    def decision_function(self, X: ArrayLike) -> Floats:
        """Logits; for two classes the difference of the second and the first."""
        logits = self.logits(X)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def logits(self, X: ArrayLike) -> Floats:
        """W h, one column per class."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        product: Floats = self._map(rows) @ self.weights_.T
        return product

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Softmax of the logits."""
        return np.asarray(special.softmax(self.logits(X), axis=1))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of the largest logit."""
        best = self.logits(X).argmax(axis=1)
        chosen: NDArray[Any] = self.classes_[best]
        return chosen

    def _map(self, rows: Floats) -> Floats:
        return public_map(rows, bound=self.bound, intercept=self.intercept, centre=self.centre)

    def _objective(self, X: Floats, labels: NDArray[np.int64], y: NDArray[Any]) -> SoftmaxObjective:
        return SoftmaxObjective(
            rows=self._map(X),
            labels=labels,
            basis=zero_sum_basis(len(self.classes_)),
            penalty=self.penalty,
            records=max(len(y), 1) if self.records is None else self.records,
            radius=self.radius,
            weights=self._class_weights(y),
        )

    def _tolerance(self, objective: SoftmaxObjective) -> float:
        """τ as given, or one that every data set can reach; both from public numbers alone."""
        least = 4 * objective.worst_rounding()
        if self.tolerance is None:
            one_record = objective.largest_weight * math.sqrt(2) * self.radius / objective.records
            return max(TOLERANCE_SHARE * one_record, least)
        if self.tolerance < least:
            raise InputError(
                f"tolerance must be >= {least:.3g}, which float64 can certify on every data set of "
                f"this size, got {self.tolerance}"
            )
        return self.tolerance

    def _frozen_parameters(self) -> tuple[object, ...]:
        weights = self.class_weight
        return (
            self.penalty,
            self.bound,
            self.intercept,
            self.records,
            self.tolerance,
            None if self.classes is None else tuple(self.classes),
            tuple(sorted(weights.items(), key=repr)) if isinstance(weights, Mapping) else weights,
            None if self.centre is None else np.asarray(self.centre, dtype=np.float64).tobytes(),
        )

    def _checked_data(self, X: ArrayLike, y: ArrayLike) -> tuple[Floats, NDArray[Any]]:
        fewest = 0 if self.classes is not None else 1
        try:
            rows, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=fewest)
            check_classification_targets(labels)
        except (ValueError, TypeError) as error:
            raise type(error)(_without_values(str(error))) from None
        if self.centre is not None:
            centre = float_array("centre", self.centre)
            if centre.shape != (rows.shape[1],):
                raise InputError(
                    f"centre must have {rows.shape[1]} entries, got shape {centre.shape}"
                )
        return rows, labels

    def _indices(self, y: NDArray[Any]) -> NDArray[np.int64]:
        order = np.argsort(self.classes_, kind="stable")
        places = np.searchsorted(self.classes_, y, sorter=order)
        found = order[np.minimum(places, len(order) - 1)]
        wrong = np.flatnonzero(self.classes_[found] != y)
        if wrong.size:
            raise InputError(f"label of row {wrong[0]} must be one of the classes, got another")
        return np.asarray(found, dtype=np.int64)

    def _class_weights(self, y: NDArray[Any]) -> Floats:
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        if isinstance(self.class_weight, str):
            counts = np.array([np.sum(y == name) for name in self.classes_])
            return np.asarray(len(y) / (len(self.classes_) * np.maximum(counts, 1.0)))
        return np.array([self.class_weight.get(name, 1.0) for name in self.classes_], dtype=float)

    def _check_parameters(self) -> None:
        positive("penalty", self.penalty)
        positive("bound", self.bound)
        non_negative("intercept", self.intercept)
        if self.records is not None:
            count("records", self.records)
        if self.tolerance is not None:
            positive("tolerance", self.tolerance)
        self._check_class_weight()
        if not 1e-75 < self.radius < 1e75:
            raise InputError(f"bound must keep R within 1e-75 and 1e75, got R = {self.radius}")
        if self.classes is not None and len(set(self.classes)) != len(self.classes):
            raise InputError("classes must be distinct, got one twice")

    def _check_class_weight(self) -> None:
        """Weights are public, finite and not negative: else the loss is not convex."""
        weights = self.class_weight
        if weights is None or weights == "balanced":
            return
        if not isinstance(weights, Mapping):
            raise InputError(
                f"class_weight must be a mapping or 'balanced', got {describe(weights)}"
            )
        for name, weight in weights.items():
            non_negative(f"class_weight of {name!r}", weight)
            if self.classes is not None and name not in set(self.classes):
                raise InputError(f"class_weight must name classes only, got {name!r}")
        if self.classes is not None and not any(weights.get(c, 1.0) > 0 for c in self.classes):
            raise InputError("class_weight must be > 0 for some class, got 0 for all")


def _without_values(message: str) -> str:
    """The first line of a message without the values it quotes: they are private."""
    line = message.splitlines()[0].split(": '")[0].split(": array")[0]
    return f"{line} Reshape your data." if "Reshape your data" in message else line
