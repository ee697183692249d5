"""What the certified linear heads share: public numbers, the fit, and what it proved.

What the theorem needs is public and given: the classes, a bound on the features' norms, the
penalty, the normaliser N and the tolerance τ. What is fitted is a function of the records alone.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, cast
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from reticent.arrays import Array, ArrayLike, Floats
from reticent.training.features import MappedRows, Norms, as_norms, public_map, radius
from reticent.training.objective import LinearObjective
from reticent.training.optimum import Optimum, certified_minimum
from reticent.training.public_step import Enclosing, enclosing
from reticent.validation import InputError, count, describe, float_array, non_negative, positive

Outputs = Literal["softmax", "sigmoid"]

_SMALLEST, _LARGEST = 1e-75, 1e75
"""Within these no product of public numbers leaves the range of floats."""
LARGEST_COPY = 2**28
"""Bytes of rows that a fit maps once and keeps beside the rows themselves; more it maps block by
block, with each look at them."""
TOLERANCE_SHARE = 1e-3
"""The default τ in units of the gradient of one record over N: it adds 0.2 % to Δ."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Choices:
    """The parameters as plain numbers, read once: what is fitted is what is certified.

    A numpy scalar or a subclass of float may compute or print as something else.
    """

    penalty: float
    bound: float
    intercept: float
    norms: Norms
    records: int | None
    tolerance: float | None

    @property
    def radius(self) -> float:
        """R, the bound on the whole feature vector, constant included; rounded up."""
        return radius(self.bound, self.intercept)


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadNumbers:
    """The public numbers that the theorem about a head's optimum needs."""

    outputs: Outputs
    penalty: float
    records: int
    bound: float
    intercept: float
    norms: Norms
    tolerance: float
    largest_weight: float
    shape: tuple[int, int]

    @property
    def radius(self) -> float:
        """R, the bound on the whole feature vector."""
        return radius(self.bound, self.intercept)


@dataclass(frozen=True, kw_only=True, slots=True)
class CertifiedFit:
    """What a fit proved, kept apart from the estimator, whose attributes anybody can change."""

    parameters: tuple[object, ...]
    coordinates: bytes
    classes: tuple[Any, ...]
    numbers: HeadNumbers
    context: Enclosing
    """The pipeline or search that called the fit, where one did."""


_FITS: "WeakKeyDictionary[LinearHead, CertifiedFit]" = WeakKeyDictionary()


