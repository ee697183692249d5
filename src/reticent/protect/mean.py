"""A noisy mean of clipped rows, to centre features by (theory F13).

A head on uncentred features spends its norm on their mean. The mean is itself a function of the
private rows, so it is released with noise and takes its share of the budget.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.data.cells import SCHEMA_STATED
from reticent.frozen import frozen
from reticent.guarantee import Event, Grade, Guarantee, Relation
from reticent.guarantee.checks import checked_by
from reticent.guarantee.grade import as_relation
from reticent.mechanisms import AdditiveMechanism
from reticent.protect.budget import event_of, mechanism_of, part
from reticent.protect.noisy_query import minted, noisy_query
from reticent.protect.public_numbers import (
    MeanNumbers,
    checked_each,
    stated_of_persons,
    unit_of,
)
from reticent.training.features import clip_rows
from reticent.validation import InputError, count, float_rows, positive, probability

Floats = NDArray[np.float64]
Charge = Callable[[Event], object]

MEAN_CHECKED = (
    checked_by(
        "the rows behind the mean are clipped in float64 to its public bound, row by row, and cut "
        "to whole multiples of a power of two, so that their sum is exact",
        "protect.mean.exact_sum",
    ),
)
MEAN_STATED = (
    "one record is one row of features; the map from raw data to features is fixed and looks at "
    "one record at a time",
    SCHEMA_STATED,
    "bound, normaliser, mechanism and ε were chosen without looking at the private data",
    "nothing else computed from the private data is published",
)
_GRID_BITS = 20
"""Rows are cut to bound·2⁻²⁰ or less: with 2³² of them the sum still fits a float exactly."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleasedMean:
    """A noisy mean: public from now on."""

    values: Floats
    guarantee: Guarantee
    mechanism: str
    numbers: MeanNumbers
    records_each: int | None

    def __post_init__(self) -> None:
        """Whoever builds one by hand, or changes a field, has a declared guarantee at most."""
        if self.guarantee.grade is Grade.PROVEN:
            declared = dataclasses.replace(self.guarantee, grade=Grade.DECLARED)
            object.__setattr__(self, "guarantee", declared)
        object.__setattr__(self, "values", frozen(self.values))

    def noise(self) -> AdditiveMechanism:
        """The noise that it was released with."""
        return mechanism_of(self.mechanism)(
            scale=self.numbers.scale,
            sensitivity=self.numbers.sensitivity(self.guarantee.relation, self.records_each),
        )


def release_mean(  # noqa: PLR0913 - one argument for each public number
    X: ArrayLike,
    *,
    bound: float,
    records: int,
    epsilon: float,
    delta: float,
    relation: Relation | str,
    share: float = 1.0,
    mechanism: str = "gaussian",
    records_each: int | None = None,
    charge: Charge | None = None,
) -> ReleasedMean:
    """The sum of the rows, clipped to ``bound``, with noise, over the public ``records``.

    It spends ``share`` of the budget (ε, δ) (of μ² for Gaussian noise, of ρ or ε for other noise);
    ``release_weights(…, mean=…)`` spends the rest. ``charge`` is called with the event before the
    noise is drawn.

    >>> rows = np.random.default_rng(0).normal(size=(5000, 3)) + [1.0, 0.0, 0.0]
    >>> mean = release_mean(
    ...     rows, bound=3.0, records=5000, epsilon=1.0, delta=1e-6, relation="add-remove"
    ... )
    >>> mean.guarantee.grade, bool(abs(mean.values[0] - 1.0) < 0.15)
    (<Grade.PROVEN: 'proven'>, True)
    """
    relation, rows = as_relation(relation), float_rows("X", X)
    epsilon, delta = positive("epsilon", epsilon), probability("delta", delta)
    bound, records_each = _bound(bound), checked_each(records_each)
    noise = mean_noise(
        features=rows.shape[1],
        bound=bound,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        share=share,
        mechanism=mechanism,
        records_each=records_each,
    )
    normaliser = count("records", records)
    claim = noise.guarantee(delta=delta, unit=unit_of(records_each))
    stated = (*MEAN_STATED, *stated_of_persons(records_each))
    claim = dataclasses.replace(claim, checked=(*claim.checked, *MEAN_CHECKED), stated=stated)
    if charge is not None:
        charge(event_of(noise, delta=delta))
    released = ReleasedMean(
        values=noisy_query(noise, exact_sum(rows, bound)) / normaliser,
        guarantee=claim,
        mechanism=noise.name,
        numbers=MeanNumbers(bound=bound, features=rows.shape[1], scale=noise.scale),
        records_each=records_each,
    )
    object.__setattr__(released, "guarantee", minted(claim))
    return released


def mean_noise(  # noqa: PLR0913 - as above
    *,
    features: int,
    bound: float,
    epsilon: float,
    delta: float,
    relation: Relation,
    share: float,
    mechanism: str,
    records_each: int | None,
) -> AdditiveMechanism:
    """The noise of a mean, from public numbers alone."""
    numbers = MeanNumbers(bound=_bound(bound), features=features, scale=1.0)
    sensitivity = numbers.sensitivity(relation, records_each)
    return part(mechanism_of(mechanism), sensitivity, epsilon=epsilon, delta=delta, share=share)


def _bound(value: float) -> float:
    bound = positive("bound", value)
    if not 1e-75 < bound < 1e75:
        raise InputError(f"bound must be within 1e-75 and 1e75, got {bound}")
    return bound


def exact_sum(rows: Floats, bound: float) -> Floats:
    """The sum of clipped rows without a rounding error, so that one row moves it by ≤ bound.

    Cutting towards zero onto a grid of a power of two shortens a row and never lengthens it; the
    whole multiples add up in 64-bit integers, and their sum times the step is a float again.
    """
    step = math.ldexp(1.0, math.frexp(bound)[1] - 1 - _GRID_BITS)
    multiples = np.trunc(clip_rows(rows, bound) / step).astype(np.int64)
    total: Floats = multiples.sum(axis=0) * step
    return total
