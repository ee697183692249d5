"""Tables made to break a release: what is rare in data and decides how floats behave.

Whole numbers beside one fraction, numbers at both ends of the float range, −0.0, equal rows, rows
that fall onto the grid of an exact sum, missing classes, hardly any rows, persons with many rows.
Every record is valid, so that each table must have a release (theory F.1).

Besides: data on which one record moves a softmax head almost as far as the theorem allows, and the
neighbours of a table that a printed claim is about, as its relation and its unit decide.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.random import Generator

from reticent.arrays import Floats, Integers
from reticent.audit.end_to_end.table import Cell, Row, Table
from reticent.guarantee import Relation, guarantee
from reticent.validation import count, open_probability


def held_records(
    *, directions: int = 200, each: int = 5, along: float = 0.25, spread: bool = False
) -> tuple[Floats, Integers]:
    """Unit rows of two classes; the last two are mislabelled and opposed on a feature of their own.

    The others hold the head in ``directions``, a little of each of which (``along`` together) makes
    the wrong label unlikely, so each of the two pulls with the full gradient √2; their own feature
    is curved by the penalty alone, so nothing but that resists. Without one of them the head moves
    almost as far as add-remove allows, and with the other in its place as replace-one does. With
    ``spread`` the features are turned so that the own one lies on all axes alike: then the L1
    distance is √p times the L2 one, as the theorem for Laplace and logistic noise allows.

    >>> X, y = held_records(directions=3, each=2)
    >>> X.shape, y.tolist()
    ((8, 4), [0, 0, 0, 0, 0, 0, 1, 1])
    """
    width = count("directions", directions) + 1
    usual = np.repeat(np.eye(width)[:-1], count("each", each), axis=0)
    wrong = np.full((2, width), open_probability("along", along) / np.sqrt(directions))
    wrong[:, -1] = np.sqrt(1 - along**2) * np.array([1.0, -1.0])
    rows = np.vstack([usual, wrong])
    return rows @ _reflection(width) if spread else rows, np.repeat([0, 1], [len(usual), 2])


def _reflection(width: int) -> Floats:
    """Householder's: takes the last axis to (1, …, 1)/√width, and keeps lengths."""
    normal = np.full(width, -1 / np.sqrt(width))
    normal[-1] += 1
    normal /= np.linalg.norm(normal)
    matrix: Floats = np.eye(width) - 2 * np.outer(normal, normal)
    return matrix


LABEL, PERSON, TARGET, EMBEDDING, TEXT = "label", "person", "target", "x", "text"
WORDS: Final = tuple(f"w{number}" for number in range(40))
"""What texts are made of, and one of them is unknown to the audit's encoder (``head_starts``)."""
_SIZES: Final = (0, 1, 2, 3, 8, 20, 33, 64, 64)
_TEXTS: Final = 16
"""The most records that are texts: each goes through a whole network in every step."""
HELD, ON_GRID, TWICE = "held head", "on the grid", "rounded twice"
_GRID: Final = 2.0**-20
"""The grid on which the package's exact sums stand."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The columns of a table: public, and the same in every neighbour."""

    width: int
    classes: tuple[str, ...] = ("a", "b", "c")
    persons: bool = False
    targets: bool = False
    embedded: bool = False
    """The features are one array, or list, instead of a column each."""
    texts: bool = False
    """The records are texts, a word for each number."""

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the feature columns."""
        if self.texts:
            return (TEXT,)
        return (EMBEDDING,) if self.embedded else tuple(f"f{i}" for i in range(self.width))


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table, and records that are not in it: they make its neighbours."""

    table: Table
    newcomers: Table
    family: str
    shape: Shape
    pivot: int | None = None
    """The record whose leaving moves most, where one was built."""


def adversarial_case(rng: Generator, shape: Shape, *, fewest: int = 0, tame: bool = False) -> Case:
    """A table of one family, with at least ``fewest`` records; a ``tame`` one of ordinary rows."""
    held = () if shape.texts else (HELD,)  # it has rows by the hundred
    family = "normal" if tame else str(rng.choice([*FAMILIES, *held]))
    if family == HELD:
        return _held(rng, shape)
    size = max(int(rng.choice(_SIZES)), fewest)
    if shape.texts:
        size = max(min(size, _TEXTS), fewest)
    elif family in (TWICE, ON_GRID):
        size = max(size, 200)  # each row moves by little
    if not (tame or shape.texts) and rng.random() < 0.01:
        size = int(rng.choice([2047, 2048, 2049, 4097]))  # the edges of blocks of sums
    rows = FAMILIES[family](rng, size + 4, shape.width)
    order = list(range(size + 4))
    if family != TWICE and rng.random() < 0.5:  # its newcomers are made for the others
        rng.shuffle(order)
    table = _table(rng, [rows[i] for i in order[:size]], shape, owners=record_owners(rng, size))
    strangers = [f"new{i}" for i in range(4)]
    newcomers = _table(rng, [rows[i] for i in order[size:]], shape, owners=strangers)
    return Case(table=table, newcomers=newcomers, family=family, shape=shape)


