"""Membership in a published mean (Homer et al. 2008; Sankararaman et al. 2009).

A mean M of few records lies closer to each of them than the population's mean P does. Two
statistics measure it: T(y) = Σ_j (|y_j − P_j| − |y_j − M_j|), and the inner product ⟨y − P, M − P⟩.
Where means were published class by class, a record is compared with those of its own class.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from reticent.arrays import Array, ArrayLike, Floats
from reticent.attacks.attack import Attack, AttackBuilder, Need, Scores
from reticent.attacks.records import Records
from reticent.attacks.targets import Access, Threat
from reticent.protect import Release
from reticent.protect.recipe import ReleasedMeans
from reticent.training.features import clip_rows, scale_rows
from reticent.validation import InputError, describe, float_array, float_rows

Statistic = Literal["distance", "inner product"]


def distance_statistic(rows: ArrayLike, means: ArrayLike, population: ArrayLike) -> Floats:
    """T(y) of each row: how much closer to the published mean than to the population's.

    >>> distance_statistic([[1.0, 0.0], [0.0, 0.0]], [0.5, 0.0], [0.0, 0.0])
    array([ 0.5, -0.5])
    """
    y, m, p = (float_array("rows", part) for part in (rows, means, population))
    return np.asarray((np.abs(y - p) - np.abs(y - m)).sum(axis=-1))


def inner_product_statistic(rows: ArrayLike, means: ArrayLike, population: ArrayLike) -> Floats:
    """⟨y − P, M − P⟩ of each row.

    >>> inner_product_statistic([[1.0, 0.0], [0.0, 0.0]], [0.5, 0.0], [0.0, 0.0])
    array([0.5, 0. ])
    """
    y, m, p = (float_array("rows", part) for part in (rows, means, population))
    return np.asarray(((y - p) * (m - p)).sum(axis=-1))


_STATISTICS: dict[str, Callable[[ArrayLike, ArrayLike, ArrayLike], Floats]] = {
    "distance": distance_statistic,
    "inner product": inner_product_statistic,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Means:
    """Published means: one row for each class, or one vector for all records together.

    >>> Means(values=[0.5, 0.0]).values
    array([[0.5, 0. ]])
    """

    values: Floats
    classes: Array | None = None

    def __post_init__(self) -> None:
        """As many rows as classes."""
        values = np.atleast_2d(float_array("means", self.values))
        rows = 1 if self.classes is None else len(self.classes)
        if values.ndim != 2 or len(values) != rows:
            raise InputError(
                f"means must be {rows} rows, one for each class (one without classes), got shape"
                f" {values.shape}"
            )
        object.__setattr__(self, "values", values)
        if self.classes is not None:
            object.__setattr__(self, "classes", np.asarray(self.classes))

    @classmethod
    def of(cls, records: Records, *, classes: ArrayLike | None = None) -> "Means":
        """Exact means of records: of each class, or of all of them without classes."""
        rows = float_rows("inputs", records.inputs)
        if classes is None:
            return cls(values=rows.mean(axis=0))
        names = np.asarray(classes)
        labels = records.among(names)
        counts = np.bincount(labels, minlength=len(names))
        if not counts.all():
            raise InputError("records must be there for every class, got a class without any")
        sums = np.zeros((len(names), rows.shape[1]))
        np.add.at(sums, labels, rows)
        return cls(values=sums / counts[:, None], classes=names)


class ReleasedMeansAttack(Attack[Any]):
    """Homer's attack on means: exact ones, a released mean, or released class means.

    Args:
        population: Records like those behind the means, with none of them: they give P.
        statistic: "distance" is T, "inner product" the other one.
    """

    name = "released means"

    def __init__(self, *, population: Records, statistic: Statistic = "distance") -> None:
        if not isinstance(population, Records) or len(population) == 0:
            raise InputError("population must be records, at least one, got none")
        if statistic not in _STATISTICS:
            raise InputError(
                f"statistic must be {' or '.join(_STATISTICS)}, got {describe(statistic)}"
            )
        float_rows("inputs of the population", population.inputs)
        self.threat = Threat(access=Access.STATISTICS, knows=("records of the population",))
        self.population = population
        self.statistic = statistic

    def scores(self, target: Any, records: Records) -> Scores:
        """The statistic of each record."""
        seen = _seen(target, self.population)
        width = seen.means.values.shape[1]
        for name, given in (("population", self.population), ("records", records)):
            if given.inputs.shape[1:] != (width,):
                raise InputError(
                    f"{name} must have the {width} features of the means, got inputs of shape"
                    f" {given.inputs.shape}"
                )
        population = Means.of(
            Records(seen.rows(self.population.inputs), self.population.labels),
            classes=seen.means.classes,
        )
        means, note = seen.scaled(population)
        chosen = (
            np.zeros(len(records), dtype=np.int64)
            if means.classes is None
            else records.among(means.classes)
        )
        values = _STATISTICS[self.statistic](
            seen.rows(records.inputs), means.values[chosen], population.values[chosen]
        )
        return Scores(attack=self.name, threat=self.threat, values=values, notes=note)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Seen:
    """Means, how rows were treated before they were averaged, and whether the scale is known."""

    means: Means
    rows: Callable[[Array], Floats]
    scale_known: bool = True

    def scaled(self, population: Means) -> tuple[Means, tuple[str, ...]]:
        """A positive factor on all means is found by least squares against the population's."""
        if self.scale_known:
            return self.means, ()
        values, like = self.means.values, population.values
        factor = float(np.sum(values * like) / np.sum(like * like))
        note: tuple[str, ...] = ()
        if not factor > 0:  # noise alone: any size will do
            factor = float(np.linalg.norm(values) / np.linalg.norm(like))
            note = ("the means point away from the population's; only their direction is used",)
        return Means(values=values / factor, classes=self.means.classes), note


def _seen(target: Any, population: Records) -> _Seen:
    if isinstance(target, Means):
        return _Seen(means=target, rows=_plain)
    released = getattr(target, "released_", target)
    means = None
    if isinstance(released, Release):
        means = released.recipe.released_means(released.tensors)
    if means is None:
        raise InputError(
            "target must be Means, a released mean or released class means, got"
            f" {type(target).__name__}"
        )
    bound = means.bound
    if bound is None:
        return _seen_by_class(means, released.classes_, population)
    return _Seen(
        means=Means(values=means.values), rows=lambda inputs: clip_rows(_plain(inputs), bound)
    )


def _seen_by_class(means: ReleasedMeans, classes: Array, population: Records) -> _Seen:
    """Class means of unit rows, times an unknown factor.

    The noisy mean that rows were centred by is not published; the population's takes its place.
    """
    unit = scale_rows(_plain(population.inputs), 1.0)
    centre = unit.mean(axis=0) if means.centred else np.zeros(unit.shape[1])
    return _Seen(
        means=Means(values=means.values, classes=classes),
        rows=lambda inputs: scale_rows(scale_rows(_plain(inputs), 1.0) - centre, 1.0),
        scale_known=False,
    )


def _plain(inputs: Array) -> Floats:
    return float_rows("inputs", inputs)


RELEASED_MEANS = AttackBuilder(
    needs=(Need.MEANS, Need.POPULATION),
    build=lambda known: ReleasedMeansAttack(population=known.others),
)
