"""Streams of queries to a model: benign ones, and those of known membership attacks.

A data set is cut into members, public rows and rows of benign clients. Attacks are the package's
own, run against a model of the members that keeps what it is asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.linear_model import LogisticRegression

from reticent.arrays import Array, ArrayLike, Floats
from reticent.attacks import BoundaryAttack, NoiseAttack, Records
from reticent.attacks.synthesis import FeatureSpace, Search, SynthesisFailed, synthesized
from reticent.attacks.targets import ModelTarget, Target
from reticent.data.registry import load
from reticent.service.detector import Detector

MOST = 600
"""Queries of a stream."""
Random = np.random.Generator
Stream = Callable[[Random], Floats]


class EnoughError(Exception):
    """The stream is long enough."""


class Recorded(Target):
    """A model that keeps what it is asked."""

    def __init__(self, model: Any, most: int) -> None:
        self._target = ModelTarget(model)
        self.classes = self._target.classes
        self.asked: list[Floats] = []
        self._left = most

    def logits(self, inputs: ArrayLike) -> Floats:
        """As the model says, until the stream is long enough."""
        rows = np.asarray(inputs, dtype=float)
        self.asked.append(rows.copy())
        self._left -= len(rows)
        if self._left <= 0:
            raise EnoughError
        return self._target.logits(rows)


class World:
    """A data set: members, public rows, benign rows, a model, and streams of queries."""

    def __init__(
        self, rows: Floats, labels: Array, *, most: int = MOST, public: int | None = None
    ) -> None:
        """A third of the rows each, or so many public ones and the rest benign."""
        order = np.random.default_rng(0).permutation(len(rows))
        rows, labels = rows[order], labels[order]
        part = len(rows) // 3
        last = part + (part if public is None else public)
        self.public, self.benign_rows = rows[part:last], rows[last:]
        self.rows, self.labels, self.most = rows, labels, most
        self.model = LogisticRegression(max_iter=300).fit(rows[:part], labels[:part])
        self.spread = float(self.public.std())

    def boundary(self, rng: Random, most: int | None = None) -> Floats:
        """The distance of records to the boundary, by bisection."""
        far = self.spread * 4 * np.sqrt(self.rows.shape[1])
        attack = BoundaryAttack(farthest=far, directions=20, seed=int(rng.integers(10**6)))
        return self._attacked(rng, attack.scores, most)

    def noise(self, rng: Random) -> Floats:
        """Labels of noisy copies of records."""
        attack = NoiseAttack(std=self.spread / 2, seed=int(rng.integers(10**6)))
        return self._attacked(rng, attack.scores)

    def synthesis(self, rng: Random) -> Floats:
        """Records that are made up by hill climbing."""
        space = FeatureSpace(self.public.min(axis=0), self.public.max(axis=0))
        search = Search(iterations=400)
        return self._attacked(
            rng,
            lambda target, _: synthesized(target, space=space, per_class=2, rng=rng, search=search),
        )

    def repeats(self, rng: Random) -> Floats:
        """The same records again and again."""
        chosen = rng.choice(len(self.rows), 20, replace=False)
        return np.tile(self.rows[chosen], (self.most // 20, 1))

    def diluted(self, rng: Random) -> Floats:
        """A boundary walk, one in ten among benign queries."""
        found = self.benign(rng)
        found[::10] = self.boundary(rng, len(found[::10]))
        return found

    def single(self, rng: Random) -> Floats:
        """One query for each record."""
        return self.rows[rng.permutation(len(self.rows))[: self.most]]

    def benign(self, rng: Random) -> Floats:
        """Other people's rows, one in twenty of them sent twice."""
        found = self.benign_rows[rng.permutation(len(self.benign_rows))[: self.most]].copy()
        for place in range(1, len(found)):
            if rng.random() < 0.05:
                found[place] = found[rng.integers(place)]
        return found

    def _attacked(
        self, rng: Random, run: Callable[[Target, Records], object], most: int | None = None
    ) -> Floats:
        most = self.most if most is None else most
        chosen = rng.choice(len(self.rows), 20, replace=False)
        target = Recorded(self.model, most)
        with contextlib.suppress(EnoughError, SynthesisFailed):
            run(target, Records(self.rows[chosen], self.labels[chosen]))
        return np.concatenate(target.asked)[:most]


def digits() -> World:
    """Images of 64 pixels."""
    rows, labels = load_digits(return_X_y=True)
    return World(rows / 16 - 0.3, labels)


def breast_cancer() -> World:
    """A table of 30 columns with long tails."""
    rows, labels = load_breast_cancer(return_X_y=True)
    return World((rows - rows.mean(axis=0)) / rows.std(axis=0), labels)


def diabetes() -> World:
    """A table of 10 columns; half of its targets are high. Nothing is measured on it."""
    rows, targets = load_diabetes(return_X_y=True)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    return World(rows, (targets > np.median(targets)).astype(int), public=150)


def some_mnist() -> World:
    """570 digits in squares of 4 × 4 pixels, as few as the table of breast cancer has rows."""
    data = load("mnist5k")
    assert data.labels is not None
    chosen = np.random.default_rng(7).permutation(len(data))[:570]
    pixels = data.features[chosen].astype(float).reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4))
    return World(pixels.reshape(-1, 49), data.labels[chosen])


def watched(world: World, stream: Stream, number: int) -> tuple[float, int | None]:
    """The highest score that a stream reaches, and how many queries until an alarm."""
    detector = Detector(world.public, key=bytes([number % 256, number // 256]))
    highest = -np.inf
    for row in stream(np.random.default_rng([number, 5])):
        detector.see("client", row[None])
        highest = max(highest, detector.score("client"))
    return highest, detector.alarms[0].queries if detector.alarms else None