def _held(rng: Generator, shape: Shape) -> Case:
    """A head that is held by all rows but two, which pull against it and each other.

    One person owns both: where one row of each is kept, the second follows when the first leaves.
    """
    width = max(shape.width, 2)
    rows, wrong = held_records(directions=width - 1, each=int(rng.choice([3, 12])))
    cells = [[float(cell) * 50.0 for cell in row[: shape.width]] for row in rows]
    owners = [f"p{place}" for place in range(len(cells) - 2)] + ["both", "both"]
    table = _table(rng, cells, shape, owners=owners)
    newcomers = _table(rng, cells[-2:] * 2, shape, owners=["new"] * 4)
    if not shape.targets:
        labels = {LABEL: [shape.classes[int(label)] for label in wrong]}
        table = replace(table, columns={**table.columns, **labels})
        others = {LABEL: [shape.classes[1]] * 4}
        newcomers = replace(newcomers, columns={**newcomers.columns, **others})
    pivot = len(cells) - 2
    return Case(table=table, newcomers=newcomers, family=HELD, shape=shape, pivot=pivot)


def record_owners(rng: Generator, size: int) -> list[str]:
    """Whose records they are: some own many of them, apart from each other."""
    persons = max(1, int(size * rng.choice([0.1, 0.5, 1.0])))
    return [f"p{rng.integers(persons)}" for _ in range(size)]


def _table(rng: Generator, rows: list[list[Cell]], shape: Shape, *, owners: list[str]) -> Table:
    columns: dict[str, list[Any]] = {}
    if shape.texts:
        columns[TEXT] = [_text(row) for row in rows]
    elif shape.embedded:
        columns[EMBEDDING] = [np.array([float(cell) for cell in row]) for row in rows]
    else:
        columns = {name: [row[i] for row in rows] for i, name in enumerate(shape.features)}
    if shape.targets:
        columns[TARGET] = [_target(rng) for _ in rows]
    else:
        columns[LABEL] = _labels(rng, len(rows), shape.classes)
    if shape.persons:
        columns[PERSON] = list(owners)
    return Table(columns, shapes={EMBEDDING: (shape.width,)} if shape.embedded else {})


def _text(row: list[Cell]) -> str:
    """A word for each number up to the last that is not 0: of several lengths, and empty ones."""
    words = ["" if cell == 0 else WORDS[int(abs(cell)) % len(WORDS)] for cell in row]
    return " ".join(words).strip()


def _labels(rng: Generator, size: int, classes: tuple[str, ...]) -> list[str]:
    """Sometimes all of one class, or one class missing."""
    present = int(rng.integers(1, len(classes) + 1))
    chosen = rng.choice(len(classes), size=present, replace=False)
    return [classes[int(rng.choice(chosen))] for _ in range(size)]


def _target(rng: Generator) -> float:
    return float(rng.choice([0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 5e-324, rng.normal()]))


def _normal(rng: Generator, size: int, width: int) -> list[list[Cell]]:
    scale = float(rng.choice([1e-3, 1.0, 30.0]))
    return [[float(x) for x in row] for row in rng.normal(scale=scale, size=(size, width))]


def _aligned(rng: Generator, size: int, width: int) -> list[list[Cell]]:
    """All in one direction, longer than any bound: a record moves a sum as far as it can."""
    direction = np.zeros(width)
    direction[int(rng.integers(width))] = float(rng.choice([-1.0, 1.0]))
    if rng.random() < 0.5:
        direction = rng.normal(size=width)
    return [[float(x) for x in direction * factor] for factor in rng.uniform(10, 1e3, size=size)]


def _integers(rng: Generator, size: int, width: int) -> list[list[Cell]]:
    """Whole numbers that a 32-bit float must round, one direction, and one fraction among them."""
    top = int(rng.choice([2**24, 2**53, 2**62]))
    rows: list[list[Cell]] = [
        [int(top + rng.integers(-200, 200)) * int(rng.choice([1, 1, 1, -1])) for _ in range(width)]
        for _ in range(size)
    ]
    place = int(rng.integers(size))
    rows[place][int(rng.integers(width))] = float(rng.choice([0.5, 1e-300, 2.0**24 + 1.5]))
    return rows


def _double_rounded(rng: Generator, size: int, width: int) -> list[list[Cell]]:
    """Whole numbers past the middle of two 32-bit floats: rounding twice goes the other way.

    All others turn a little in the direction in which the last four rows, fractions, point.
    """
    rows: list[list[Cell]] = []
    for _ in range(size - 4):
        turning = 2**60 + int(rng.integers(1, 2**19)) * 2**38 + 2**36 + 1
        fixed = 2**60 + int(rng.integers(2**17)) * 2**40
        rows.append([turning, fixed, *[0] * (width - 2)][:width])
    sign = float(rng.choice([-1.5, 1.5]))
    return [*rows, *([sign, -sign, *[0] * (width - 2)][:width] for _ in range(4))]


