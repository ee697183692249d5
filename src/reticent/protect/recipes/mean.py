"""A noisy mean of clipped rows, to centre features by (theory F13).

A head on uncentred features spends its norm on their mean. The mean is itself a function of the
private rows, so it is released with noise and takes its share of the budget.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np

from reticent import bounds
from reticent.arrays import Array, Floats
from reticent.data.cells import SCHEMA_STATED
from reticent.guarantee import Sensitivity, guarantee
from reticent.mechanisms import AdditiveMechanism, registry
from reticent.protect.budget import noise_for_budget_share
from reticent.protect.recipe import Plan, Recipe, ReleasedMeans, Step, Task, Tensors
from reticent.protect.terms import Terms
from reticent.training.features import Rows, clip_rows
from reticent.validation import InputError, positive

MEAN: Final = "mean"
THEOREM: Final = "bounds.means.clipped_sum"
EXACT_SUM = guarantee.checked_by(
    "the rows behind the mean are clipped in float64 to its public bound, row by row, and cut "
    "to whole multiples of a power of two, so that their sum is exact",
    "protect.recipes.mean.exact_sum",
)
STATED: Final = (
    "one record is one row of features; the map from raw data to features is fixed and looks at "
    "one record at a time",
    SCHEMA_STATED,
    "bound, normaliser, mechanism and ε were chosen without looking at the private data",
    "nothing else computed from the private data is published",
)
_GRID_BITS = 20
_BLOCK = 4096
"""Rows that are clipped at a time; the sum is exact, whatever it is."""
"""Rows are cut to bound·2⁻²⁰ or less: with 2³² of them the sum still fits a float exactly."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanRecipe(Recipe):
    """The sum of the rows, clipped to ``bound``, with noise, over the public N."""

    name: ClassVar[str] = "mean"
    centres_heads: ClassVar[bool] = True
    task: ClassVar[Task] = "statistic"
    options: ClassVar[tuple[str, ...]] = ("bound",)
    checked: ClassVar[tuple[str, ...]] = (EXACT_SUM,)
    stated: ClassVar[tuple[str, ...]] = STATED

    records: int
    features: int
    mechanism: str
    bound: float
    classes: int = 0

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """``options`` is the bound on a row's norm."""
        bound = checked_bound(options["bound"])
        return super(MeanRecipe, cls)._planned(terms, numbers, options | {"bound": bound})

    @property
    def public_numbers(self) -> tuple[str, ...]:
        """The numbers that its user says; a mean has no classes."""
        return ("records", "bound")

    def steps(self, terms: Terms) -> dict[str, Step]:
        """One noisy sum of clipped rows, with the whole budget."""
        sensitivity = sum_sensitivity(self.bound, self.features, terms)
        return {MEAN: Step(sensitivity=sensitivity, share=1.0, theorem=THEOREM)}

    @property
    def formula(self) -> tuple[str, ...]:
        """Nothing is to be computed."""
        return ("the tensor mean is the answer",)

    def learn(self, rows: Floats, labels: Array, plan: Plan) -> Tensors:  # noqa: ARG002
        """The noisy sum over N; labels are not looked at."""
        return {MEAN: plan[MEAN].release(exact_sum(rows, self.bound)) / self.records}

    def misfits(self, terms: Terms) -> list[str]:
        """Numbers that no mean has."""
        del terms
        problems = [] if self.records >= 1 else ["records must be at least 1"]
        problems += [] if self.classes == 0 else ["a mean has no classes"]
        problems += [] if 1e-75 < self.bound < 1e75 else ["bound must be within 1e-75 and 1e75"]
        return problems

    def released_means(self, tensors: Mapping[str, Floats]) -> ReleasedMeans:
        """The mean of rows that were clipped to the bound."""
        return ReleasedMeans(tensors[MEAN], bound=self.bound)

    def released_as(self) -> dict[str, tuple[str, int]]:
        """The noisy sum over N."""
        return {MEAN: (MEAN, self.records)}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The mean has one entry per feature."""
        return {MEAN: (self.features,)}


def sum_sensitivity(bound: float, features: int, terms: Terms) -> Sensitivity:
    """How far one unit moves the sum of clipped rows."""
    return bounds.clipped_sum(
        bound=bound,
        features=features,
        relation=terms.relation,
        max_records_per_person=terms.records_touched,
    )


def mean_noise(recipe: MeanRecipe, terms: Terms, *, share: float = 1.0) -> AdditiveMechanism:
    """The noise of a mean that spends a share of (ε, δ), from public numbers alone."""
    return noise_for_budget_share(
        registry.MECHANISMS.named(recipe.mechanism),
        recipe.steps(terms)[MEAN].sensitivity,
        epsilon=terms.epsilon,
        delta=terms.delta,
        share=share,
    )


def checked_bound(value: object) -> float:
    """A bound that the grid of exact sums can follow."""
    bound = positive("bound", value)
    if not 1e-75 < bound < 1e75:
        raise InputError(f"bound must be within 1e-75 and 1e75, got {bound}")
    return bound


def exact_sum(rows: Rows, bound: float) -> Floats:
    """The sum of clipped rows without a rounding error, so that one row moves it by ≤ bound.

    Cutting towards zero onto a grid of a power of two shortens a row and never lengthens it; the
    whole multiples add up in 64-bit integers, and their sum times the step is a float again.
    """
    step = math.ldexp(1.0, math.frexp(bound)[1] - 1 - _GRID_BITS)
    multiples = np.zeros(rows.shape[1], dtype=np.int64)
    for start in range(0, len(rows), _BLOCK):
        clipped = clip_rows(rows[start : start + _BLOCK], bound)
        multiples += np.trunc(clipped / step).astype(np.int64).sum(axis=0)
    total: Floats = multiples.astype(np.float64) * step
    return total
