"""The public numbers of one pair of files: the ends of every option, and what is between."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from numpy.random import Generator

from reticent.audit.end_to_end import adversarial, table
from reticent.data import Schema
from reticent.guarantee import Relation
from reticent.mechanisms.registry import MECHANISMS
from reticent.protect import RECIPES, ReleaseRequest, Terms
from reticent.training.features import Norms, shrink

TARGET_BOUND: Final = 2.0
_ENDS: Final[dict[str, tuple[Any, ...]]] = {
    "longest_step": (1e-3, 2.0, 1e3),
    "clip": (1e-3, 1.0, 1e3),
    "learning_rate": (1e-3, 1.0),
    "epochs": (1.0, 3.0),
    "components": (1, 2, 3),
    "clusters": (1, 3, 9),
    "rounds": (0, 1, 2),
    "teachers": (1, 3, 50),
    "seed": (0, 7),
}
"""Small, usual and large values of what recipes take beside the fields of ``Settings``."""
_MEAN_BOUNDS: Final = (1e-3, 1.0, 1e3)
"""Of a noisy mean, times the bound on a row."""
_MOST: Final = 8
"""Records that a neighbour may have more."""
_SAMPLED: Final = 8
"""Records of a sample of one size: most tables have more or less."""
_ALL: Final = 40
"""The most of which a sample may be all."""
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

    shape: adversarial.Shape
    relation: Relation
    epsilon: float
    delta: float
    mechanism: str
    records: int
    bound: float
    penalty: float
    norms: Norms
    intercept: float
    centred: bool
    """By a noisy mean."""
    max_records_per_person: int | None
    writing: table.Writing
    layouts: tuple[str, ...]
    """Of arrays in memory, by turns."""
    heaviest: float
    """The weight of the first class; that of the last is its inverse."""
    mean_bound: float = 1.0
    """Of a noisy mean."""
    ends: Mapping[str, Any] = field(default_factory=dict)
    """Values of further options, by their names."""
    schema: Schema | None = None
    """Of raw tables."""

    @property
    def person(self) -> str | None:
        """The column that says whose a record is, where one is named."""
        return adversarial.PERSON if self.shape.persons else None

    @property
    def without_persons(self) -> "Settings":
        """The same for a command that protects single records, whoever owns them."""
        shape = replace(self.shape, persons=False)
        return replace(self, shape=shape, max_records_per_person=None)

    @property
    def terms(self) -> Terms:
        """The terms of the release: ε, δ, relation and unit."""
        return Terms(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            max_records_per_person=self.max_records_per_person,
        )

    def request(self, recipe: str) -> ReleaseRequest:
        """As a release of a table by this recipe is asked for."""
        settings = self.covered_by(recipe)
        return ReleaseRequest(
            terms=settings.terms,
            records=self.records,
            recipe=recipe,
            mechanism=settings.mechanism,
            options=self.options(recipe),
        )

    def covered_by(self, recipe: str) -> "Settings":
        """The same with noise that the recipe's theorem covers."""
        noises = RECIPES[recipe].noises
        if not noises and "coupling_share" in RECIPES[recipe].options:  # samples, by two queries
            noises = ("gaussian",)
        if not noises or self.mechanism in noises:
            return self
        needed = 1e-5 if MECHANISMS[noises[0]].needs_delta else 0.0
        return replace(self, mechanism=noises[0], delta=self.delta or needed)

    def options(self, recipe: str) -> dict[str, Any]:
        """Values for the options that a recipe takes; others are left to their defaults."""
        values = {
            "bound": self.bound if self.schema is None else self.schema.bound,
            "target_bound": TARGET_BOUND if self.schema is None else None,  # else it follows
            "penalty": self.penalty,
            "intercept": self.intercept,
            "norms": self.norms,
            "mean_bound": self.mean_bound if self.centred else None,
            **self.ends,
            **self._sampling(recipe),
        }
        taken = RECIPES[recipe].options
        return {
            name: value for name, value in values.items() if name in taken and value is not None
        }

    def _sampling(self, recipe: str) -> dict[str, Any]:
        """Samples where they are covered: of half of the records, or few of one size; else all.

        Of one size also all of an even number of places, where that is cheap.
        """
        by_record = self.max_records_per_person in (None, 1)
        is_added = self.relation is Relation.ADD_REMOVE
        if not is_added and hasattr(RECIPES[recipe], "fixed_size") and not self.shape.persons:
            is_all = self.records % 2 == 0 and self.records <= _ALL
            few = self.records if is_all else min(_SAMPLED, self.records - 1)
            return {"batch": few, "epochs": 2.5 * few / self.records}
        half = max(1, self.records // 2)
        batch = half if is_added and by_record else self.records
        return {"batch": batch, "epochs": self.ends.get("epochs", 3.0)}

    @property
    def budget(self) -> dict[str, Any]:
        """What every release in Python is told."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "mechanism": self.mechanism,
            "max_records_per_person": self.max_records_per_person,
        }


def random_settings(
    rng: Generator, shape: adversarial.Shape, relation: Relation, size: int
) -> Settings:
    """Settings for a table of ``size`` rows: at most 2N of them may be there, N the normaliser."""
    (further,) = rng.spawn(1)
    mechanism, delta = _NOISES[int(rng.integers(len(_NOISES)))]
    fewest = math.ceil((size + _MOST) / 2)
    norms: Norms = "clip" if rng.random() < 0.7 else "scale"
    settings = Settings(
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
        centred=bool(rng.random() < 0.3),
        max_records_per_person=int(rng.choice([1, 2, 3])) if shape.persons else None,
        writing=table.Writing(
            numbers=str(rng.choice(["r", ".17e", "+.17g"])),
            order=str(rng.choice(["C", "F"])),
            narrow=bool(rng.random() < 0.3),
        ),
        layouts=tuple(str(one) for one in rng.permutation(["C", "F", "strided", "lists"])),
        heaviest=float(rng.choice([1.0, 31.0, 1000.0])),
    )
    return replace(
        settings,
        mean_bound=settings.bound * float(further.choice(_MEAN_BOUNDS)),
        ends={name: values[int(further.integers(len(values)))] for name, values in _ENDS.items()},
    )


def made_for(family: str, settings: Settings, rng: Generator) -> Settings:
    """The settings at which a family of tables is hardest, more often than not."""
    if rng.random() < 0.2:
        return settings
    if family == adversarial.ON_GRID:
        return replace(settings, bound=grid_bound(settings.shape.width), norms="clip")
    if family == adversarial.HELD:
        penalty = float(rng.choice([1e-3, 1e-2]))
        return replace(settings, bound=1.0, penalty=penalty, intercept=0.0, norms="clip")
    return settings


def grid_bound(width: int) -> float:
    """The bound to which rows "on the grid" are clipped onto it."""
    return math.hypot(*adversarial.grid_direction(width)) * shrink(width)
