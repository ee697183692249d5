"""A head's weights, released once with noise (the query handler of the ALM paper, made sound)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from sklearn.pipeline import Pipeline

from reticent import bounds
from reticent.guarantee import Grade, Guarantee, Relation, Sensitivity
from reticent.guarantee.grade import as_relation
from reticent.guarantee.guarantee import ONE_RECORD
from reticent.guarantee.minting import proven
from reticent.guarantee.rounding import up
from reticent.mechanisms import AdditiveMechanism, Gaussian, L2Laplace, Laplace, Logistic
from reticent.training import SoftmaxHead
from reticent.training.objective import zero_sum_basis
from reticent.training.softmax_head import public_map, radius
from reticent.validation import (
    InputError,
    count,
    describe,
    float_array,
    non_negative,
    positive,
)

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
    "the data set has at least one and at most 2N records, N the public normaliser",
    "nothing else computed from the private data is published: no loss, accuracy or timing",
    "exp of the mathematical library is accurate to 16 units in the last place",
)


@dataclass(frozen=True, kw_only=True)
class PublicNumbers:
    """What the theorem needs: all of it public, all of it in the certificate."""

    penalty: float
    records: int
    bound: float
    intercept: float
    tolerance: float
    largest_weight: float
    records_each: int
    shape: tuple[int, int]

    @property
    def radius(self) -> float:
        """R, the bound on the whole feature vector."""
        return radius(self.bound, self.intercept)

    @property
    def unit(self) -> str:
        """Who is protected."""
        if self.records_each == 1:
            return ONE_RECORD
        return f"one person with at most {self.records_each} records"

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return dataclasses.asdict(self) | {"shape": list(self.shape)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PublicNumbers:
        """From plain values; what is missing, unknown or out of range is refused."""
        names = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(values, Mapping) or set(values) != names:
            raise InputError(f"public numbers must be {', '.join(sorted(names))}, got others")
        shape = values["shape"]
        if not isinstance(shape, (list, tuple)) or len(shape) != 2:
            raise InputError(f"shape must be two whole numbers, got {describe(shape)}")
        rows, columns = (count("shape", size) for size in shape)
        if rows * columns > 2**53:
            raise InputError(f"shape must have at most 2**53 entries, got {describe(shape)}")
        return cls(
            penalty=positive("penalty", values["penalty"]),
            records=count("records", values["records"]),
            bound=positive("bound", values["bound"]),
            intercept=non_negative("intercept", values["intercept"]),
            tolerance=positive("tolerance", values["tolerance"]),
            largest_weight=positive("largest_weight", values["largest_weight"]),
            records_each=count("records_each", values["records_each"]),
            shape=(rows, columns),
        )


@dataclass(frozen=True, kw_only=True)
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
        self._check_shapes()
        for array in (self.coordinates, self.classes_, self.centre):
            if array is not None:
                array.setflags(write=False)

    def _check_shapes(self) -> None:
        shape, classes = self.public.shape, len(self.classes_)
        if self.coordinates.shape != shape:
            raise InputError(f"coordinates must have shape {shape}, got {self.coordinates.shape}")
        if classes != shape[0] + 1:
            raise InputError(f"classes must be {shape[0] + 1} for shape {shape}, got {classes}")
        if self.centre is not None and self.centre.shape != (self.features,):
            raise InputError(
                f"centre must have {self.features} entries, got shape {self.centre.shape}"
            )

    @property
    def features(self) -> int:
        """The number of features of a query."""
        return self.public.shape[1] - (1 if self.public.intercept else 0)

    @property
    def weights(self) -> Floats:
        """W = U V: one row per class, zero column sums up to rounding."""
        return zero_sum_basis(len(self.classes_)) @ self.coordinates

    def logits(self, X: ArrayLike) -> Floats:
        """W h for queries that are clipped as the training rows were."""
        rows = float_array("X", X)
        if rows.ndim != 2:
            raise InputError(f"X must have rows and columns, got shape {rows.shape}")
        if rows.shape[1] != self.features:
            raise InputError(f"X must have {self.features} features, got {rows.shape[1]}")
        mapped = public_map(
            rows, bound=self.public.bound, intercept=self.public.intercept, centre=self.centre
        )
        product: Floats = mapped @ self.weights.T
        return product

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Softmax of the logits."""
        return np.asarray(special.softmax(self.logits(X), axis=1))

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
    fit = head.certified()
    public = PublicNumbers(
        penalty=float(head.penalty),
        records=fit.records,
        bound=float(head.bound),
        intercept=float(head.intercept),
        tolerance=fit.tolerance,
        largest_weight=fit.largest_weight,
        records_each=count("records_each", records_each),
        shape=fit.shape,
    )
    sensitivity = head_sensitivity(public, relation)
    noise = mechanism_of(mechanism).calibrate(sensitivity, epsilon=epsilon, delta=delta)
    claim = noise.guarantee(epsilon=epsilon, delta=delta, unit=public.unit)
    theorem = f"the sensitivity is a theorem about public numbers: {sensitivity.source}"
    claim = dataclasses.replace(claim, checked=(theorem, *claim.checked, *CHECKED), stated=STATED)
    coordinates = np.frombuffer(fit.coordinates).reshape(fit.shape)
    released = ReleasedHead(
        coordinates=noise.release(coordinates),
        classes_=np.asarray(fit.classes),
        centre=None if head.centre is None else np.array(head.centre, dtype=np.float64),
        guarantee=claim,
        mechanism=noise.name,
        scale=noise.scale,
        public=public,
    )
    object.__setattr__(released, "guarantee", proven(claim))
    return released


def head_sensitivity(public: PublicNumbers, relation: Relation) -> Sensitivity:
    """The L2 bound of the theorem, and √p times it in L1: p coordinates are released."""
    proven_l2 = bounds.softmax_head(
        penalty=public.penalty,
        records=public.records,
        radius=public.radius,
        tolerance=public.tolerance,
        relation=relation,
        largest_weight=public.largest_weight,
        records_each=public.records_each,
    )
    l2 = proven_l2.require_l2("release")
    p = public.shape[0] * public.shape[1]
    return Sensitivity(
        l1=up(math.sqrt(p) * l2),
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
    if type(head) is not SoftmaxHead:  # a subclass may compute something else
        raise InputError(f"head must be a SoftmaxHead itself, got {describe(head)}")
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


def mechanism_of(name: str) -> type[AdditiveMechanism]:
    """The mechanism of that name."""
    if not isinstance(name, str) or name not in MECHANISMS:
        raise InputError(f"mechanism must be one of {', '.join(MECHANISMS)}, got {name!r}")
    return MECHANISMS[name]
