"""One job of ``bench_growth`` in a process of its own: ``python -m benchmarks.growth_job``.

It does the job once on a few rows, so that everything is imported and compiled, and then on each
table, the smallest first: each peak of resident memory is then the last table's.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.process_tree import status
from reticent.data import Dataset, read_table
from reticent.protect import ReleaseRequest, release_table
from reticent.run import RunData, RunSpec, run_job

EPSILON, DELTA, BOUND = 4.0, 1e-6, 1.5
_WARM = 600
_BLOCK = 8192


def write_clusters(
    folder: Path,
    name: str,
    shape: tuple[int, int, int],
    seed: int,
    *,
    kind: type[np.floating[Any]] = np.float64,
) -> Path:
    """Gaussian clusters, one for each class, as an .npz file: (records, features, classes)."""
    records, features, classes = shape
    centres = 0.35 * np.random.default_rng(0).standard_normal((classes, features))
    rng = np.random.default_rng([1, seed])
    y = rng.integers(classes, size=records)
    X = np.empty((records, features), dtype=kind)
    for start in range(0, records, _BLOCK):
        block = y[start : start + _BLOCK]
        X[start : start + _BLOCK] = _rows(centres[block], rng)
    path = folder / f"{name}.npz"
    np.savez(path, X=X, y=y)
    return path


def _rows(centres: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """About 1 long."""
    found = (centres + rng.standard_normal(centres.shape)) / (1.2 * np.sqrt(centres.shape[1]))
    return np.asarray(found)


def done(job: str, private: Dataset, test: Dataset) -> object:
    """A release by the recipe of this name, or a short ``run`` in one process."""
    if job == "run":
        spec = RunSpec(
            epsilon=EPSILON,
            delta=DELTA,
            relation="add-remove",
            records=len(private),
            bound=BOUND,
            epsilons=(EPSILON,),
            mechanisms=("gaussian",),
            draws=2,
            shadows=10,
        )
        return run_job(RunData.of(private, test), spec)
    request = ReleaseRequest.of(
        epsilon=EPSILON,
        delta=DELTA,
        relation="add-remove",
        records=len(private),
        recipe=job,
    )
    if job == "weights":
        request = request.with_options(bound=BOUND)
    return release_table(private, request)


def main(job: str, *folders: str) -> None:
    """Print CPU seconds, peak bytes and bytes before the first table was read, as JSON."""
    few = _read(Path(folders[0]) / "test.npz")
    half = min(_WARM, len(few)) // 2
    done(job, few.take(np.arange(half)), few.take(np.arange(half, 2 * half)))
    before, found = status("VmRSS"), []
    for folder in map(Path, folders):
        started = time.process_time()
        done(job, _read(folder / "train.npz"), _read(folder / "test.npz"))
        seconds = time.process_time() - started
        found.append({"cpu": seconds, "peak": status("VmHWM"), "before": before})
    print(json.dumps(found))


def _read(path: Path) -> Dataset:
    """The table; its folder is named by the number of classes, which is public."""
    classes = int(path.parent.name.rpartition("-")[2])
    return read_table(path, label="y", classes=tuple(map(str, range(classes))))


if __name__ == "__main__":
    main(*sys.argv[1:])
