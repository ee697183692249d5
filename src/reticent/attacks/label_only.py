"""Attacks on a target that shows labels only (Choquette-Choo et al. 2021; Li, Zhang 2021).

A model is surer of its members, so more must be changed about a member before its label changes.
Whatever the target shows, these attacks look at its labels alone.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from reticent.arrays import Array, Flags, Floats, Integers
from reticent.attacks.attack import AttackBuilder, Need, ScoreAttack, Scores
from reticent.attacks.records import Records
from reticent.attacks.targets import Access, LabelTarget, Target, Threat
from reticent.randomness import seeded
from reticent.validation import InputError, count, positive

Augment = Callable[[Array, np.random.Generator], Array]
"""Changed copies of inputs, one for each."""

_DOUBLINGS = 10


class LabelAttack(ScoreAttack):
    """An attack that asks for labels; a record that is labelled wrongly has the score 0."""

    threat: Threat = Threat(access=Access.LABELS, knows=("labels",))

    def scores(self, target: Any, records: Records) -> Scores:
        """A score for each record, from the target's labels."""
        return super().scores(LabelTarget(target), records)

    def _values(self, target: Target, records: Records) -> Floats:
        labels = records.among(target.classes)
        correct = target.labels(records.inputs) == labels
        distances = np.zeros(len(records))
        if correct.any():
            distances[correct] = self._strengths(target, records.inputs[correct], labels[correct])
        return distances

    @abstractmethod
    def _strengths(self, target: Target, inputs: Array, labels: Integers) -> Floats:
        """How firmly the target holds each of these labels, which are right."""


@dataclass(frozen=True)
class GapAttack(LabelAttack):
    """1 where the label is right, else 0: it lives on the gap between training and test."""

    name: ClassVar[str] = "gap"

    @property
    def decides_at(self) -> float | None:
        """What is labelled rightly is called a member."""
        return 0.5

    def _strengths(
        self,
        target: Target,  # noqa: ARG002 - it was asked already
        inputs: Array,
        labels: Integers,  # noqa: ARG002
    ) -> Floats:
        return np.ones(len(inputs))


@dataclass(frozen=True, kw_only=True)
class NoiseAttack(LabelAttack):
    """The share of changed copies of a record that keep its label, 0 where it is wrong.

    Copies are made by ``augment``, or by Gaussian noise of the given standard deviation.
    """

    name: ClassVar[str] = "label-only, noise"
    std: float | None = None
    augment: Augment | None = None
    copies: int = 100
    seed: int = 0

    _change: Augment = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Exactly one way to change inputs."""
        count("copies", self.copies)
        count("seed", self.seed, at_least=0)
        if self.std is not None and self.augment is None:
            change: Augment = _Gaussian(std=positive("std", self.std))
        elif self.augment is not None and self.std is None:
            change = self.augment
        else:
            raise InputError("either std or augment must be given, got both or neither")
        if not callable(change):
            raise InputError(f"augment must be callable, got {type(change).__name__}")
        object.__setattr__(self, "_change", change)

    def _strengths(self, target: Target, inputs: Array, labels: Integers) -> Floats:
        rng = seeded("label-only noise", self.seed)
        kept = np.zeros(len(inputs))
        for _ in range(self.copies):
            kept += target.labels(self._changed(inputs, rng)) == labels
        return np.asarray(kept / self.copies)

    def _changed(self, inputs: Array, rng: np.random.Generator) -> Array:
        changed = np.asarray(self._change(inputs, rng))
        if changed.shape != inputs.shape:
            raise InputError(
                f"augment must give one copy of each input, got {changed.shape} of {inputs.shape}"
            )
        return changed


@dataclass(frozen=True, kw_only=True)
class _Gaussian:
    """Independent normal noise on every number."""

    std: float

    def __call__(self, inputs: Array, rng: np.random.Generator) -> Array:
        return _numbers(inputs) + self.std * rng.normal(size=inputs.shape)


@dataclass(frozen=True, kw_only=True)
class BoundaryAttack(LabelAttack):
    """The distance to the nearest change of label that was found, 0 where the label is wrong.

    Along each of ``directions`` random directions the step is doubled from ``farthest``/2¹⁰ until
    the label changes, and the change is then bracketed by ``halvings`` bisections. The least over
    the directions is an upper bound on the true distance; a record whose label never changed has
    ``farthest``. Costs (11 + halvings)·directions labels for each record at most.
    """

    name: ClassVar[str] = "label-only, boundary"
    farthest: float
    directions: int = 50
    halvings: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        """Numbers above 0."""
        positive("farthest", self.farthest)
        count("directions", self.directions)
        count("halvings", self.halvings)
        count("seed", self.seed, at_least=0)

    def _strengths(self, target: Target, inputs: Array, labels: Integers) -> Floats:
        rng, rows = seeded("label-only boundary", self.seed), _numbers(inputs)
        nearest = np.full(len(rows), self.farthest)
        for _ in range(self.directions):
            ways = rng.normal(size=rows.shape)
            lengths = np.sqrt((ways.reshape(len(rows), -1) ** 2).sum(axis=1))
            ray = _Ray(target=target, start=rows, way=ways / _wide(lengths, ways), labels=labels)
            nearest = np.minimum(nearest, self._distances(ray))
        return nearest

    def _distances(self, ray: "_Ray") -> Floats:
        """Of the first change that doubling meets; infinite where it meets none."""
        rows = len(ray.labels)
        inner, outer = np.zeros(rows), np.full(rows, self.farthest / 2**_DOUBLINGS)
        changed = ray.changed(outer)
        for _ in range(_DOUBLINGS):
            inner, outer = np.where(changed, inner, outer), np.where(changed, outer, 2 * outer)
            changed = changed | ray.changed(outer)
        for _ in range(self.halvings):
            middle = (inner + outer) / 2
            beyond = ray.changed(middle)
            inner, outer = np.where(beyond, inner, middle), np.where(beyond, middle, outer)
        return np.where(changed, outer, np.inf)


@dataclass(frozen=True, kw_only=True)
class _Ray:
    """A direction from each record."""

    target: Target
    start: Floats
    way: Floats
    labels: Integers

    def changed(self, distances: Floats) -> Flags:
        """Whether the label there is another."""
        points = self.start + _wide(distances, self.way) * self.way
        return np.asarray(self.target.labels(points) != self.labels)


def _wide(numbers: Floats, rows: Floats) -> Floats:
    """One number for each row, in as many dimensions."""
    return numbers.reshape(-1, *[1] * (rows.ndim - 1))


def _numbers(inputs: Array) -> Floats:
    if inputs.dtype.kind not in "biuf" or inputs.ndim < 2:
        raise InputError(
            "inputs must be rows of numbers to be changed, got an array of"
            f" {inputs.dtype} of shape {inputs.shape}; give augment"
        )
    return inputs.astype(np.float64)


GAP = AttackBuilder(build=lambda _: GapAttack())
LABEL_NOISE = AttackBuilder(
    needs=(Need.QUERIES,), build=lambda known: NoiseAttack(std=known.spread / 2, seed=known.seed)
)
LABEL_BOUNDARY = AttackBuilder(
    needs=(Need.QUERIES,),
    build=lambda known: BoundaryAttack(
        farthest=known.spread * float(np.prod(known.records.inputs.shape[1:])) ** 0.5 * 4,
        directions=20,
        seed=known.seed,
    ),
)
