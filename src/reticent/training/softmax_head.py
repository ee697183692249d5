"""A linear softmax head, trained to a certified optimum (docs/theory.md D)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special
from sklearn.base import ClassifierMixin

from reticent.arrays import Array, ArrayLike, Floats
from reticent.training import linear_head, records, softmax
from reticent.training.objective import LinearObjective
from reticent.validation import InputError, describe, non_negative


@dataclass(kw_only=True, eq=False, repr=False)
class SoftmaxHead(ClassifierMixin, linear_head.LinearHead):  # type: ignore[misc]
    """min (1/N)·Σ w_y·CE(W h, y) + (λ/2)‖W‖² over weights with zero column sums.

    h is the row minus ``centre``, bounded to norm ``bound``, with a constant feature
    ``intercept·bound`` appended, so that ‖h‖ ≤ R = bound·√(1 + intercept²).

    Args:
        penalty: λ.
        bound: The public bound on the norm of a (centred) row.
        classes: All classes, in the order of the outputs. Without it they are read off the labels,
            and no release of the head can be proven.
        records: The public normaliser N. Without it the number of rows is used: fine under
            replace-one, where that number is public.
        intercept: The size of the constant feature in units of ``bound``; 0 for none.
        centre: A public vector, or a released noisy mean, that is subtracted from every row.
        norms: "clip" scales longer rows down to the bound, "scale" brings every row to it.
        class_weight: Public weights, class → weight. "balanced" reads the private labels.
        tolerance: The public τ on the norm of the gradient at the weights that are kept.
    """

    outputs = "softmax"

    class_weight: Mapping[Any, float] | str | None = None

    def decision_function(self, X: ArrayLike) -> Floats:
        """Logits; for two classes the difference of the second and the first."""
        logits = self.logits(X)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The softmax of the logits, a column per class."""
        return np.asarray(special.softmax(self.logits(X), axis=1))

    def predict(self, X: ArrayLike) -> Array:
        """The class of the largest logit."""
        best = self.logits(X).argmax(axis=1)
        chosen: Array = self.classes_[best]
        return chosen

    def _checked_targets(self, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Array]:
        return records.classified_records(self, X, y, declared=self.classes is not None)

    def _no_targets(self) -> Array:
        return self.classes_[:0]

    def _named(self, targets: Array) -> Array:
        names = np.unique(targets) if self.classes is None else np.asarray(self.classes)
        if len(names) < 2:
            raise InputError(f"classes must be at least 2 classes, got {len(names)} class")
        return names

    def _objective(
        self, h: Floats, targets: Array, choices: linear_head.Choices
    ) -> LinearObjective:
        return softmax.SoftmaxObjective(
            rows=h,
            labels=records.indices_of(targets, self.classes_),
            basis=softmax.zero_sum_basis(len(self.classes_)),
            penalty=choices.penalty,
            records=choices.records or max(len(h), 1),
            radius=choices.radius,
            weights=self._class_weights(targets),
        )

    def _unfolded(self, coordinates: Floats) -> Floats:
        return softmax.zero_sum_basis(len(self.classes_)) @ coordinates

    def _largest_weight(self, objective: LinearObjective) -> float:
        assert isinstance(objective, softmax.SoftmaxObjective)
        return objective.largest_weight

    def _frozen_parameters(self) -> tuple[object, ...]:
        weights = self.class_weight
        frozen = (
            tuple(sorted(weights.items(), key=repr)) if isinstance(weights, Mapping) else weights
        )
        return (*super()._frozen_parameters(), frozen)

    def _class_weights(self, y: Array) -> Floats:
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        if isinstance(self.class_weight, str):
            counts = np.array([np.sum(y == name) for name in self.classes_])
            return np.asarray(len(y) / (len(self.classes_) * np.maximum(counts, 1.0)))
        return np.array([self.class_weight.get(name, 1.0) for name in self.classes_], dtype=float)

    def _choices(self) -> linear_head.Choices:
        self._check_class_weight()
        return super()._choices()

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
