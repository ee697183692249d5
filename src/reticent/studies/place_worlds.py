"""Neighbouring records that move each place for noise as far as its theorem allows, or nearly.

An audit of too little noise finds what its two worlds differ by. Records of a learner's sums are
far apart in every place; of the loss, of votes and of noisy records the furthest are others.
"""

import math
from typing import Final

import numpy as np

from reticent.arrays import Array, Floats
from reticent.protect.recipes.pate import hashes, teacher_of
from reticent.randomness import seeded

World = tuple[Floats, Array]
FEATURES: Final = 4
TEACHERS: Final = 2
"""Of PATE: a record in the place of another moves the votes of two."""
_HELD: Final = 60
"""Records on either side, of objective perturbation: its minimum is then sure of them."""


def objective_worlds(place: int, *, replaced: bool) -> tuple[World, World]:
    """A record that contradicts many others has the longest gradient, √2·R.

    In its place one with a gradient almost against it: a mislabelled record of the other class,
    at 60° to the first, where both classes are told apart with certainty.
    """
    rng = seeded("audited objective", place)
    each = _HELD + int(rng.integers(0, 10))
    turn = math.radians(rng.uniform(28.0, 32.0))
    one, other = (np.array([math.cos(turn), sign * math.sin(turn), 0.0, 0.0]) for sign in (1, -1))
    rows, labels = np.vstack([[one] * each, [other] * each]), np.repeat([0, 1], each)
    added = np.vstack([rows, one]), np.append(labels, 1)
    if not replaced:
        return (rows, labels), added
    return added, (np.vstack([rows, other]), np.append(labels, 0))


def vote_worlds(place: int, *, replaced: bool) -> tuple[World, World]:
    """Teachers that have nothing to learn from vote for class 0; one more record has class 1.

    Replaced: it goes, and a teacher that votes for class 1 gets its own record again with class 0.
    Both votes then move alike. Rows are found by trying.
    """
    rng = seeded("audited votes", place)
    while True:
        one, other = rng.normal(size=(2, 1, FEATURES))
        rows, labels = np.vstack([one, other, other]), np.array([1, 1, 0])
        first, second, third = teacher_of(rows, labels, TEACHERS)
        if first != second == third:
            break
    if replaced:
        return (rows[:2], labels[:2]), (rows[1:], labels[1:])
    return (rows[:0], labels[:0]), (rows[:1], labels[:1])


def line_worlds(place: int, *, lines: int, replaced: bool) -> tuple[World, World]:
    """A record that takes the line of one that is turned against it and has another class.

    Replaced: two such lines, and the record that takes one in either world.
    """
    rng = seeded("audited lines", place)
    pairs = []
    for place_of_line in range(2 if replaced else 1):
        axis = np.eye(FEATURES)[place_of_line]
        pairs.append(_taking(rng, axis, lines))
    held = np.vstack([owner for owner, _ in pairs])
    labels = np.zeros(len(held), dtype=np.int64)
    worlds = [(np.vstack([held, taker]), np.append(labels, 1)) for _, taker in pairs]
    return (worlds[0], worlds[1]) if replaced else ((held, labels), worlds[0])


def _taking(rng: np.random.Generator, axis: Floats, lines: int) -> tuple[Floats, Floats]:
    """A record of class 0, and one of class 1 against it that takes its line: found by trying."""
    while True:
        owner = -axis + 0.01 * rng.normal(size=FEATURES)
        taker = axis + 0.01 * rng.normal(size=FEATURES)
        mine, other = (
            int(hashes(row[None, :], np.array([label]))[0])
            for row, label in ((owner, 0), (taker, 1))
        )
        if mine % lines == other % lines and other < mine:
            return owner, taker
