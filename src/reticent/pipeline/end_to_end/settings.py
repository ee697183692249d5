"""The public numbers of one pair: the ends of every option, and what is between them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

from numpy.random import Generator

from reticent.audit.end_to_end.adversarial import (
    HELD,
    ON_GRID,
    PERSON,
    Shape,
    grid_direction,
)
from reticent.audit.end_to_end.table import Writing
from reticent.guarantee import Relation
from reticent.pipeline.protecting import Centre, Wanted
from reticent.training.features import Norms, shrink

_MOST: Final = 8
"""Records that a neighbour may have more."""
_NOISES: Final = (
    ("gaussian", 1e-5),
    ("gaussian", 1e-5),
    ("logistic", 1e-5),
    ("logistic", 0.0),
    ("laplace", 0.0),
    ("l2-laplace", 0.0),
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a user says of one release; nothing of it is read off the table."""

    shape: Shape
    relation: Relation
    epsilon: float
    delta: float
    mechanism: str
    records: int
    bound: float
    penalty: float
    norms: Norms
    intercept: float
    centre: Centre
    records_each: int | None
    writing: Writing
    layouts: tuple[str, ...]
    """Of arrays in memory, by turns."""
    heaviest: float
    """The weight of the first class; that of the last is its inverse."""

    @property
    def person(self) -> str | None:
        """The column that says whose a record is, where one is named."""
        return PERSON if self.shape.persons else None

    def wanted(self) -> Wanted:
        """As ``protect`` takes it."""
        return Wanted(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            records=self.records,
            bound=self.bound,
            mechanism=self.mechanism,
            intercept=self.intercept,
            norms=self.norms,
            penalty=self.penalty,
            records_each=self.records_each,
            centre=self.centre,
        )

    @property
    def budget(self) -> dict[str, Any]:
        """What every release in Python is told."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "mechanism": self.mechanism,
            "records_each": self.records_each,
        }


def random_settings(rng: Generator, shape: Shape, relation: Relation, size: int) -> Settings:
    """Settings for a table of ``size`` rows: at most 2N of them may be there, N the normaliser."""
    mechanism, delta = _NOISES[int(rng.integers(len(_NOISES)))]
    fewest = math.ceil((size + _MOST) / 2)
    norms: Norms = "clip" if rng.random() < 0.7 else "scale"
    return Settings(
        shape=shape,
        relation=relation,
        epsilon=float(rng.choice([0.05, 1.0, 8.0])),
        delta=delta,
        mechanism=mechanism,
        records=int(rng.choice([fewest, size + _MOST, 10 * (size + _MOST), 100_000])),
        bound=float(rng.choice([1.0, grid_bound(shape.width), 1e-3, 1e3, 1e-60, 1e60])),
        penalty=float(rng.choice([1e-6, 1e-4, 1e-2, 1.0, 100.0])),
        norms=norms,
        intercept=float(rng.choice([0.0, 0.1, 1.0])),
        centre="mean" if rng.random() < 0.3 else "none",
        records_each=int(rng.choice([1, 2, 3])) if shape.persons else None,
        writing=Writing(
            numbers=str(rng.choice(["r", ".17e", "+.17g"])),
            order=str(rng.choice(["C", "F"])),
            narrow=bool(rng.random() < 0.3),
        ),
        layouts=tuple(str(one) for one in rng.permutation(["C", "F", "strided", "lists"])),
        heaviest=float(rng.choice([1.0, 31.0, 1000.0])),
    )


def made_for(family: str, settings: Settings, rng: Generator) -> Settings:
    """The settings at which a family of tables is hardest, more often than not."""
    if rng.random() < 0.2:
        return settings
    if family == ON_GRID:
        return replace(settings, bound=grid_bound(settings.shape.width), norms="clip")
    if family == HELD:
        penalty = float(rng.choice([1e-3, 1e-2]))
        return replace(settings, bound=1.0, penalty=penalty, intercept=0.0, norms="clip")
    return settings


def grid_bound(width: int) -> float:
    """The bound to which rows "on the grid" are clipped onto it."""
    return math.hypot(*grid_direction(width)) * shrink(width)
