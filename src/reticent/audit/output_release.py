"""Audits of releases that tell numbers, or several labels at once, on the data they were made from.

A regression is audited by all its noisy sums (``transcripts``), with and without a unit that moves
them most. A sigmoid head is one noisy optimum: it is solved in both worlds, as a softmax head
is (``release``), and its noise drawn many times.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

from reticent.arrays import Array, Floats, Integers
from reticent.attacks.released_weights import noise_of
from reticent.audit import pairs, release, release_audit
from reticent.guarantee import Relation
from reticent.protect import Release
from reticent.training.features import public_map

World = tuple[Floats, Array]
"""Rows and labels: a number each, or a column of 0 and 1 for each label."""
REFITS: Final = 4
"""Units that are taken out one by one, each at the price of a fit."""


def is_sigmoid(released: Release) -> bool:
    """Whether it tells several labels, each by itself."""
    return released.recipe.several_labels


def moved_most(released: Release, rows: Floats, labels: Array) -> Floats:
    """How long the gradient of each record is at the released head, ‖x‖·‖σ − y‖."""
    row_map = released.recipe.row_map
    assert row_map is not None
    residual = special.expit(released.logits(rows)) - labels
    mapped = public_map(
        rows,
        bound=row_map.bound,
        intercept=row_map.intercept,
        centre=released.tensors.get("centre"),
        norms=row_map.norms,
    )
    return np.asarray(np.linalg.norm(mapped, axis=1) * np.linalg.norm(residual, axis=1))


def without_unit(released: Release, world: World, unit: Integers) -> World:
    """The data without a unit; under replace-one with its opposites, every label turned round."""
    rows, labels = world
    if released.guarantee.relation is not Relation.REPLACE_ONE:
        return np.delete(rows, unit, axis=0), np.delete(labels, unit, axis=0)
    turned, relabelled = rows.copy(), labels.copy()
    turned[unit] *= -1
    relabelled[unit] = 1 - labels[unit]
    return turned, relabelled


def worst_worlds(released: Release, world: World) -> tuple[World, World]:
    """The data, and the data with a unit more that moves every sum as far as one can.

    Its rows are as long as the bound, away from the mean of the others, with the label at the end
    of its range or every label true. Under replace-one one world has it, the other its opposite.
    """
    rows, labels = world
    numbers, each = released.recipe.to_dict(), released.terms.records_touched
    mean = rows.mean(axis=0) if len(rows) else np.zeros(released.features)
    length = float(np.linalg.norm(mean))
    away = -mean / length if length > 0 else np.eye(1, released.features)[0]
    owned = np.repeat(float(numbers["bound"]) * away[None, :], each, axis=0)
    if labels.ndim == 1:
        centre, half = float(numbers.get("target_centre", 0.0)), float(numbers["target_bound"])
        ends = [np.full(each, end) for end in (centre + half, centre - half)]
    else:
        ends = [np.full((each, labels.shape[1]), end, dtype=labels.dtype) for end in (1, 0)]
    added = _with(world, owned, ends[0])
    if released.guarantee.relation is not Relation.REPLACE_ONE:
        return (rows, labels), added
    return _with(world, -owned, ends[1]), added


@dataclass(frozen=True, kw_only=True, eq=False)
class SigmoidAudit:
    """A released sigmoid head on its data: both worlds solved, the noise drawn many times."""

    released: Release
    world: World
    groups: list[Integers]
    runs: int | None = None
    candidates: int = REFITS

    def __call__(self, beta: float) -> release_audit.ReleaseAudit:
        """Try to refute the claim, by the pair that is furthest apart of those that were looked at.

        ``beta`` is the probability with which the measured bound may be wrong.
        """
        noise, claim = noise_of(self.released), self.released.guarantee
        pair = max(self._pairs(), key=lambda one: pairs.pair_epsilon(noise, one, claim.delta))
        runs = self.runs
        if runs is None:
            runs = release.usual_runs(pair, pairs.runs_for_half(noise, pair, claim, beta))
        return pairs.audit_pair(noise, pair, claim, beta=beta, runs=runs)

    def _pairs(self) -> Iterator[pairs.WorstPair]:
        full = self._solved(self.world)
        shifts = moved_most(self.released, *self.world)
        ordered = sorted(self.groups, key=lambda group: -float(shifts[group].sum()))
        replaced = self.released.guarantee.relation is Relation.REPLACE_ONE
        each = self.released.terms.max_records_per_person
        unit = "a record" if each is None else "all records of a person"
        kind = (
            f"with {unit}, and with the opposite in place"
            if replaced
            else f"without {unit}, and with it"
        )
        for group in ordered[: self.candidates]:
            other = self._solved(without_unit(self.released, self.world, group))
            yield pairs.WorstPair(absent=other, present=full, kind=kind)
        with_it, instead = self._built()
        kind = "with a unit built within the bound, and " + (
            "its opposite in its place" if replaced else "without it"
        )
        absent = self._solved(instead) if replaced else full
        yield pairs.WorstPair(absent=absent, present=self._solved(with_it), kind=kind)

    def _built(self) -> tuple[World, World]:
        """The data with rows as long as the bound where there are fewest, every label against."""
        rows, labels = self.world
        numbers, each = self.released.recipe.to_dict(), self.released.terms.records_touched
        axis = np.linalg.eigh(rows.T @ rows)[1][:, 0]
        owned = np.repeat(float(numbers["bound"]) * axis[None, :], each, axis=0)
        against = (self.released.logits(owned) <= 0).astype(labels.dtype)
        return _with(self.world, owned, against), _with(self.world, -owned, 1 - against)

    def _solved(self, world: World) -> Floats:
        released = self.released
        centre = released.tensors.get("centre")
        head = released.recipe.unfitted(released.classes_.tolist(), centre)
        assert head is not None
        return np.asarray(head.fit(*world).coordinates_).ravel()


def _with(world: World, rows: Floats, labels: Array) -> World:
    return np.concatenate([world[0], rows]), np.concatenate([world[1], labels])
