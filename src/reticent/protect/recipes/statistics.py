"""Sums over records, released once and together: what the smaller learners are computed from.

First, where it pays, the sum of the rows, to centre them by; then the second moment, class sums and
class counts of the centred rows as one noisy vector (theorem in ``bounds.statistics``).
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from reticent import bounds
from reticent.arrays import Floats, Integers
from reticent.bounds.statistics import EXACT_BLOCK
from reticent.mechanisms.registry import MECHANISMS
from reticent.protect.budget import noise_for_budget_share
from reticent.protect.recipe import Affine, Plan, PlannedStep, Recipe, Step, Tensors
from reticent.protect.recipes.exact_rows import unit_rows
from reticent.protect.recipes.linear import LinearRecipe, layer_tensors
from reticent.protect.terms import Terms
from reticent.training.features import MappedRows, Rows

MEAN, STATISTICS = "mean", "statistics"
MEAN_COUNT = 0.25
"""The weight of the number of records beside the sum of rows: a power of two, as all weights."""
CLASS_THEOREM = "bounds.statistics.class_statistics"
_ROOT = math.sqrt(2.0)
_LONGEST_MEAN_NOISE = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class StatisticsRecipe(LinearRecipe):
    """The weights of the three sums in one release, and the mean's share of the budget.

    Weights are powers of two, so that weighing is exact. A weight of 0 leaves the moment out, a
    share of 0 the mean.
    """

    moment: float
    sums: float
    counts: float
    mean_share: float

    weighing: ClassVar[dict[str, float]]
    """The moment's, sums' and counts' weights and the mean's share, of each recipe."""

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """With the mean where it pays."""
        recipe = super(StatisticsRecipe, cls)._planned(terms, numbers, {**cls.weighing, **options})
        pays = mean_pays(recipe, recipe.steps(terms), terms)
        return recipe if pays else replace(recipe, mean_share=0.0)

    def steps(self, terms: Terms) -> dict[str, Step]:
        """The mean with the number of records, then the statistics with what is left."""
        public: dict[str, Any] = {
            "features": self.features,
            "records": self.records,
            "relation": terms.relation,
            "max_records_per_person": terms.records_touched,
        }
        steps = {}
        if self.mean_share > 0:
            # The mean is the statistics of one class: their theorem covers it.
            mean = bounds.class_statistics(moment=0.0, sums=1.0, counts=MEAN_COUNT, **public)
            steps[MEAN] = Step(sensitivity=mean, share=self.mean_share, theorem=CLASS_THEOREM)
        statistics = bounds.class_statistics(
            moment=self.moment, sums=self.sums, counts=self.counts, **public
        )
        rest = Step(sensitivity=statistics, share=1 - self.mean_share, theorem=CLASS_THEOREM)
        return steps | {STATISTICS: rest}

    def learn(self, rows: Floats, labels: Integers, plan: Plan) -> Tensors:
        """A layer from noisy statistics of centred unit rows, as one on unit rows."""
        statistics = released_statistics(rows, labels, self, plan)
        layer = self.layer_from(statistics)
        return layer_tensors(statistics.mean.uncentred(layer.weights, layer.offsets))

    @abstractmethod
    def layer_from(self, statistics: "Statistics") -> Affine:
        """W and b on centred unit rows, from the noisy statistics alone."""


def mean_pays(recipe: Recipe, steps: Mapping[str, Step], terms: Terms) -> bool:
    """A rule in public numbers: is the mean's noise shorter than half a row?"""
    step = steps[MEAN]
    noise = noise_for_budget_share(
        MECHANISMS.named(recipe.mechanism),
        step.sensitivity,
        epsilon=terms.epsilon,
        delta=terms.delta,
        share=step.share,
    )
    std = noise.std_in(recipe.features + 1)
    return math.sqrt(recipe.features) * std / recipe.records <= _LONGEST_MEAN_NOISE


@dataclass(frozen=True, kw_only=True)
class Mean:
    """What rows are centred by, and about how many of them there are."""

    values: Floats
    records: float
    length: float
    """The root mean square of a centred unit row's norm, before it is scaled to 1 again."""

    def uncentred(self, weights: Floats, offsets: Floats) -> Affine:
        """A layer on centred unit rows as one on unit rows; norms count as their average."""
        layer = weights / self.length
        return Affine(layer, offsets - layer @ self.values)


