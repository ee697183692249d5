"""A head's weights, released once with noise (the query handler of the ALM paper, made sound)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from reticent import bounds
from reticent.guarantee import Guarantee, Relation, Sensitivity
from reticent.guarantee.grade import as_relation
from reticent.guarantee.minting import proven
from reticent.mechanisms import AdditiveMechanism, Gaussian, L2Laplace, Laplace, Logistic
from reticent.training import SoftmaxHead
from reticent.training.objective import zero_sum_basis
from reticent.training.softmax_head import public_map
from reticent.validation import InputError, describe

Floats = NDArray[np.float64]

MECHANISMS: dict[str, type[AdditiveMechanism]] = {
    kind.name: kind for kind in (Gaussian, Logistic, Laplace, L2Laplace)
}

CHECKED = (
    "features are clipped in float64 to the public bound, row by row",
    "the optimum is certified: the gradient at the released floats is at most the public tolerance",
    "the floats that were certified are the floats that were noised, bit by bit",
    "only the coordinates in a fixed basis of the zero-sum space are noised and released",
)
STATED = (
    "one record is one row of features and its label; the map from raw data to features is fixed "
    "and looks at one record at a time",
    "encoder, scaling, classes, bound, penalty, normaliser, tolerance, mechanism and ε were chosen "
    "without looking at the private data, and no step before the head was fitted on it",
    "nothing else computed from the private data is published: no loss, accuracy or timing",
    "exp of the mathematical library is accurate to 16 units in the last place",
)


@dataclass(frozen=True, kw_only=True)
class ReleasedHead:
    """A noisy head: public from now on. Reading, copying and rounding it is free."""

    coordinates: Floats
    classes_: NDArray[Any]
    bound: float
    intercept: float
    centre: Floats | None
    guarantee: Guarantee
    mechanism: str
    scale: float

    @property
    def weights(self) -> Floats:
        """W = U V: one row per class, zero column sums up to rounding."""
        return zero_sum_basis(len(self.classes_)) @ self.coordinates

    def logits(self, X: ArrayLike) -> Floats:
        """W h for queries that are clipped as the training rows were."""
        rows = np.asarray(X, dtype=np.float64)
        mapped = public_map(rows, bound=self.bound, intercept=self.intercept, centre=self.centre)
        product: Floats = mapped @ self.weights.T
        return product

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Softmax of the logits."""
        logits = self.logits(X)
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities: Floats = odds / odds.sum(axis=1, keepdims=True)
        return probabilities

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of the largest logit."""
        chosen: NDArray[Any] = self.classes_[self.logits(X).argmax(axis=1)]
        return chosen


def release_weights(
    head: SoftmaxHead,
    *,
    epsilon: float,
    delta: float,
    relation: Relation | str,
    mechanism: str = "gaussian",
    records_each: int = 1,
) -> ReleasedHead:
    """Noise on a certified head's coordinates, (ε, δ)-DP, graded proven.

    What would make the claim unproven is refused in one line. Each call is a new release and
    composes with all others on the same data.
    """
    relation = as_relation(relation)
    _refuse_unproven(head, relation)
    sensitivity = _sensitivity(head, relation, records_each)
    noise = _kind(mechanism).calibrate(sensitivity, epsilon=epsilon, delta=delta)
    coordinates = _certified_coordinates(head)
    unit = "one record" if records_each == 1 else f"one person with at most {records_each} records"
    claim = noise.guarantee(epsilon=epsilon, delta=delta, unit=unit)
    claim = dataclasses.replace(
        claim, checked=(*claim.checked, *CHECKED), stated=(*claim.stated, *STATED)
    )
    return ReleasedHead(
        coordinates=noise.release(coordinates),
        classes_=head.classes_.copy(),
        bound=head.bound,
        intercept=head.intercept,
        centre=None if head.centre is None else np.array(head.centre, dtype=np.float64),
        guarantee=proven(claim),
        mechanism=noise.name,
        scale=noise.scale,
    )


def _sensitivity(head: SoftmaxHead, relation: Relation, records_each: int) -> Sensitivity:
    """The L2 bound of the theorem, and √p times it in L1: p coordinates are released."""
    proven_l2 = bounds.softmax_head(
        penalty=head.penalty,
        records=head.records_,
        radius=head.radius,
        tolerance=head.tolerance_,
        relation=relation,
        largest_weight=head.largest_weight_,
        records_each=records_each,
    )
    l2 = proven_l2.require_l2("release")
    p = head.coordinates_.size
    return Sensitivity(
        l1=float(np.nextafter(np.sqrt(p) * l2 * (1 + 2.0**-50), np.inf)),
        l2=l2,
        relation=relation,
        source=f"{proven_l2.source}; L1 = √{p}·L2",
    )


def _refuse_unproven(head: object, relation: Relation) -> None:
    if isinstance(head, Pipeline):
        raise InputError(
            "head must be a SoftmaxHead, got a Pipeline; release its last step on features that no "
            "step fitted on private data has touched"
        )
    if not isinstance(head, SoftmaxHead):
        raise InputError(f"head must be a SoftmaxHead, got {describe(head)}")
    if not hasattr(head, "coordinates_"):
        raise InputError("head must be fitted, got an unfitted one")
    if head.classes is None:
        raise InputError("classes must be given to the head for a proven release, got None")
    if isinstance(head.class_weight, str):
        raise InputError("class_weight must be public for a proven release, got 'balanced'")
    if relation is Relation.ADD_REMOVE and head.records is None:
        raise InputError("records must be given to the head under add-remove, got None")
    if relation is Relation.AS_DECLARED:
        raise InputError("relation must be add-remove or replace-one, got neither")


def _kind(name: str) -> type[AdditiveMechanism]:
    if name not in MECHANISMS:
        raise InputError(f"mechanism must be one of {', '.join(MECHANISMS)}, got {name!r}")
    return MECHANISMS[name]


def _certified_coordinates(head: SoftmaxHead) -> Floats:
    """The coordinates, if they and the parameters are still those that the fit certified."""
    if head.certificate() != head.certificate_:
        raise InputError(
            "head must be as fit left it, got changed weights or parameters; fit again"
        )
    return np.array(head.coordinates_)
