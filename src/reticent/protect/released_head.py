"""What left the house: a noisy head that predicts, with its guarantee."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from reticent.frozen import frozen
from reticent.guarantee import Grade, Guarantee
from reticent.protect.public_numbers import PublicNumbers
from reticent.training.features import public_map
from reticent.training.softmax import zero_sum_basis
from reticent.validation import InputError, float_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleasedHead:
    """A noisy head: public from now on. Reading, copying and rounding it is free."""

    coordinates: Floats
    classes_: NDArray[Any]
    centre: Floats | None
    guarantee: Guarantee
    mechanism: str
    scale: float
    public: PublicNumbers

    def __post_init__(self) -> None:
        """Whoever builds one by hand, or changes a field, has a declared guarantee at most."""
        if self.guarantee.grade is Grade.PROVEN:
            declared = dataclasses.replace(self.guarantee, grade=Grade.DECLARED)
            object.__setattr__(self, "guarantee", declared)
        for name in ("coordinates", "classes_", "centre"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))
        self._check_shapes()

    def _check_shapes(self) -> None:
        shape, classes = self.public.shape, len(self.classes_)
        if self.coordinates.shape != shape:
            raise InputError(f"coordinates must have shape {shape}, got {self.coordinates.shape}")
        if classes != self.public.classes:
            raise InputError(
                f"classes must be {self.public.classes} for shape {shape}, got {classes}"
            )
        if self.centre is not None and self.centre.shape != (self.features,):
            raise InputError(
                f"centre must have {self.features} entries, got shape {self.centre.shape}"
            )

    @property
    def features(self) -> int:
        """The number of features of a query."""
        return self.public.features

    @property
    def weights(self) -> Floats:
        """One row per class; for softmax W = U V, with zero column sums up to rounding."""
        if self.public.outputs == "sigmoid":
            return self.coordinates
        return zero_sum_basis(len(self.classes_)) @ self.coordinates

    def logits(self, X: ArrayLike) -> Floats:
        """W h for queries that are centred and bounded as the training rows were."""
        rows = float_rows("X", X)
        if rows.shape[1] != self.features:
            raise InputError(f"X must have {self.features} features, got {rows.shape[1]}")
        mapped = public_map(
            rows,
            bound=self.public.bound,
            intercept=self.public.intercept,
            centre=self.centre,
            norms=self.public.norms,
        )
        product: Floats = mapped @ self.weights.T
        return product

    def decision_function(self, X: ArrayLike) -> Floats:
        """Logits; for two softmax classes the difference of the second and the first."""
        logits = self.logits(X)
        binary = self.public.outputs == "softmax" and len(self.classes_) == 2
        return logits[:, 1] - logits[:, 0] if binary else logits

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Softmax of the logits, or the probability of each label by itself."""
        if self.public.outputs == "sigmoid":
            return np.asarray(special.expit(self.logits(X)))
        return np.asarray(special.softmax(self.logits(X), axis=1))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of the largest logit, or 0 and 1 for each label."""
        if self.public.outputs == "sigmoid":
            return (self.logits(X) > 0).astype(np.int64)
        chosen: NDArray[Any] = self.classes_[self.logits(X).argmax(axis=1)]
        return chosen
