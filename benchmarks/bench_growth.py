"""How time and memory of ``protect`` grow with records, features and classes."""

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.growth_job import write_clusters
from benchmarks.harness import Cell, Result
from benchmarks.process_tree import ONE_THREAD, used_by

NAME = "growth"
TITLE = "Growth of protect with records, features and classes"

JOBS = ("weights", "noisy-gradient", "class-means", "lda")
AXES = ("records", "features", "classes")
BASE = (20_000, 64, 20)
STEPS = {
    "records": (25_000, 50_000, 100_000, 200_000),
    "features": (64, 128, 256, 512),
    "classes": (12, 25, 50, 100),
}
QUICK_BASE = (600, 8, 4)
QUICK_STEPS = {
    "records": (600, 1200, 2400, 4800),
    "features": (8, 16, 32, 64),
    "classes": (3, 6, 12, 24),
}
Shape = tuple[int, int, int]
"""Records, features and classes."""
TEST = 6_000
_MIB = 2**20


@dataclass(frozen=True, kw_only=True)
class Taken:
    """By a job on one table: CPU seconds, peak bytes, and bytes before the table was read."""

    cpu: float
    peak: int
    before: int


def run(quick: bool) -> Result:
    """Each learner on four sizes of each kind, one process after the other."""
    jobs = JOBS[2:3] if quick else JOBS
    base, steps = (QUICK_BASE, QUICK_STEPS) if quick else (BASE, STEPS)
    lda = "lda (as adassp) releases the second moment of the features: it grows with their square."
    return Result(columns=COLUMNS, rows=grown(jobs, base, steps), note=f"{NOTE} {lda}")


COLUMNS = (
    "job",
    "grows",
    "records × features × classes",
    "CPU s",
    "time ~ size^",
    "peak MiB",
    "table's memory ~ size^",
)
NOTE = (
    "Gaussian clusters, one process and one thread each. CPU time is that of reading the table and "
    "of the job, without imports and compilation; the peak is VmHWM of the process. Exponents are "
    "least-squares slopes in logarithms, of memory above what the process held before it read a "
    "table."
)


def grown(jobs: Sequence[str], base: Shape, steps: Mapping[str, Sequence[int]]) -> list[list[Cell]]:
    """A row for each job and each axis."""
    rows = []
    for job in jobs:
        for place, axis in enumerate(AXES):
            shapes = [with_size(base, place, size) for size in steps[axis]]
            with tempfile.TemporaryDirectory() as folder:
                rows.append(row(job, axis, shapes, measured(job, shapes, Path(folder))))
            print(*rows[-1], sep="  ", file=sys.stderr, flush=True)
    return rows


def measured(job: str, shapes: list[Shape], folder: Path) -> list[Taken]:
    """What a job took on each shape."""
    tables = []
    for number, shape in enumerate(shapes):
        table = folder / f"{number}-{shape[2]}"
        table.mkdir()
        write_clusters(table, "train", shape, seed=0)
        write_clusters(table, "test", (min(TEST, shape[0]), *shape[1:]), seed=1)
        tables.append(str(table))
    command = [sys.executable, "-m", "benchmarks.growth_job", job, *tables]
    return [Taken(**one) for one in json.loads(used_by(command, ONE_THREAD).printed)]


def with_size(base: Shape, place: int, size: int) -> Shape:
    """The base with one of its numbers changed."""
    records, features, classes = (size if at == place else same for at, same in enumerate(base))
    return records, features, classes


def row(job: str, axis: str, shapes: list[Shape], taken: list[Taken]) -> list[Cell]:
    place = AXES.index(axis)
    sizes = [shape[place] for shape in shapes]
    shown = [f"{size:,}" for size in shapes[0]]
    shown[place] = f"{sizes[0]:,} … {sizes[-1]:,}"
    grown = [max(one.peak - one.before, 1) for one in taken]
    return [
        job,
        axis,
        " × ".join(shown),
        ", ".join(f"{one.cpu:.3g}" for one in taken),
        round(exponent(sizes, [one.cpu for one in taken]), 2),
        ", ".join(f"{one.peak / _MIB:.0f}" for one in taken),
        round(exponent(sizes, grown), 2),
    ]


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """k of value ~ size^k, by least squares in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