_LEAST_SIGNAL = 0.05
"""Of the average squared length of noisy class means, where nothing but noise is seen."""


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Noisy sums of centred unit rows, and the standard deviation of the noise on an entry."""

    mean: Mean
    sums: Floats
    counts: Floats
    moment: Floats
    sum_noise: float
    moment_noise: float

    @property
    def records(self) -> float:
        """About the number of records."""
        return float(self.counts.sum())

    @property
    def means(self) -> Floats:
        """Class means; at most 1 long, as those of unit rows are."""
        means = self.sums / self.counts[:, None]
        return np.asarray(means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1.0))

    @property
    def mean_noise(self) -> Floats:
        """The variance of an entry of each class mean that is noise."""
        variance: Floats = (self.sum_noise / self.counts) ** 2
        return variance


def released_mean(unit: Rows, recipe: Recipe, plan: Plan) -> Mean:
    """The noisy mean, or none."""
    width = unit.shape[1]
    if MEAN not in plan:
        return Mean(values=np.zeros(width), records=float(recipe.records), length=1.0)
    noise = plan[MEAN].noise
    answer = plan[MEAN].release(np.append(total(unit), MEAN_COUNT * len(unit)))
    std = noise.std_in(answer.size)
    records = max(answer[-1] / MEAN_COUNT, std / MEAN_COUNT, 1.0)
    values = answer[:-1] / records
    values /= max(float(np.linalg.norm(values)), 1.0)
    squared = float(values @ values) - width * (std / records) ** 2
    return Mean(values=values, records=records, length=math.sqrt(max(1 - max(squared, 0.0), 1e-2)))


def released_statistics(
    rows: Floats, labels: Integers, recipe: StatisticsRecipe, plan: Plan
) -> Statistics:
    """All that these learners ask of the records."""
    unit = unit_rows_of(rows, np.zeros(rows.shape[1]))
    mean = released_mean(unit, recipe, plan)
    centred = unit_rows_of(unit, mean.values) if MEAN in plan else unit
    noise, shape = plan[STATISTICS].noise, (recipe.classes, recipe.features)
    moment = second_moment(centred) if recipe.moment else np.zeros((0, 0))
    sums = class_sums(centred, labels, recipe.classes)
    counts = np.bincount(labels, minlength=recipe.classes).astype(np.float64)
    parts = [recipe.moment * flat(moment), recipe.sums * sums.ravel(), recipe.counts * counts]
    entries, products, numbers = split_release(plan[STATISTICS], parts)
    std = noise.std_in(sum(part.size for part in parts))
    return Statistics(
        mean=mean,
        sums=products.reshape(shape) / recipe.sums,
        counts=likely_counts(numbers / recipe.counts, std / recipe.counts),
        moment=symmetric(entries / recipe.moment) if recipe.moment else moment,
        sum_noise=std / recipe.sums,
        moment_noise=std / recipe.moment if recipe.moment else 0.0,
    )


def unit_rows_of(rows: Rows, centre: Floats) -> MappedRows:
    """Rows less the centre, scaled to norm 1 on the grid, a block at a time."""
    return MappedRows(rows, lambda block: unit_rows(block, centre))


def with_intercept(rows: Floats, intercept: float) -> Floats:
    """A constant entry more, and norm 1 again: each row still depends on its record alone."""
    if not intercept:
        return rows
    longer = np.column_stack([rows, np.full(len(rows), intercept)])
    return unit_rows(longer, np.zeros(longer.shape[1]))


def likely_counts(noisy: Floats, noise: float) -> Floats:
    """Counts drawn towards their average by the part of their variance that noise may make up.

    A class mean is a sum over its count: an unlucky count would make it too long or too short. The
    variance of C noises is noise² with a standard deviation of √(2/C)·noise²; one more is allowed.
    """
    average, variance = float(noisy.mean()), float(noisy.var())
    likely_noise = (1 + math.sqrt(2 / len(noisy))) * noise**2
    kept = 1 - likely_noise / variance if variance > likely_noise else 0.0
    likely: Floats = average + kept * (noisy - average)
    return np.maximum(likely, max(noise, 1.0))


def trust_in_means(
    lengths: Floats, noise: Floats, shares: Floats, *, spread: float | None = None
) -> Floats:
    """By what class means are multiplied, the surest by 1: S/(S + noise_c), over the largest.

    S/(S + noise_c) makes the likeliest mean of a noisy one, where the squared lengths of true ones
    are S on average and noise adds ``noise``. Without it the mean of a class of few records is
    noise that outshouts all others. A factor that all share is left out: it changes no comparison.

    Rare classes lie farther from the mean of all records. Where the standard deviation of what
    noise adds is known, as a share ``spread`` of it, S of a class is what noise and one more leave
    of its own squared length, if that is above the average.
    """
    average = max(float(shares @ (lengths - noise)), _LEAST_SIGNAL * float(shares @ lengths))
    if not average > 0:  # all means are 0
        return np.ones(len(lengths))
    own = 0.0 if spread is None else lengths - (1 + spread) * noise
    signal = np.maximum(own, average)
    trust: Floats = signal / (signal + noise)
    trust /= trust.max()
    return trust


@dataclass(frozen=True)
class TurnedMeans:
    """Class means m_c in the metric of A, the inverse of the covariance in a class."""

    weights: Floats
    """A m_c."""
    squares: Floats
    """m_cᵀ A m_c."""
    noise: Floats
    """What noise adds to these on average."""

    @classmethod
    def of(cls, means: Floats, inverse: Floats, noise: Floats) -> "TurnedMeans":
        """By A; ``noise`` is the variance of an entry of each mean that is noise."""
        weights = means @ inverse
        squares = np.einsum("ij,ij->i", weights, means)
        return cls(weights, squares, np.trace(inverse) * noise)

    def discriminant(self, trust: Floats, priors: Floats, *, scale: float = 1.0) -> Affine:
        """Scores scale·(m_cᵀ A u − ½·m_cᵀ A m_c) + ln π_c of means times their trust.

        What noise adds to a squared length on average is taken off.
        """
        lengths = trust**2 * np.maximum(self.squares - self.noise, 0.0)
        return Affine(scale * self.weights * trust[:, None], np.log(priors) - scale * lengths / 2)


def split_release(step: PlannedStep, parts: list[Floats]) -> list[Floats]:
    """One noisy vector of all parts, cut into the parts again."""
    answer = step.release(np.concatenate(parts))
    return np.split(answer, np.cumsum([part.size for part in parts])[:-1])


def second_moment(rows: Rows) -> Floats:
    """Σ x xᵀ: exact within blocks, whose totals round as the theorem counts."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for block in _blocks(rows):
        part = rows[block]
        total += part.T @ part
    return total


