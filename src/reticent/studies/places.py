"""Every place for noise on one data set at one (ε, δ), and at δ = 0 beside it.

Weights, gradients, sums, loss, votes, inputs. Constants are each recipe's own: DP-SGD trains the
recipe's network with its batch, epochs and clip, which were fixed before any of these data.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from reticent.data import Dataset
from reticent.protect.registry import classifiers
from reticent.results import Unprotected, protections
from reticent.run.protections import LONGEST, Bench, ProtectionsSpec
from reticent.studies import settled
from reticent.studies.tasks import Task, task
from reticent.studies.trained import Outcome, Run, Table

_PURE: Final = ", δ = 0"


@dataclass(frozen=True, kw_only=True)
class Places:
    """Every number is public and was chosen before a query was asked."""

    on: str
    records: int
    epsilon: float = 1.0
    delta: float = 1e-5
    draws: int = 5
    leave_out: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    """By their names in the table; all where none is said."""
    seed: int = 0

    @property
    def protections(self) -> ProtectionsSpec:
        """The request that ``compare-protections`` would get for these numbers."""
        return ProtectionsSpec(
            epsilon=self.epsilon,
            delta=self.delta,
            relation="add-remove",
            records=self.records,
            draws=self.draws,
            protections=tuple(name for name in classifiers() if name not in self.leave_out),
            pure=True,
            seed=self.seed,
        )

    @property
    def releases(self) -> tuple[tuple[str, bool], ...]:
        """Each recipe, and whether at δ = 0; DP-SGD is not, where composition leaves it nothing."""
        asked = self.protections.releases()
        every = ((name, pure) for name, pure in asked if not (pure and name in LONGEST))
        return tuple(one for one in every if not self.rows or row_name(*one) in self.rows)

    def key(self, *row: object) -> tuple[object, ...]:
        """Of a kept cell: the numbers that decide it, and not which other rows there are."""
        numbers = self.on, self.records, self.epsilon, self.delta, self.draws, self.seed
        return ("places", *numbers, *row)


def row_name(name: str, pure: bool) -> str:
    """Of a row in the table."""
    return f"{name}{_PURE}" if pure else name


_ON_ADULT_ALONE = (
    *("weights", "noisy-gradient", "class-means", "adassp"),
    *("objective", "pate", "input"),
)
"""With logarithms of capital sums the others are measured anew: sums in matrices, pure learners and
DP-SGD."""
SPECS: Mapping[str, tuple[Places, ...]] = {
    "digits": (Places(on="digits", records=1_400, draws=2),),
    "adult": (Places(on="adult", records=32_561),),
    "adult-log": (
        Places(
            on="adult-log",
            records=32_561,
            leave_out=_ON_ADULT_ALONE,
        ),
    ),
    "mnist": (Places(on="mnist", records=10_000),),
    "cifar10": (Places(on="cifar10", records=10_000),),
}
"""Of the images 10,000, ALM's own number: all of them take more than an hour of CPU."""


def study(specs: tuple[Places, ...], run: Run) -> Outcome:
    """Every place for noise on one data set: accuracy and what attacks find, at one (ε, δ)."""
    run.steps.plan(sum(1 + len(spec.releases) for spec in specs))
    return Outcome(specifications=specs, tables=tuple(_table(spec, run) for spec in specs))


def _table(spec: Places, run: Run) -> Table:
    data = task(spec.on, records=spec.records, seed=spec.seed, folder=run.folder)
    bench = Bench(data.private, _queries(data), spec.protections)
    free = run.cell(spec.key("free"), _free, bench)
    rows, skipped = [], {}
    for name, pure in spec.releases:
        cell = run.cell(spec.key(name, pure), _measured, bench, name, pure)
        if "skipped" in cell:
            skipped[row_name(name, pure)] = cell["skipped"]
        else:
            rows.append(protections.Protection.model_validate(cell))
    comparison = bench.compared(rows, skipped, Unprotected.model_validate(free))
    return with_grades(comparison.table(), spec.on, data.private.name)


def with_grades(table: Table, on: str, name: str) -> Table:
    """Rows whose constants were settled on the data are declared, and a note says why."""
    learners = [row[0].removesuffix(_PURE) for row in table.rows]
    rows = tuple(
        (row[0], settled.grade_of(row[1], on, learner), *row[2:])
        for row, learner in zip(table.rows, learners, strict=True)
    )
    released = (name for name, row in zip(learners, table.rows, strict=True) if row[1])
    notes = (*table.notes, *settled.note(on, released))
    return replace(table, title=table.title.replace(name, on), rows=rows, notes=notes)


def _free(bench: Bench) -> dict[str, Any]:
    return bench.unprotected().model_dump(mode="json")


def _measured(bench: Bench, name: str, pure: bool) -> dict[str, Any]:
    from reticent.validation import InputError

    try:
        return bench.measured(name, pure=pure).model_dump(mode="json")
    except InputError as error:
        return {"skipped": str(error)}


def _queries(data: Task) -> Dataset:
    """The public queries as records of the same kind."""
    names = np.asarray(data.private.classes)
    places = {name: place for place, name in enumerate(names.tolist())}
    labels = np.array([places[name] for name in data.truth.tolist()], dtype=np.int64)
    rows = data.queries.astype(data.private.features.dtype)
    return replace(data.private, name="queries", inputs=rows, labels=labels, persons=None)
