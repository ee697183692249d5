"""The public numbers of a release: what the theorem needs and the certificate prints."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reticent import bounds
from reticent.guarantee import Relation, Sensitivity
from reticent.guarantee.guarantee import ONE_RECORD
from reticent.guarantee.rounding import up
from reticent.training.features import NORMS
from reticent.training.linear_head import HeadNumbers, least_tolerance
from reticent.training.sigmoid import SigmoidObjective
from reticent.training.softmax import SoftmaxObjective
from reticent.validation import InputError, count, describe, non_negative, positive


def unit_of(records_each: int | None) -> str:
    """Who is protected: one record, or one person where persons are named, at one row each too.

    ``records_each`` is the most rows of a person that are kept, None where no persons are named.
    Which row of a person is kept depends on the person's other rows: without the first one the
    next stands in its place. So one row of a table is not the unit there (theory D.5).

    >>> unit_of(None), unit_of(1), unit_of(3)
    ('one record', 'one person with at most 1 record', 'one person with at most 3 records')
    """
    if checked_each(records_each) is None:
        return ONE_RECORD
    return f"one person with at most {records_each} record{'' if records_each == 1 else 's'}"


def checked_each(records_each: object) -> int | None:
    """A whole number from 1 on, or None: no persons are named."""
    return None if records_each is None else _countable("records_each", records_each)


def records_touched(records_each: int | None) -> int:
    """How many records one unit owns at most: what the theorems in ``bounds`` count."""
    return checked_each(records_each) or 1


def stated_of_persons(records_each: int | None) -> tuple[str, ...]:
    """What a claim about persons rests on beside the theorem; nothing where none are named."""
    if records_each is None:
        return ()
    return (
        f"no person owns more than {records_each} of the rows fitted on; which rows of a person are"
        " kept depends on that person's rows alone, and the kept rows are the records counted here",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanNumbers:
    """A noisy mean that a head was centred by: its rows' bound and the scale of its noise."""

    bound: float
    features: int
    scale: float

    def sensitivity(self, relation: Relation, records_each: int | None) -> Sensitivity:
        """Of the sum of the clipped rows."""
        return bounds.clipped_sum(
            bound=self.bound,
            features=self.features,
            relation=relation,
            records_each=records_touched(records_each),
        )

    @classmethod
    def from_dict(cls, values: object) -> MeanNumbers:
        """From plain values; what is missing, unknown or out of range is refused."""
        _check_names("mean", cls, values)
        assert isinstance(values, Mapping)
        return cls(
            bound=positive("mean bound", values["bound"]),
            features=count("mean features", values["features"]),
            scale=positive("mean scale", values["scale"]),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class PublicNumbers(HeadNumbers):
    """What the theorems need: all of it public, all of it in the certificate.

    ``records_each`` is the most records of one person, None where no persons are named.
    """

    records_each: int | None
    mean: MeanNumbers | None = None

    @classmethod
    def of(
        cls, head: HeadNumbers, *, records_each: int | None, mean: MeanNumbers | None
    ) -> PublicNumbers:
        """A head's numbers, and what else the release rests on."""
        fields = {field.name: getattr(head, field.name) for field in dataclasses.fields(head)}
        return cls(**fields, records_each=checked_each(records_each), mean=mean)

    @property
    def unit(self) -> str:
        """Who is protected."""
        return unit_of(self.records_each)

    @property
    def classes(self) -> int:
        """The number of outputs."""
        return self.shape[0] + (1 if self.outputs == "softmax" else 0)

    @property
    def features(self) -> int:
        """The number of features of a query."""
        return self.shape[1] - (1 if self.intercept else 0)

    def sensitivity(self, relation: Relation) -> Sensitivity:
        """The L2 bound of the theorem, and √p times it in L1: p coordinates are released."""
        proven_l2 = self._l2(relation)
        l2 = proven_l2.require_l2("release")
        p = self.shape[0] * self.shape[1]
        return Sensitivity(
            l1=up(math.sqrt(p) * l2),
            l2=l2,
            relation=relation,
            source=f"{proven_l2.source}; L1 = √{p}·L2",
        )

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
            records_each=records_touched(self.records_each),
        )

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
            return least_tolerance(SigmoidObjective(rows=nothing, targets=targets, **public))
        return least_tolerance(
            SoftmaxObjective(
                rows=nothing,
                labels=np.zeros(0, dtype=np.int64),
                basis=np.broadcast_to(0.0, (self.classes, self.shape[0])),
                weights=np.array([self.largest_weight]),
                **public,
            )
        )

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return dataclasses.asdict(self) | {"shape": list(self.shape)}

    @classmethod
    def from_dict(cls, values: object) -> PublicNumbers:
        """From plain values; what is missing, unknown or out of range is refused."""
        _check_names("public numbers", cls, values)
        assert isinstance(values, Mapping)
        mean = values["mean"]
        return cls(
            outputs=_one_of("outputs", values["outputs"], ("softmax", "sigmoid")),
            penalty=positive("penalty", values["penalty"]),
            records=_countable("records", values["records"]),
            bound=positive("bound", values["bound"]),
            intercept=non_negative("intercept", values["intercept"]),
            norms=_one_of("norms", values["norms"], NORMS),
            tolerance=positive("tolerance", values["tolerance"]),
            largest_weight=positive("largest_weight", values["largest_weight"]),
            shape=_shape(values["shape"]),
            records_each=checked_each(values["records_each"]),
            mean=None if mean is None else MeanNumbers.from_dict(mean),
        )

    def _l2(self, relation: Relation) -> Sensitivity:
        if self.outputs == "sigmoid":
            return bounds.sigmoid_head(
                labels=self.shape[0],
                penalty=self.penalty,
                records=self.records,
                radius=self.radius,
                tolerance=self.tolerance,
                relation=relation,
                records_each=records_touched(self.records_each),
            )
        return bounds.softmax_head(
            penalty=self.penalty,
            records=self.records,
            radius=self.radius,
            tolerance=self.tolerance,
            relation=relation,
            largest_weight=self.largest_weight,
            records_each=records_touched(self.records_each),
        )


def _check_names(what: str, kind: type[Any], values: object) -> None:
    names = {field.name for field in dataclasses.fields(kind)}
    if not isinstance(values, Mapping) or set(values) != names:
        raise InputError(f"{what} must be {', '.join(sorted(names))}, got others")


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> Any:
    if value not in allowed:
        raise InputError(f"{name} must be {' or '.join(allowed)}, got {describe(value)}")
    return value


def _countable(name: str, value: object) -> int:
    number = count(name, value)
    if number > 2**53:
        raise InputError(f"{name} must be <= 2**53, got a larger number")
    return number


def _shape(value: object) -> tuple[int, int]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise InputError(f"shape must be two whole numbers, got {describe(value)}")
    rows, columns = (count("shape", size) for size in value)
    if rows * columns > 2**53:
        raise InputError(f"shape must have at most 2**53 entries, got {describe(value)}")
    return rows, columns
