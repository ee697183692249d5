"""What a table of 1.3 million × 2,048 features in 1,000 classes would take, from what was measured.

Nothing is run: the figures of ``growth``, ``growth_run``, ``large_table``, ``large_run`` and
``mapped_table`` are read. A job's time is fitted in two ways to the twelve sizes of ``growth``: as
a product of powers of records, features and classes, and as a sum of the kinds of work that there
are: looks at the table, at its products with the classes, and either at its second moment (a
release) or at the sample that attacks see, whose size is bounded (a run). Larger tables that were
measured stand beside what is said of them.
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
from reticent.run.bounded import FEWEST, MEASURED

NAME = "table_forecast"
TITLE = "What larger tables take: fitted to small ones, and measured"

IMAGENET: Shape = (1_300_000, 2_048, 1_000)
NODES = (1, 4, 16)
CORES = 2
"""Of each node, as of the machine that was measured on."""
COLUMNS = (
    "job",
    "records × features × classes",
    "CPU by powers",
    "CPU by work",
    "CPU measured",
    "powers / measured",
    "work / measured",
    *(f"by the clock, nodes: {nodes}" for nodes in NODES),
)


@dataclass(frozen=True)
class Model:
    """A job's time by its sizes, fitted in two ways."""

    powers: tuple[float, ...]
    work: tuple[float, ...]
    samples: bool

    @classmethod
    def of(cls, shapes: Sequence[Shape], seconds: Sequence[float], *, samples: bool) -> "Model":
        logs = np.column_stack([np.ones(len(shapes)), np.log(shapes)])
        powers, *_ = np.linalg.lstsq(logs, np.log(seconds), rcond=None)
        terms = np.array([_terms(shape, samples=samples) for shape in shapes])
        weights = 1 / np.asarray(seconds)  # all sizes count alike
        size = terms.max(axis=0)
        work, _ = nnls(terms / size * weights[:, None], np.ones(len(shapes)))
        return cls(tuple(powers.tolist()), tuple((work / size).tolist()), samples)

    def by_powers(self, shape: Shape) -> float:
        return float(np.exp(self.powers[0] + np.dot(self.powers[1:], np.log(shape))))

    def by_work(self, shape: Shape) -> float:
        return float(np.dot(self.work, _terms(shape, samples=self.samples)))

    def divided(self, shape: Shape, cores: int) -> float:
        """By the clock: of a run the work on samples is divided over cores, and nothing else."""
        if not self.samples:
            return self.by_work(shape)
        *whole, sampled = np.multiply(self.work, _terms(shape, samples=True))
        return float(sum(whole) + sampled / cores)


def run(quick: bool) -> Result:  # noqa: ARG001 - it is quick
    """Measured sizes first, then the one that nobody measured."""
    models = {job: _model("growth", job, bench_growth) for job in bench_growth.JOBS}
    models["run"] = _model("growth_run", "run", bench_growth_run)
    rows = [_row(job, shape, models, found) for job, shape, found in _measured()]
    rows += [_row(job, IMAGENET, models, None) for job in models]
    gigabytes = 4 * IMAGENET[0] * IMAGENET[1] / 1e9
    note = (
        "Powers and sums of work are fitted to the rows of growth and growth_run, whose largest"
        " table has a hundredth of these numbers, or fewer: where a larger table was measured"
        " (imports included, which small ones are without), ratios say how far off both are. By the"
        " clock is by work. A release is one task, which nodes do not shorten; k"
        f" nodes make k × {CORES} releases at a time. A run fits heads to all records in one"
        " process, and divides attacks, on samples of a bounded size, over the"
        f" {CORES} cores of each node. The file of the last size holds {gigabytes:.1f} GB of"
        " float32 features, and is mapped."
    )
    return Result(columns=COLUMNS, rows=rows, note=note)


def _row(job: str, shape: Shape, models: dict[str, Model], measured: float | None) -> list[Cell]:
    model = models[job]
    powers, work = model.by_powers(shape), model.by_work(shape)
    return [
        job,
        " × ".join(f"{size:,}" for size in shape),
        _time(powers),
        _time(work),
        "–" if measured is None else _time(measured),
        *("–" if measured is None else f"{said / measured:.2g}" for said in (powers, work)),
        *(
            "–" if measured is not None else _time(model.divided(shape, CORES * nodes))
            for nodes in NODES
        ),
    ]


def _time(seconds: float) -> str:
    for unit, name in ((3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{_short(seconds / unit)} {name}"
    return f"{_short(seconds)} s"


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def _terms(shape: Shape, *, samples: bool) -> tuple[float, ...]:
    """Kinds of work: something fixed, the numbers, times classes, and times features or sampled."""
    records, features, classes = map(float, shape)
    numbers = records * features
    if not samples:
        return 1.0, numbers, numbers * classes, numbers * features
    most = max(MEASURED / (features * classes) / 2, FEWEST)
    return 1.0, numbers, numbers * classes, min(records, most) * features * classes


def _model(name: str, job: str, sizes: object) -> Model:
    base, steps = vars(sizes)["BASE"], vars(sizes)["STEPS"]
    shapes: list[Shape] = []
    seconds: list[float] = []
    for row in _rows(name):
        if row[0] == job:
            place = AXES.index(row[1])
            shapes += [with_size(base, place, size) for size in steps[row[1]]]
            seconds += [float(text) for text in row[3].split(", ")]
    return Model.of(shapes, seconds, samples=job == "run")


def _measured() -> list[tuple[str, Shape, float]]:
    """Jobs on tables that are larger than those of ``growth``, in CPU seconds."""
    found = []
    for name, shape in (("large_table", LARGE), ("mapped_table", MAPPED), ("large_run", LARGE)):
        for called, seconds, *_ in _rows(name):
            command, _, learner = called.partition(" --learner ")
            job = "run" if command == "run" and "," not in learner else learner
            if job in (*bench_growth.JOBS, "run"):
                found.append((job, shape, float(seconds)))
    return found


def _rows(name: str) -> list[list[str]]:
    rows: list[list[str]] = json.loads((RESULTS / f"{name}.json").read_text())["rows"]
    return rows
