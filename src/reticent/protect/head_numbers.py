"""The public numbers of a certified head, and what its theorem gives for them.

Two kinds of release rest on them: noise on the optimum (``recipes.weights``) and answers per query
(``answers``).
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import numpy as np

from reticent import bounds
from reticent.guarantee import Relation, Sensitivity, rounding
from reticent.protect.terms import checked_each, countable, records_touched, unit_of
from reticent.training import sigmoid_head, softmax
from reticent.training.features import NORMS
from reticent.training.linear_head import HeadNumbers, least_tolerance
from reticent.validation import InputError, count, describe, non_negative, positive


@dataclass(frozen=True, kw_only=True, slots=True)
class CertifiedNumbers(HeadNumbers):
    """What the theorem about a head's optimum needs, with what follows from it."""

    @property
    def classes(self) -> int:
        """The number of outputs: one more than coordinates for softmax."""
        return self.shape[0] + (1 if self.outputs == "softmax" else 0)

    @property
    def features(self) -> int:
        """The number of features of a query."""
        return self.shape[1] - (1 if self.intercept else 0)

    def head_sensitivity(self, relation: Relation, touched: int) -> Sensitivity:
        """The L2 bound of the theorem, and √p times it in L1: p coordinates are released."""
        proven_l2 = self._l2(relation, touched)
        l2 = proven_l2.require_l2("release")
        p = self.shape[0] * self.shape[1]
        return Sensitivity(
            l1=rounding.up(math.sqrt(p) * l2),
            l2=l2,
            relation=relation,
            source=f"{proven_l2.source}; L1 = √{p}·L2",
        )

    @property
    def theorem(self) -> str:
        """The function that says how far one record moves the optimum."""
        return f"bounds.heads.{self.outputs}_head"

    def least_tolerance(self) -> float:
        """What float64 can certify on every data set of this size."""
        nothing = np.broadcast_to(0.0, (0, self.shape[1]))  # shapes alone: no memory is taken
        public: Any = {
            "penalty": self.penalty,
            "records": self.records,
            "radius": self.radius,
        }
        if self.outputs == "sigmoid":
            targets = np.broadcast_to(0.0, (0, self.shape[0]))
            return least_tolerance(
                sigmoid_head.SigmoidObjective(rows=nothing, targets=targets, **public)
            )
        return least_tolerance(
            softmax.SoftmaxObjective(
                rows=nothing,
                labels=np.zeros(0, dtype=np.int64),
                basis=np.broadcast_to(0.0, (self.classes, self.shape[0])),
                weights=np.array([self.largest_weight]),
                **public,
            )
        )

    def _l2(self, relation: Relation, touched: int) -> Sensitivity:
        if self.outputs == "sigmoid":
            return bounds.sigmoid_head(
                labels=self.shape[0],
                penalty=self.penalty,
                records=self.records,
                radius=self.radius,
                tolerance=self.tolerance,
                relation=relation,
                max_records_per_person=touched,
            )
        return bounds.softmax_head(
            penalty=self.penalty,
            records=self.records,
            radius=self.radius,
            tolerance=self.tolerance,
            relation=relation,
            largest_weight=self.largest_weight,
            max_records_per_person=touched,
        )


def fields_of(head: HeadNumbers) -> dict[str, Any]:
    """The fields of a head's numbers alone."""
    return {one.name: getattr(head, one.name) for one in fields(HeadNumbers)}


def checked_head(values: Mapping[str, object]) -> dict[str, Any]:
    """A head's numbers from plain values; what is out of range is refused."""
    return {
        "outputs": one_of("outputs", values["outputs"], ("softmax", "sigmoid")),
        "penalty": positive("penalty", values["penalty"]),
        "records": countable("records", values["records"]),
        "bound": positive("bound", values["bound"]),
        "intercept": non_negative("intercept", values["intercept"]),
        "norms": one_of("norms", values["norms"], NORMS),
        "tolerance": positive("tolerance", values["tolerance"]),
        "largest_weight": positive("largest_weight", values["largest_weight"]),
        "shape": _shape(values["shape"]),
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanNumbers:
    """A noisy mean that a head was centred by: its rows' bound and the scale of its noise."""

    bound: float
    features: int
    scale: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PublicNumbers(CertifiedNumbers):
    """What answers per query rest on.

    ``max_records_per_person`` is the most records of one person, None where no persons are named.
    """

    max_records_per_person: int | None
    mean: MeanNumbers | None = None

    @classmethod
    def of(
        cls, head: HeadNumbers, *, max_records_per_person: int | None, mean: MeanNumbers | None
    ) -> Self:
        """A head's numbers, and what else the answers rest on."""
        each = checked_each(max_records_per_person)
        return cls(**fields_of(head), max_records_per_person=each, mean=mean)

    @property
    def unit(self) -> str:
        """Who is protected: one record, or one person."""
        return unit_of(self.max_records_per_person)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """How far one unit moves the optimum."""
        return self.head_sensitivity(relation, records_touched(self.max_records_per_person))

    def answers(self, relation: Relation) -> bounds.SoftmaxAnswers:
        """How far one record moves the answer to one query; softmax heads alone."""
        if self.outputs != "softmax":
            raise InputError(f"answers must be those of a softmax head, got {self.outputs}")
        return bounds.SoftmaxAnswers(
            classes=self.classes,
            features=self.shape[1],
            penalty=self.penalty,
            records=self.records,
            radius=self.radius,
            tolerance=self.tolerance,
            relation=relation,
            largest_weight=self.largest_weight,
            max_records_per_person=records_touched(self.max_records_per_person),
        )

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return asdict(self) | {"shape": list(self.shape)}


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> Any:
    """The value, if it is one of those that are allowed."""
    if value not in allowed:
        raise InputError(f"{name} must be {' or '.join(allowed)}, got {describe(value)}")
    return value


def _shape(value: object) -> tuple[int, int]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise InputError(f"shape must be two whole numbers, got {describe(value)}")
    rows, columns = (count("shape", size) for size in value)
    if rows * columns > 2**53:
        raise InputError(f"shape must have at most 2**53 entries, got {describe(value)}")
    return rows, columns
