"""A linear head for several labels at once, trained to a certified optimum (docs/theory.md D).

The loss is the sum of C binary cross-entropies: several labels may be true of one record. There is
no zero-sum space here: all C·d weights are coordinates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from reticent.arrays import Array, ArrayLike, Floats, Integers
from reticent.data.dataset import where
from reticent.training import linear_head, records
from reticent.training.objective import EXP_ERROR, UNIT, LinearObjective, gamma
from reticent.validation import InputError


@dataclass(frozen=True, kw_only=True)
class SigmoidObjective(LinearObjective):
    """Σ_c BCE(σ((V h)_c), t_c), with targets t in {0, 1}: one row per record, one column each."""

    targets: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """(C, d): one row per label."""
        return self.targets.shape[1], self.rows.shape[1]

    @property
    def max_residual_norm(self) -> float:
        """√C, since every entry of σ − t is at most 1."""
        return math.sqrt(self.shape[0])

    @property
    def max_curvature(self) -> float:
        """σ(1 − σ) ≤ ¼, output by output."""
        return 0.25

    @property
    def loss_at_zero(self) -> float:
        """C·ln 2, the loss of a record at V = 0."""
        return self.shape[0] * math.log(2)

    def residual_error(self, reach: float) -> float:
        """Logits, through a ¼-Lipschitz sigmoid; then exp, sum, quotient and difference."""
        logits = reach * gamma(self.shape[1])
        return logits / 4 + math.sqrt(self.shape[0]) * (EXP_ERROR + 4 * UNIT)

    def answers(self, outputs: Floats) -> Floats:
        """The probabilities σ(V h) of each label."""
        with np.errstate(over="ignore"):  # exp(−z) = ∞ makes the 0 that σ then is
            answers: Floats = 1 / (1 + np.exp(-outputs))
        return answers

    def residual(self, block: slice, probabilities: Floats) -> Floats:
        """σ − t of each label: what a record's gradient is made of."""
        return probabilities - self.targets[block]

    def curvature_product(self, block: slice, probabilities: Floats, change: Floats) -> Floats:  # noqa: ARG002
        """σ(1 − σ)·change, the curvature times a change of the logits."""
        return probabilities * (1 - probabilities) * change

    def swing(self, changes: Floats) -> Floats:
        """The largest |change| of an output: σ″ = σ′·(1 − 2σ)."""
        largest: Floats = np.abs(changes).max(axis=1, initial=0.0)
        return largest

    def mean_spread(self, probabilities: Sequence[Floats]) -> float:
        """The mean of σ(1 − σ)."""
        spread = sum(float(np.sum(p * (1 - p))) for p in probabilities)
        return spread / max(self.targets.size, 1)


class SigmoidHead(ClassifierMixin, linear_head.LinearHead):  # type: ignore[misc]
    """min (1/N)·Σ Σ_c BCE(σ(W h)_c, y_c) + (λ/2)‖W‖²: y has one column of 0 and 1 per label.

    The arguments are those of ``SoftmaxHead`` without ``class_weight``; ``classes`` names the
    columns of y (by default 0, 1, …). A record moves the head by √C·R/(λN) at most.

    >>> head = SigmoidHead(classes=["round", "red"], records=4)
    >>> head = head.fit(
    ...     [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]], [[1, 0], [0, 1], [1, 1], [0, 0]]
    ... )
    >>> head.predict([[0.9, 0.1]])
    array([[1, 0]])
    """

    outputs = "sigmoid"

    def decision_function(self, X: ArrayLike) -> Floats:
        """Logits, one column per label."""
        return self.logits(X)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability of each label by itself."""
        return np.asarray(special.expit(self.logits(X)))

    def predict(self, X: ArrayLike) -> Integers:
        """1 for every label whose probability is above one half."""
        return (self.logits(X) > 0).astype(np.int64)

    def __sklearn_tags__(self) -> Tags:
        """Several labels, and nothing else."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags

    def _checked_targets(self, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Array]:
        fewest = 0 if self.classes is not None else 1
        if y is None:
            raise InputError("SigmoidHead requires y to be passed, but the target y is None")
        with records.without_private_values():
            rows = validate_data(self, X, dtype=np.float64, ensure_min_samples=fewest)
            targets = check_array(
                records.real_targets(y), ensure_2d=False, ensure_min_samples=fewest, input_name="y"
            )
            check_consistent_length(rows, targets)
        if targets.ndim != 2:
            raise InputError(f"y must have one column per label, got shape {targets.shape}")
        if self.classes is not None and targets.shape[1] != len(self.classes):
            raise InputError(
                f"y must have {len(self.classes)} columns, one per class, got {targets.shape[1]}"
            )
        wrong = np.argwhere((targets != 0) & (targets != 1))
        if len(wrong):
            raise InputError(
                f"y must be 0 or 1 everywhere, got another value in {where(int(wrong[0, 0]))}, "
                f"column {wrong[0, 1]}"
            )
        return rows, targets.astype(np.float64)

    def _no_targets(self) -> Array:
        return np.zeros((0, len(self.classes_)))

    def _named(self, targets: Array) -> Array:
        return np.arange(targets.shape[1]) if self.classes is None else np.asarray(self.classes)

    def _objective(
        self, h: Floats, targets: Array, choices: linear_head.Choices
    ) -> LinearObjective:
        return SigmoidObjective(
            rows=h,
            targets=targets,
            penalty=choices.penalty,
            records=choices.records or max(len(h), 1),
            radius=choices.radius,
        )

    def _unfolded(self, coordinates: Floats) -> Floats:
        return coordinates.copy()
