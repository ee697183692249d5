"""The functional mechanism as printed (Zhang et al. 2012; Algorithm 5.2 of the slides).

Laplace noise of scale Δ/ε on every coefficient of the loss, one for each monomial, then the minimum
of the noisy polynomial. Where noise leaves it without one, Section 6 of the paper adds 4√2·Δ/ε to
the diagonal and drops the directions whose eigenvalue is still not positive. What comes out is
graded *published*: its constant is true and loose, and ‖x‖ ≤ 1 is the caller's word.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from reticent.arrays import ArrayLike, Floats
from reticent.bounds.published import functional
from reticent.guarantee import Grade, Guarantee, Relation, Sensitivity
from reticent.mechanisms import Laplace
from reticent.validation import InputError, count, float_array, float_rows, positive

Loss = Literal["linear", "logistic"]


@dataclass(frozen=True, kw_only=True)
class FunctionalMechanism:
    """Algorithm 5.2 for linear regression, or for logistic regression expanded to degree 2.

    Targets are within ±1; for logistic loss they are −1 and 1.

    >>> mechanism = FunctionalMechanism(features=3, epsilon=1.0, loss="logistic")
    >>> mechanism.constant, round(mechanism.proven_constant, 3)
    (11.25, 2.482)
    >>> mechanism.release(np.eye(3), [1, -1, 1]).shape
    (3,)
    """

    features: int
    epsilon: float
    loss: Loss = "linear"

    def __post_init__(self) -> None:
        """Refuse NaN, and a loss that the paper does not expand."""
        count("features", self.features)
        positive("epsilon", self.epsilon)
        if self.loss not in ("linear", "logistic"):
            raise InputError(f"loss must be linear or logistic, got {self.loss!r}")

    @property
    def constant(self) -> float:
        """Δ as printed: 2(d+1)², or d²/4 + 3d."""
        linear = self.loss == "linear"
        rule = functional.linear_published if linear else functional.logistic_published
        return float(rule(self.features))

    @property
    def proven_constant(self) -> float:
        """What would do under replace-one: 2(1+√d)², or √d + d/4."""
        linear = self.loss == "linear"
        return 2 * (functional.linear if linear else functional.logistic)(self.features)

    @property
    def guarantee(self) -> Guarantee:
        """ε as the paper claims it."""
        return Guarantee(
            epsilon=self.epsilon,
            delta=0.0,
            relation=Relation.REPLACE_ONE,
            grade=Grade.PUBLISHED,
            stated=("rows have norm at most 1 and targets are within ±1",),
        )

    def coefficients(self, rows: ArrayLike, targets: ArrayLike) -> Floats:
        """Of w_j, then of w_i·w_j for i ≤ j: the sum over all records, constants left out."""
        x, y = float_rows("rows", rows), float_array("targets", targets)
        moment = x.T @ x
        linear, quadratic = (-2.0, 1.0) if self.loss == "linear" else (-0.5, 0.125)
        doubled = 2 * moment - np.diag(np.diag(moment))
        above = np.triu_indices(self.features)
        return np.concatenate([linear * (x.T @ y), quadratic * doubled[above]])

    def release(self, rows: ArrayLike, targets: ArrayLike) -> Floats:
        """The minimum of the noisy polynomial."""
        sensitivity = Sensitivity(l1=self.constant, source="Algorithm 5.2, as printed")
        noise = Laplace.calibrate(sensitivity, epsilon=self.epsilon, delta=0.0)
        noisy = noise.release(self.coefficients(rows, targets))
        linear, entries = noisy[: self.features], noisy[self.features :]
        matrix = np.zeros((self.features, self.features))
        matrix[np.triu_indices(self.features)] = entries
        symmetric = (matrix + matrix.T) / 2
        values, vectors = np.linalg.eigh(symmetric)
        values += 4 * np.sqrt(2) * noise.scale
        kept = values > 0
        within = vectors[:, kept]
        return np.asarray(-within @ ((within.T @ linear) / (2 * values[kept])))