@dataclass(kw_only=True, eq=False, repr=False)
class LinearHead(BaseEstimator):  # type: ignore[misc]
    """A linear head at the certified optimum of a convex loss.

    Its fields are the parameters that scikit-learn gets and sets, one for each public number.
    """

    outputs: ClassVar[Outputs]

    penalty: float = 1e-3
    bound: float = 1.0
    classes: Sequence[Any] | None = None
    records: int | None = None
    intercept: float = 1.0
    centre: ArrayLike | None = None
    norms: Norms = "clip"
    tolerance: float | None = None

    @property
    def radius(self) -> float:
        """R, the bound on the whole feature vector, constant included; rounded up."""
        return self._choices().radius

    def fit(self, X: ArrayLike, y: ArrayLike, *, start: ArrayLike | None = None) -> Self:
        """Train until the certificate holds, which it does on every data set of valid records.

        ``start`` are coordinates near the optimum, as an earlier fit found them.
        """
        context = enclosing(self)
        choices = self._choices()
        objective = self._loss_on(X, y, choices, largest_copy=LARGEST_COPY)
        numbers = self._numbers(objective, choices)
        optimum = certified_minimum(
            objective, tolerance=numbers.tolerance, start=_started(start, objective)
        )
        self.set_solution(optimum, tolerance=numbers.tolerance)
        _FITS[self] = CertifiedFit(
            parameters=self._frozen_parameters(),
            coordinates=optimum.point.tobytes(),
            classes=tuple(self.classes_.tolist()),
            numbers=numbers,
            context=context,
        )
        return self

    def loss_on(self, X: ArrayLike, y: ArrayLike) -> LinearObjective:
        """What ``fit`` minimises on these records; the head learns their classes and width."""
        return self._loss_on(X, y, self._choices())

    def set_solution(self, optimum: Optimum, *, tolerance: float) -> Self:
        """Predict from a point that another solver optimum; nothing is certified by it."""
        _FITS.pop(self, None)
        self.tolerance_ = tolerance
        self.coordinates_ = optimum.point
        self.weights_ = self._unfolded(optimum.point)
        self.optimum_gap_ = optimum.gradient_bound
        self.n_iter_ = optimum.steps
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

    def planned(self, features: int) -> HeadNumbers:
        """The numbers that a fit on rows of this width will have, before any record is seen."""
        choices = self._choices()
        if self.classes is None or self.records is None:
            raise InputError("classes and records must be given to plan a head, got neither or one")
        twin = clone(self)  # names of classes are an attribute of a fit: not of this head yet
        twin.classes_ = self._named(np.empty(0))
        width = count("features", features) + (1 if choices.intercept else 0)
        objective = twin._objective(np.zeros((0, width)), twin._no_targets(), choices)
        numbers: HeadNumbers = twin._numbers(objective, choices)
        return numbers

    def logits(self, X: ArrayLike) -> Floats:
        """W h, one column per class."""
        check_is_fitted(self, "coordinates_")
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        return self._map(rows) @ self.weights_.T

    def _loss_on(
        self, X: ArrayLike, y: ArrayLike, choices: Choices, *, largest_copy: float = math.inf
    ) -> LinearObjective:
        rows, targets = self._checked_data(X, y)
        self.classes_ = self._named(targets)
        # What a search asks of its rows is their length, their width and their blocks.
        few = rows.nbytes <= largest_copy
        mapped = self._map(rows) if few else cast(Floats, MappedRows(rows, self._map))
        return self._objective(mapped, targets, choices)

    @abstractmethod
    def _objective(self, h: Floats, targets: Array, choices: Choices) -> LinearObjective: ...

    @abstractmethod
    def _no_targets(self) -> Array: ...

    @abstractmethod
    def _named(self, targets: Array) -> Array: ...

    @abstractmethod
    def _unfolded(self, coordinates: Floats) -> Floats: ...

    @abstractmethod
    def _checked_targets(self, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Array]: ...

    def _largest_weight(self, objective: LinearObjective) -> float:  # noqa: ARG002
        return 1.0

    def _map(self, rows: Floats) -> Floats:
        choices = self._choices()
        return public_map(
            rows,
            bound=choices.bound,
            intercept=choices.intercept,
            centre=self.centre,
            norms=choices.norms,
        )

    def _numbers(self, objective: LinearObjective, choices: Choices) -> HeadNumbers:
        return HeadNumbers(
            outputs=self.outputs,
            penalty=choices.penalty,
            records=objective.records,
            bound=choices.bound,
            intercept=choices.intercept,
            norms=choices.norms,
            tolerance=_tolerance(objective, choices.tolerance),
            largest_weight=self._largest_weight(objective),
            shape=objective.shape,
        )

    def _frozen_parameters(self) -> tuple[object, ...]:
        return (
            type(self),
            self._choices(),
            None if self.classes is None else tuple(self.classes),
            None if self.centre is None else np.asarray(self.centre, dtype=np.float64).tobytes(),
        )

    def _checked_data(self, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Array]:
        rows, targets = self._checked_targets(X, y)
        if self.centre is not None:
            centre = float_array("centre", self.centre)
            if centre.shape != (rows.shape[1],):
                raise InputError(
                    f"centre must have {rows.shape[1]} entries, got shape {centre.shape}"
                )
        return rows, targets

    def _choices(self) -> Choices:
        choices = Choices(
            penalty=positive("penalty", self.penalty),
            bound=positive("bound", self.bound),
            intercept=non_negative("intercept", self.intercept),
            norms=as_norms(self.norms),
            records=None if self.records is None else count("records", self.records),
            tolerance=None if self.tolerance is None else positive("tolerance", self.tolerance),
        )
        if not _SMALLEST < choices.radius < _LARGEST:
            raise InputError(f"bound must keep R within 1e-75 and 1e75, got R = {choices.radius}")
        if not _SMALLEST < choices.penalty < _LARGEST:
            raise InputError(f"penalty must be within 1e-75 and 1e75, got {choices.penalty}")
        if choices.records is not None and choices.records > 2**53:
            raise InputError(f"records must be <= 2**53, got {describe(choices.records)}")
        self._check_classes()
        return choices

    def _check_classes(self) -> None:
        """A list in an order, of names that stay different as one array."""
        if self.classes is None:
            return
        if isinstance(self.classes, (str, bytes, set, frozenset)):
            raise InputError(f"classes must be a list of all classes, got {describe(self.classes)}")
        names = list(self.classes)
        if len(set(np.asarray(names).tolist())) != len(names):
            raise InputError("classes must be distinct, got one twice")


def _tolerance(objective: LinearObjective, given: float | None) -> float:
    """τ as given, or one that every data set can reach; both from public numbers alone."""
    least = least_tolerance(objective)
    if given is None:
        one_record = objective.max_residual_norm * objective.radius / objective.records
        return max(TOLERANCE_SHARE * one_record, least)
    if given < least:
        raise InputError(
            f"tolerance must be >= {least:.3g}, which float64 can certify on every data set of "
            f"this size, got {given}"
        )
    return given


def least_tolerance(objective: LinearObjective) -> float:
    """Eight times the largest rounding where the search can be: it ends on every data set (D.2)."""
    return 8 * objective.worst_rounding()


def _started(start: ArrayLike | None, objective: LinearObjective) -> Floats | None:
    if start is None:
        return None
    point = float_array("start", start)
    if point.shape != objective.shape:
        raise InputError(f"start must have shape {objective.shape}, got {point.shape}")
    return point