def _ends(rng: Generator, size: int, width: int) -> list[list[Cell]]:
    """Both ends of the float range, zeros of both signs."""
    cells = [1e300, -1.7e308, 1e154, 5e-324, -2.5e-320, 1e-160, 0.0, -0.0, 1.0]
    return [[float(rng.choice(cells)) for _ in range(width)] for _ in range(size)]


def _tiny(rng: Generator, size: int, width: int) -> list[list[Cell]]:
    return [[float(k) * 5e-324 for k in row] for row in rng.integers(-9, 9, size=(size, width))]


def _equal(rng: Generator, size: int, width: int) -> list[list[Cell]]:
    row = [float(x) for x in rng.normal(scale=5.0, size=width)]
    return [list(row) for _ in range(size)]


def _zeros(rng: Generator, size: int, width: int) -> list[list[Cell]]:
    rows: list[list[Cell]] = [[0.0] * width for _ in range(size)]
    rows[int(rng.integers(size))] = [-0.0] * width
    return rows


def _one_hot(rng: Generator, size: int, width: int) -> list[list[Cell]]:
    rows: list[list[Cell]] = [[0] * width for _ in range(size)]
    for row in rows:
        row[int(rng.integers(width))] = int(rng.choice([1, 1, 7]))
    return rows


def grid_direction(width: int) -> list[float]:
    """A direction whose entries are whole multiples of the grid, of norm close to 1."""
    return [float(math.floor(2**20 / math.sqrt(width)) - 7 * i) * _GRID for i in range(width)]


def _on_grid(rng: Generator, size: int, width: int) -> list[list[Cell]]:
    """Multiples of a direction that clipping brings onto the grid: the last bit of a norm decides.

    The bound that does it is ``grid_bound``.
    """
    direction = grid_direction(width)
    rows: list[list[Cell]] = []
    for factor in rng.uniform(1.5, 900.0, size=size):
        signs = rng.choice([-1.0, 1.0], size=width) if rng.random() < 0.3 else np.ones(width)
        rows.append([float(x * factor * s) for x, s in zip(direction, signs, strict=True)])
    return rows


FAMILIES: Final[dict[str, Callable[[Generator, int, int], list[list[Cell]]]]] = {
    "normal": _normal,
    "aligned": _aligned,
    "integers": _integers,
    TWICE: _double_rounded,
    "ends of the range": _ends,
    "subnormal": _tiny,
    "equal rows": _equal,
    "zeros": _zeros,
    "one-hot": _one_hot,
    ON_GRID: _on_grid,
}


def neighbour(case: Case, relation: Relation, unit: str, rng: Generator) -> Table:
    """A table with one unit more, less, or another in its place.

    Where the unit is a record, it is a row of the file, whoever owns it: that is what "one record"
    says. Where it is a person, all rows of that person come and go.
    """
    by_person = unit != guarantee.ONE_RECORD and case.shape.persons
    if relation is Relation.REPLACE_ONE:
        return _replaced(case, by_person, rng)
    if len(case.table) and rng.random() < 0.5:
        return case.table.without(_some_unit(case, by_person, rng))
    return _added(case.table, _newcomer(case, by_person, rng), rng)


def _replaced(case: Case, by_person: bool, rng: Generator) -> Table:
    """Rows of the newcomer at the places of those that leave, or elsewhere; the rest anywhere."""
    leaving = sorted(_some_unit(case, by_person, rng))
    table = case.table.without(leaving)
    coming = _newcomer(case, by_person, rng)
    stays = rng.random() < 0.5
    for row, place in zip(coming, leaving, strict=False):
        elsewhere = int(rng.choice([0, len(table), int(rng.integers(len(table) + 1))]))
        table = table.with_row(min(place, len(table)) if stays else elsewhere, row)
    return _added(table, coming[len(leaving) :], rng)


def _some_unit(case: Case, by_person: bool, rng: Generator) -> list[int]:
    """The rows of one unit; that of the pivot more often than others."""
    table = case.table
    place = int(rng.integers(len(table)))
    if case.pivot is not None and rng.random() < 0.7:
        place = case.pivot
    if PERSON not in table.columns:
        return [place]
    owners = list(table.columns[PERSON])
    rows = [i for i, owner in enumerate(owners) if owner == owners[place]]
    return rows if by_person else rows[:1]  # the first: another of that owner may follow it


def _newcomer(case: Case, by_person: bool, rng: Generator) -> list[Row]:
    size = int(rng.integers(1, len(case.newcomers) + 1)) if by_person else 1
    rows = [case.newcomers.row(i) for i in rng.permutation(len(case.newcomers))[:size]]
    return [row | {PERSON: "newcomer"} if case.shape.persons else row for row in rows]


def _added(table: Table, rows: list[Row], rng: Generator) -> Table:
    for row in rows:
        table = table.with_row(int(rng.integers(len(table) + 1)), row)
    return table
