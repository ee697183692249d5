"""Private prototypes: a public encoder is adapted to private records that have no labels.

Full-batch noisy sums alone (docs/theory.md E.8): the mean and second moment of unit rows, from
which private principal components follow; the second moment of the projected rows, scaled to norm 1
again; and T steps of spherical k-means, each the noisy sum and number of the rows of every cluster.
What follows is post-processing: linear discriminant analysis with clusters for classes. The
covariance within clusters whitens the projection, a direction counts as the root of what clusters
differ in it, and the result is put beside the features of the public encoder.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple, Self, cast

import numpy as np
from scipy import linalg

from reticent import bounds
from reticent.arrays import Floats, Floats32, Integers
from reticent.protect.recipe import Plan, PlannedStep, Step, Tensors
from reticent.protect.recipes import encoding, linear, statistics
from reticent.protect.recipes.exact_rows import on_grid, unit_rows
from reticent.protect.terms import Terms
from reticent.randomness import seeded
from reticent.training.features import MappedRows, Rows
from reticent.training.row_kernels import products
from reticent.validation import InputError, count

MOMENT, PROJECTED, CLUSTERS = "second moment", "projected moment", "clusters"
SHARES: Final = {statistics.MEAN: 0.03, MOMENT: 0.40, PROJECTED: 0.07, CLUSTERS: 0.50}
COMPONENTS: Final = 48
COUNT_WEIGHT: Final = 0.5
"""Of a cluster's number of rows beside their sum; a power of two, so that weighing is exact."""
_CLEAR: Final = 3.0
"""A cluster is kept whose number of rows is above the length of the noise on its sum, so often."""
_THEOREM: Final = "bounds.moments.second_moment"
_BLOCK: Final = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class PrototypesRecipe(encoding.EncoderRecipe):
    """Unit rows of a public encoder, whitened within noisy clusters of their principal components.

    With ``root`` the signed square root of each entry is taken first, which serves entries with
    long tails. With ``rounds`` 0 there are no clusters: the principal components alone, with the
    whole budget.
    """

    name: ClassVar[str] = "prototypes"
    options: ClassVar[tuple[str, ...]] = ("base", "root", "components", "clusters", "rounds")

    root: bool = False
    components: int = COMPONENTS
    clusters: int = 64
    rounds: int = 4
    ridge: float = 0.1
    """Beside the covariance within clusters, in units of its mean eigenvalue."""
    weight: float = 1.0
    """The length of the adapted features beside those of the public encoder, which have norm 1."""

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """With no more components than a row has entries."""
        wanted = count("components", options.get("components", COMPONENTS))
        options = options | {"components": min(wanted, numbers["features"])}
        return super(PrototypesRecipe, cls)._planned(terms, numbers, options)

    def __post_init__(self) -> None:
        """Numbers that do not go together are refused before anything is planned."""
        super(PrototypesRecipe, self).__post_init__()
        if not 1 <= self.components <= self.features:
            raise InputError(
                f"components must be between 1 and {self.features}, got {self.components}"
            )
        count("clusters", self.clusters)
        if not max(self.clusters, self.rounds) <= 2**16:
            raise InputError("clusters and rounds must be at most 65536, got a larger number")

    @property
    def width(self) -> int:
        """The entries of a row, and the adapted ones beside them."""
        return self.features + self.components

    @property
    def shares(self) -> dict[str, float]:
        """Of the budget, step by step; without rounds the moment takes what they would."""
        if self.rounds:
            return SHARES
        return {statistics.MEAN: SHARES[statistics.MEAN], MOMENT: 1 - SHARES[statistics.MEAN]}

    def misfits(self, terms: Terms) -> list[str]:
        """Constants that are not those of this recipe."""
        return [*super(PrototypesRecipe, self).misfits(terms), *linear.other_constants(self, terms)]

    def steps(self, terms: Terms) -> dict[str, Step]:
        """Mean with the number of records, both moments, and T times all clusters at once."""
        public: dict[str, Any] = {
            "records": self.records,
            "relation": terms.relation,
            "max_records_per_person": terms.records_touched,
        }
        shares, d, k = self.shares, self.features, self.components
        mean = bounds.class_statistics(
            moment=0.0, sums=1.0, counts=statistics.MEAN_COUNT, features=d, **public
        )
        steps = {
            statistics.MEAN: Step(
                sensitivity=mean, share=shares[statistics.MEAN], theorem=statistics.CLASS_THEOREM
            )
        }
        for name, size in ((MOMENT, d), (PROJECTED, k)):
            if name in shares:
                sensitivity = bounds.second_moment(name, entries=size * (size + 1) // 2, **public)
                steps[name] = Step(sensitivity=sensitivity, share=shares[name], theorem=_THEOREM)
        if self.rounds:
            # A record is in one cluster, which record and public centres alone decide: the theorem
            # of class sums and counts, with clusters for classes.
            sensitivity = bounds.class_statistics(
                moment=0.0, sums=1.0, counts=COUNT_WEIGHT, features=k, **public
            )
            steps[CLUSTERS] = Step(
                sensitivity=sensitivity,
                share=shares[CLUSTERS],
                theorem=statistics.CLASS_THEOREM,
                times=self.rounds,
            )
        return steps

    def learn(self, rows: Floats, labels: Floats, plan: Plan) -> Tensors:
        """Mean, components, clusters and the whitening that follows; labels are not looked at."""
        del labels
        unit = MappedRows(rows, self._unit)
        mean = statistics.released_mean(unit, self, plan)
        components = _components(
            _released_moment(statistics.second_moment(unit), plan[MOMENT]) / mean.records,
            mean.values,
            self.components,
        )
        adapting = np.eye(self.components)
        if self.rounds:
            projected = _projected_rows(unit, mean.values, components)
            adapting = self._discriminant(projected, plan, mean.records)
        return {"mean": mean.values, "components": components, "map": adapting}

    def encoded(self, tensors: Mapping[str, Floats], rows: Floats) -> Floats:
        """[centred unit row, weight · unit(adapted projection)], each a function of its row.

        Products run over the columns in one order: tensors of a file may lie on no grid.
        """
        origin = np.zeros(self.components)
        centred = unit_rows(self._unit(rows), tensors["mean"])
        projected = unit_rows(products(centred, tensors["components"]), origin)
        adapted = unit_rows(products(projected, tensors["map"]), origin)
        return np.hstack([centred, self.weight * adapted])

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The centre, the directions, and the map among them."""
        d, k = self.features, self.components
        return {"mean": (d,), "components": (d, k), "map": (k, k)}

    def _unit(self, rows: Floats) -> Floats:
        """Rows of norm 1 on the grid; roots are correctly rounded, cell by cell."""
        if self.root:
            rows = np.copysign(np.sqrt(np.abs(rows)), rows)
        return unit_rows(rows, np.zeros(rows.shape[1]))

    def _discriminant(self, rows: Floats32, plan: Plan, records: float) -> Floats:
        total = _positive(_released_moment(_moment(rows), plan[PROJECTED]) / records)
        total *= 1 / max(float(np.trace(total)), 1e-3)  # unit rows: the trace is 1
        between = self._clustered(rows, total, plan[CLUSTERS]).between(records)
        return discriminant(total, between, ridge=self.ridge)

    def _clustered(self, rows: Floats32, total: Floats, step: PlannedStep) -> "Clusters":
        """T noisy steps of spherical k-means, from public random directions of this spread."""
        size = self.components
        rng = seeded(0, "prototypes", self.clusters, size)
        spread = np.linalg.cholesky(total + 0.01 / size * np.eye(size))
        centres = _directions(rng.normal(size=(self.clusters, size)) @ spread.T)
        std = step.noise.std_in(self.clusters * (size + 1))
        clear = _CLEAR * std * math.sqrt(size)
        for _ in range(self.rounds):
            sums, counts = _cluster_sums(rows, centres)
            noisy_sums, numbers = statistics.split_release(
                step, [sums.ravel(), COUNT_WEIGHT * counts]
            )
            sums, counts = noisy_sums.reshape(sums.shape), numbers / COUNT_WEIGHT
            kept = counts > clear
            centres = np.where(kept[:, None], _directions(sums), centres)
        return Clusters(sums=sums, counts=np.where(kept, counts, 0.0), noise=std)


class Clusters(NamedTuple):
    """Noisy sums and numbers of rows, 0 where a cluster is not to be told from noise."""

    sums: Floats
    counts: Floats
    noise: float

    def between(self, records: float) -> Floats:
        """The second moment of cluster means, less what noise adds to it on average."""
        kept = self.counts > 0
        size = self.sums.shape[1]
        if not kept.any():
            return np.zeros((size, size))
        counts = self.counts[kept] * (records / self.counts[kept].sum())
        means = self.sums[kept] / self.counts[kept][:, None]
        added = float((counts * (self.noise / self.counts[kept]) ** 2).sum()) / records
        moment: Floats = (means.T * counts) @ means / records - added * np.eye(size)
        return _positive(moment)


def discriminant(total: Floats, between: Floats, *, ridge: float) -> Floats:
    """Whitening by what is within clusters, directions weighed by the root of what is between.

    Public matrices in, a map on the grid of exact products out. Where no cluster is to be told from
    noise, it whitens alone.
    """
    within, size = _positive(total - between), len(total)
    level = max(float(np.trace(within)), 1e-3) / size
    values, vectors = np.linalg.eigh(within + ridge * level * np.eye(size))
    white = (vectors / np.sqrt(values)) @ vectors.T
    ratios, directions = np.linalg.eigh(white @ between @ white)
    if ratios[-1] > 0:
        white = (white @ directions[:, ::-1]) * np.sqrt(np.maximum(ratios[::-1], 0.0))
    # Columns at most 1 long: the scale is lost anyway, when rows get norm 1.
    return on_grid(white / np.linalg.norm(white, axis=0).max(), 1.0)


def _components(moment: Floats, mean: Floats, number: int) -> Floats:
    """The directions in which rows vary most, as columns on the grid of exact products."""
    last, spread = len(moment) - 1, moment - np.outer(mean, mean)
    _, vectors = linalg.eigh(spread, subset_by_index=[last - number + 1, last])
    if vectors.shape[1] < number:  # LAPACK may find none among many equal eigenvalues
        vectors = np.linalg.eigh(spread)[1][:, -number:]
    return on_grid(_directions(vectors[:, ::-1].T).T, 1.0)


def _projected_rows(unit: Rows, mean: Floats, components: Floats) -> Floats32:
    """Centred rows times components, exactly, at norm 1: float32 holds multiples of 2⁻²⁰."""
    origin = np.zeros(components.shape[1])
    projected = np.empty((len(unit), components.shape[1]), dtype=np.float32)
    for start in range(0, len(unit), _BLOCK):
        block = slice(start, start + _BLOCK)
        projected[block] = unit_rows(unit_rows(unit[block], mean) @ components, origin)
    return projected


def _moment(rows: Floats32) -> Floats:
    return statistics.second_moment(
        MappedRows(cast(Any, rows), lambda block: block.astype(np.float64))
    )


def _cluster_sums(rows: Floats32, centres: Floats) -> tuple[Floats, Floats]:
    """Of each cluster the sum of its rows and their number, both exact.

    A row's cluster is that of its largest product with a centre, the first of equal ones; products
    with centres on the grid are exact, so it depends on the row and the centres alone.
    """
    public = on_grid(centres, 1.0).T
    sums, counts = np.zeros(centres.shape), np.zeros(len(centres))
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK].astype(np.float64)
        nearest: Integers = (block @ public).argmax(axis=1)
        sums += statistics.class_sums(block, nearest, len(centres))
        counts += np.bincount(nearest, minlength=len(centres))
    return sums, counts


def _released_moment(total: Floats, step: PlannedStep) -> Floats:
    return statistics.symmetric(step.release(statistics.flat(total)))


def _directions(rows: Floats) -> Floats:
    """Public rows at norm 1; a row of zeros stays."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-300))


def _positive(matrix: Floats) -> Floats:
    """The nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    positive: Floats = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return positive
