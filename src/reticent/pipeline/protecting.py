"""From a table of private features to a released head: cap, plan, charge, fit, release."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.data import Dataset
from reticent.guarantee import Composed, Event, Relation
from reticent.mechanisms import AdditiveMechanism
from reticent.protect import (
    MeanNumbers,
    PublicNumbers,
    ReleasedHead,
    ReleasedMean,
    mean_share,
    public_penalty,
    release_mean,
    release_weights,
)
from reticent.protect.budget import event_of, together
from reticent.protect.mean import mean_noise
from reticent.protect.public_numbers import checked_each
from reticent.protect.weights import release_noises
from reticent.training import SoftmaxHead
from reticent.training.features import Norms, radius
from reticent.validation import InputError, count

Floats = NDArray[np.float64]
Centre = Literal["none", "mean"]


@dataclass(frozen=True, kw_only=True)
class HeadSpec:
    """A softmax head on private features; every number is public and said by the user."""

    records: int
    bound: float
    penalty: float
    intercept: float = 1.0
    norms: Norms = "clip"
    records_each: int | None = None


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is asked of a release; every number is public and said by the user.

    ``records_each`` is the most rows that a person keeps: by default one where the data say whose
    their rows are, and then the person is the unit, and None where they do not.

    ``centre`` "mean" centres the rows by their noisy mean, for a share of the budget; the rows
    behind the mean are clipped to ``mean_bound`` (by default ``bound``).
    """

    epsilon: float
    delta: float
    relation: Relation
    records: int
    bound: float
    mechanism: str = "gaussian"
    intercept: float = 1.0
    norms: Norms = "clip"
    penalty: float | None = None
    records_each: int | None = None
    centre: Centre = "none"
    mean_bound: float | None = None
    share: float | None = None

    def head(self, features: int, classes: int) -> HeadSpec:
        """The head that these wishes need; its penalty is given or follows from public numbers."""
        return HeadSpec(
            records=self.records,
            bound=self.bound,
            penalty=self._penalty(features, classes) if self.penalty is None else self.penalty,
            intercept=self.intercept,
            norms=self.norms,
            records_each=self.records_each,
        )

    def for_rows_of(self, data: Dataset) -> Wanted:
        """The same with the person as the unit, where the data say whose their rows are."""
        return dataclasses.replace(self, records_each=kept_each(data, self.records_each))

    @property
    def budget(self) -> dict[str, Any]:
        """What every release of the plan is told."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "mechanism": self.mechanism,
            "records_each": self.records_each,
        }

    def mean(self, features: int) -> dict[str, Any]:
        """The public numbers of the mean."""
        share = self.share
        if share is None:
            share = mean_share(
                records=self.records, features=features, epsilon=self.epsilon, delta=self.delta
            )
        bound = self.bound if self.mean_bound is None else self.mean_bound
        return {"bound": bound, "share": share}

    def _penalty(self, features: int, classes: int) -> float:
        width = features + (1 if self.intercept else 0)
        return public_penalty(
            records=self.records,
            radius=radius(self.bound, self.intercept),
            coordinates=(classes - 1) * width,
            **self.budget,
        )


def fit_head(data: Dataset, spec: HeadSpec, *, start: Floats | None = None) -> SoftmaxHead:
    """A softmax head at its certified optimum, unprotected."""
    features, labels = private_rows(data, spec.records_each)
    return unfitted(spec, data.classes).fit(features, labels, start=start)


def protect_head(
    data: Dataset,
    wanted: Wanted,
    *,
    charge: Callable[[Event], object] | None = None,
    start: Floats | None = None,
) -> ReleasedHead:
    """A softmax head on the features, fitted and released once.

    With persons in the data each keeps its first ``records_each`` rows (one, where none is said),
    and the person is the unit.
    ``charge`` is called with the event of the whole plan, which is known from public numbers,
    before anything is computed from the records.
    """
    wanted = wanted.for_rows_of(data)
    features, labels = private_rows(data, wanted.records_each)
    head = unfitted(wanted.head(features.shape[1], len(data.classes)), data.classes)
    event = planned_event(head, wanted, features.shape[1])
    _refuse_other_start(head, start, features.shape[1])
    if charge is not None:
        charge(event)
    mean = _released_mean(features, wanted)
    if mean is not None:
        head.set_params(centre=mean.values)
    head.fit(features, labels, start=start)
    return release_weights(head, mean=mean, **wanted.budget)


def _refuse_other_start(head: SoftmaxHead, start: Floats | None, features: int) -> None:
    """Before anything is charged: a fit on another width is found out too late otherwise."""
    shape = head.planned(features).shape
    if start is not None and start.shape != shape:
        raise InputError(f"fit must have coordinates of shape {shape}, got {start.shape}")


def planned_event(head: SoftmaxHead, wanted: Wanted, features: int) -> Event:
    """What the whole release will cost, from public numbers alone."""
    before, numbers = _planned_mean(wanted, features)
    public = PublicNumbers.of(
        head.planned(features), records_each=wanted.records_each, mean=numbers
    )
    noises = release_noises(
        public,
        epsilon=wanted.epsilon,
        delta=wanted.delta,
        relation=wanted.relation,
        mechanism=wanted.mechanism,
        before=before,
    )
    if not together(noises, delta=wanted.delta) <= wanted.epsilon:
        raise InputError(f"share must leave room for the weights, got {wanted.share}")
    events = tuple(event_of(noise, delta=wanted.delta) for noise in noises)
    return events[0] if len(events) == 1 else Composed(events=events)


def kept_each(data: Dataset, records_each: int | None) -> int | None:
    """The most rows that a person keeps, one where none is said; None where no persons are named.

    Every claim about a table takes its unit from here: rows that are capped by person protect the
    person, at one row each too.
    """
    each = checked_each(records_each)
    return 1 if each is None and data.persons is not None else each


def private_rows(data: Dataset, records_each: int | None) -> tuple[Floats, NDArray[Any]]:
    """Features and labels of the rows that count, with each person's rows capped.

    Persons without a cap are refused: whoever claims something of the rows must know the unit.
    """
    if not data.public_classes:
        raise InputError("classes must be declared for a proven release, got them from the labels")
    if data.labels is None:
        raise InputError("data must have labels, got none")
    if data.persons is None:
        rows = np.arange(len(data))
    elif records_each is None:
        raise InputError("records_each must be said where the data name persons, got None")
    else:
        rows = capped(data.persons, records_each)
    labels: NDArray[Any] = np.asarray(data.classes)[data.labels[rows]]
    return data.features[rows].astype(np.float64), labels


def capped(persons: NDArray[np.generic], records_each: int) -> NDArray[np.int64]:
    """The first rows of each person: which ones depends on that person's rows alone."""
    most = count("records_each", records_each)
    order = np.argsort(persons, kind="stable")
    ordered = persons[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    place = np.arange(len(persons)) - np.repeat(starts, np.diff(np.append(starts, len(persons))))
    return np.sort(order[place < most])


def unfitted(spec: HeadSpec, classes: tuple[str, ...]) -> SoftmaxHead:
    """The head of a specification."""
    values = dataclasses.asdict(spec)
    del values["records_each"]
    return SoftmaxHead(classes=classes, **values)


def _planned_mean(
    wanted: Wanted, features: int
) -> tuple[AdditiveMechanism | None, MeanNumbers | None]:
    if wanted.centre == "none":
        return None, None
    if wanted.centre != "mean":
        raise InputError(f"centre must be none or mean, got {wanted.centre!r}")
    asked = wanted.mean(features)
    noise = mean_noise(features=features, **asked, **wanted.budget)
    return noise, MeanNumbers(bound=asked["bound"], features=features, scale=noise.scale)


def _released_mean(features: Floats, wanted: Wanted) -> ReleasedMean | None:
    if wanted.centre == "none":
        return None
    asked = wanted.mean(features.shape[1])
    return release_mean(features, records=wanted.records, **asked, **wanted.budget)