def cross_moment(rows: Rows, others: Rows) -> Floats:
    """Σ x yᵀ of two kinds of rows, block by block."""
    total = np.zeros((rows.shape[1], others.shape[1]))
    for block in _blocks(rows):
        total += rows[block].T @ others[block]
    return total


def class_sums(rows: Rows, labels: Integers, classes: int) -> Floats:
    """Σ x of each class, exact: multiples of 2⁻²⁰, none above 1, in whatever order."""
    total = np.zeros((classes, rows.shape[1]))
    for block in _blocks(rows):
        order = np.argsort(labels[block], kind="stable")
        present, starts = np.unique(labels[block][order], return_index=True)
        total[present] += np.add.reduceat(rows[block][order], starts, axis=0)
    return total


def total(rows: Rows) -> Floats:
    """Σ x, exact as the sums of classes are."""
    total = np.zeros(rows.shape[1])
    for block in _blocks(rows):
        total += rows[block].sum(axis=0)
    return total


def _blocks(rows: Rows) -> list[slice]:
    return [slice(start, start + EXACT_BLOCK) for start in range(0, len(rows), EXACT_BLOCK)]


def flat(matrix: Floats) -> Floats:
    """A symmetric matrix in an orthonormal basis: its diagonal, and √2 times what is above it."""
    above = np.triu_indices(len(matrix), 1)
    return np.concatenate([np.diag(matrix), _ROOT * matrix[above]])


def symmetric(entries: Floats) -> Floats:
    """The matrix of these coordinates."""
    width = (math.isqrt(8 * entries.size + 1) - 1) // 2
    matrix = np.zeros((width, width))
    matrix[np.triu_indices(width, 1)] = entries[width:] / _ROOT
    full: Floats = matrix + matrix.T + np.diag(entries[:width])
    return full
