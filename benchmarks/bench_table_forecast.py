"""What a table of 1.3 million × 2,048 features in 1,000 classes would take, from what was measured.

Nothing is run: the figures of ``growth``, ``growth_run``, ``large_table``, ``large_run`` and
``mapped_table`` are read. A job's time is fitted in two ways to the twelve sizes of ``growth``: as
a product of powers of records, features and classes, and as a sum of the kinds of work that there
are (looks at the table, at its products with the classes, and at its second moment). Larger tables
that were measured stand beside what is said of them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from benchmarks import bench_growth, bench_growth_run
from benchmarks.bench_growth import AXES, Shape, with_size
from benchmarks.bench_large_table import SHAPE as LARGE
from benchmarks.bench_mapped_table import SHAPE as MAPPED
from benchmarks.harness import RESULTS, Cell, Result

NAME = "table_forecast"
TITLE = "What larger tables take: fitted to small ones, and measured"

IMAGENET: Shape = (1_300_000, 2_048, 1_000)
NODES = (1, 4, 16)
CORES = 2
"""Of each node, as of the machine that was measured on."""
COLUMNS = (
    "job",
    "records × features × classes",
    "by powers, CPU h",
    "by work, CPU h",
    "measured, CPU h",
    "by work / measured",
    *(f"hours on {nodes} nodes" for nodes in NODES),
)
_FULL_FITS = 2
"""Heads that a run fits to all records, one after the other: the unprotected one, and ``weights``.
Nothing of these is divided over nodes."""


@dataclass(frozen=True)
class Model:
    """A job's time by its sizes, fitted in two ways."""

    powers: tuple[float, ...]
    work: tuple[float, ...]

    @classmethod
    def of(cls, shapes: Sequence[Shape], seconds: Sequence[float]) -> "Model":
        logs = np.column_stack([np.ones(len(shapes)), np.log(shapes)])
        powers, *_ = np.linalg.lstsq(logs, np.log(seconds), rcond=None)
        terms = np.array([_terms(shape) for shape in shapes])
        weights = 1 / np.asarray(seconds)  # all sizes count alike
        size = terms.max(axis=0)
        work, _ = nnls(terms / size * weights[:, None], np.ones(len(shapes)))
        return cls(tuple(powers.tolist()), tuple((work / size).tolist()))

    def by_powers(self, shape: Shape) -> float:
        return float(np.exp(self.powers[0] + np.dot(self.powers[1:], np.log(shape))))

    def by_work(self, shape: Shape) -> float:
        return float(np.dot(self.work, _terms(shape)))


def run(quick: bool) -> Result:  # noqa: ARG001 - it is quick
    """Measured sizes first, then the one that nobody measured."""
    models = {job: _model("growth", job, bench_growth) for job in bench_growth.JOBS}
    models["run"] = _model("growth_run", "run", bench_growth_run)
    rows = [_row(job, shape, models, found) for job, shape, found in _measured()]
    rows += [_row(job, IMAGENET, models, None) for job in models]
    gigabytes = 4 * IMAGENET[0] * IMAGENET[1] / 1e9
    note = (
        "Powers and sums of work are fitted to the rows of growth and growth_run, whose largest"
        " table has a hundredth of these numbers, or fewer: where a larger table was measured, the"
        " ratio says how far off that is. A release is one task, which nodes do not shorten; k"
        f" nodes make k × {CORES} releases at a time, and hours on k nodes are of one. A run"
        f" fits {_FULL_FITS} heads to all records in one process (by work, as protect --learner"
        " weights), and divides the rest, attacks and audits on samples of a bounded size, over"
        f" {CORES} cores of each node. The file of the last size holds {gigabytes:.1f} GB of"
        " float32 features, and is mapped."
    )
    return Result(columns=COLUMNS, rows=rows, note=note)


def _row(job: str, shape: Shape, models: dict[str, Model], measured: float | None) -> list[Cell]:
    work = models[job].by_work(shape)
    serial = work
    if job == "run":
        serial = _FULL_FITS * models["weights"].by_work(shape)
        work = max(work, serial)
    hours = [serial + (work - serial) / (CORES * nodes) for nodes in NODES]
    return [
        job,
        " × ".join(f"{size:,}" for size in shape),
        _hours(models[job].by_powers(shape)),
        _hours(work),
        "–" if measured is None else _hours(measured),
        "–" if measured is None else f"{work / measured:.2g}",
        *("–" if measured is not None else _hours(one) for one in hours),
    ]


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.2g}"


def _terms(shape: Shape) -> tuple[float, ...]:
    """Kinds of work: something fixed, the numbers, numbers × classes, numbers × features."""
    records, features, classes = map(float, shape)
    numbers = records * features
    return 1.0, numbers, numbers * classes, numbers * features


def _model(name: str, job: str, sizes: object) -> Model:
    base, steps = vars(sizes)["BASE"], vars(sizes)["STEPS"]
    shapes: list[Shape] = []
    seconds: list[float] = []
    for row in _rows(name):
        if row[0] == job:
            place = AXES.index(row[1])
            shapes += [with_size(base, place, size) for size in steps[row[1]]]
            seconds += [float(text) for text in row[3].split(", ")]
    return Model.of(shapes, seconds)


def _measured() -> list[tuple[str, Shape, float]]:
    """Jobs on tables that are larger than those of ``growth``, in CPU seconds."""
    found = []
    for name, shape in (("large_table", LARGE), ("mapped_table", MAPPED), ("large_run", LARGE)):
        for called, seconds, *_ in _rows(name):
            command, _, learner = called.partition(" --learner ")
            job = "run" if command == "run" else learner
            if job in (*bench_growth.JOBS, "run"):
                found.append((job, shape, float(seconds)))
    return found


def _rows(name: str) -> list[list[str]]:
    rows: list[list[str]] = json.loads((RESULTS / f"{name}.json").read_text())["rows"]
    return rows
