"""The ROC curve of an attack, and the ceiling that differential privacy puts over it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import roc_curve

from reticent.arrays import Floats
from reticent.audit.metrics import two_sides
from reticent.validation import InputError, float_array, non_negative, probability


@dataclass(frozen=True, kw_only=True, eq=False)
class Roc:
    """Shares of others and of members at or above each threshold, from (0, 0) to (1, 1)."""

    fpr: Floats
    tpr: Floats
    thresholds: Floats
    members: int
    others: int

    def log_log(self) -> tuple[Floats, Floats]:
        """FPR and TPR as they can be drawn on two logarithmic axes: 0 stands at half a record."""
        return (
            np.maximum(self.fpr, 0.5 / self.others),
            np.maximum(self.tpr, 0.5 / self.members),
        )


def roc(members: ArrayLike, others: ArrayLike) -> Roc:
    """All points of scikit-learn's ``roc_curve``; equal scores make one step.

    >>> curve = roc([3.0, 2.0], [2.0, 1.0])
    >>> curve.fpr.tolist(), curve.tpr.tolist()
    ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    """
    inside, outside = two_sides(members, others)
    labels = np.repeat([1, 0], [len(inside), len(outside)])
    fpr, tpr, thresholds = roc_curve(labels, np.concatenate([inside, outside]),
                                     drop_intermediate=False)  # fmt: skip
    return Roc(fpr=fpr, tpr=tpr, thresholds=thresholds, members=len(inside), others=len(outside))


def ceiling(fpr: ArrayLike, epsilon: float, delta: float) -> Floats:
    """The largest TPR of any attack on an (ε, δ)-private release (Kairouz et al. 2015).

    min(e^ε·FPR + δ, 1 − e^{−ε}(1 − δ − FPR)), and at most 1.

    >>> ceiling([0.0, 0.1, 1.0], epsilon=1.0, delta=0.0).round(3).tolist()
    [0.0, 0.272, 1.0]
    """
    rates = float_array("fpr", fpr)
    non_negative("epsilon", epsilon)
    probability("delta", delta)
    if not ((rates >= 0) & (rates <= 1)).all():
        raise InputError("fpr must be between 0 and 1, got other numbers")
    with np.errstate(divide="ignore"):  # e^ε·0 is 0 for every ε
        risen = np.exp(np.minimum(epsilon + np.log(rates), 0.0)) + delta
    bent = -np.expm1(-epsilon) + np.exp(-epsilon) * (delta + rates)  # keeps the digits of a small ε
    return np.asarray(np.minimum(np.minimum(risen, bent), 1.0))
