"""What claims are audited on: another data set for each audit, real digits and built ones in turn.

Data are small, so that an audit draws thousands of releases in a second. A claim of privacy is
about every data set, so any will do; built ones come close to the worst case.
"""

import functools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reticent.arrays import Array, Floats, Integers
from reticent.audit.worst_data import held_records
from reticent.data import load
from reticent.randomness import seeded

World = tuple[Floats, Array]


@dataclass(frozen=True, kw_only=True)
class HeadData:
    """Records of a softmax head with the public numbers of its fit."""

    rows: Floats
    labels: Integers
    classes: int
    penalty: float
    norms: Literal["clip", "scale"]

    @property
    def records(self) -> int:
        """The public normaliser N of the head."""
        return len(self.rows)


def head_data(place: int, *, built: bool, few_coordinates: bool) -> HeadData:
    """Records for one audit of a head."""
    rng = seeded("audited heads", place)
    if not built:
        rows, labels = few_digits(rng, records=int(rng.integers(40, 121)), pixels=4)
        penalty = float(rng.choice([1e-2, 3e-2, 1e-1]))
        return HeadData(rows=rows, labels=labels, classes=3, penalty=penalty, norms="scale")
    rows, labels = _held(rng, few_coordinates)
    return HeadData(rows=rows, labels=labels, classes=2, penalty=1e-3, norms="clip")


def _held(rng: np.random.Generator, few_coordinates: bool) -> tuple[Floats, Integers]:
    """Pure noise tells most on few coordinates, other noise where many hold the head."""
    if few_coordinates:
        directions, along = int(rng.integers(1, 3)), float(rng.uniform(0.45, 0.55))
        each = int(rng.integers(800, 1_001)) // directions
        return held_records(directions=directions, each=each, along=along, spread=True)
    directions, along = int(rng.integers(80, 111)), float(rng.uniform(0.23, 0.27))
    return held_records(directions=directions, each=10, along=along, spread=True)


def centred_data(place: int, *, built: bool) -> HeadData:
    """A few records for one audit that solves a head in each run."""
    rng = seeded("audited centred heads", place)
    if built:
        rows, labels = held_records(directions=1, each=int(rng.integers(20, 41)), along=0.5)
        return HeadData(rows=rows, labels=labels, classes=2, penalty=3e-2, norms="clip")
    rows, labels = few_digits(rng, records=int(rng.integers(8, 25)), pixels=2, classes=2)
    return HeadData(rows=rows, labels=labels, classes=2, penalty=1e-1, norms="clip")


def neighbours(rows: Floats, labels: Array, *, replaced: bool) -> tuple[World, World]:
    """Without the last record, and with it; or with the one before it in its place."""
    without: World = rows[:-1], labels[:-1]
    if not replaced:
        return without, (rows, labels)
    order = [*range(len(rows) - 2), len(rows) - 1]
    return without, (rows[order], labels[order])


def learner_worlds(
    place: int, *, built: bool, replaced: bool, targets: bool
) -> tuple[World, World]:
    """Neighbouring records for one audit of a learner: rows of four features, classes 0, 1, 2."""
    rng = seeded("audited learners", place)
    if built:
        shared = rng.normal(size=(int(rng.integers(0, 7)), 4))
        turned = [-0.5, math.sqrt(0.75), 0.0, 0.0] if targets else [-1.0, 0.0, 0.0, 0.0]
        rows = np.vstack([shared, turned, np.eye(4)[0]])
        labels = np.append(rng.integers(0, 3, size=len(shared)), [1, 1])
    else:
        rows, labels = few_digits(rng, records=int(rng.integers(3, 9)), pixels=2)
    first, second = neighbours(rows, labels, replaced=True)
    if not replaced:  # the longest record against none
        first = second[0][:-1], second[1][:-1]
    # The regressor clips targets to 1: nothing moves its sums more.
    return (_numbered(first), _numbered(second)) if targets else (first, second)


def _numbered(world: World) -> World:
    return world[0], world[1].astype(np.float64)


def few_digits(
    rng: np.random.Generator, *, records: int, pixels: int, classes: int = 3
) -> tuple[Floats, Integers]:
    """Records of a few digits as images of ``pixels`` × ``pixels``, pixel − 0.3."""
    images, digits = _pooled(pixels)
    chosen = rng.permutation(10)[:classes]
    among = np.flatnonzero(np.isin(digits, chosen))
    taken = rng.choice(among, size=records, replace=False)
    names = np.argsort(chosen)[np.searchsorted(np.sort(chosen), digits[taken])]
    return images[taken], names.astype(np.int64)


@functools.cache
def _pooled(pixels: int) -> tuple[Floats, Integers]:
    data = load("digits")
    side = 8 // pixels
    images = data.features.astype(np.float64).reshape(-1, pixels, side, pixels, side)
    assert data.labels is not None
    rows = images.mean(axis=(2, 4)).reshape(len(data), -1) - 0.3
    return rows, np.asarray(data.labels, dtype=np.int64)
