"""The runs of ``bench_growth_attack`` in a process of their own: prints CPU seconds as JSON."""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.growth_job import BOUND, DELTA, EPSILON, write_clusters
from reticent.data import read_table
from reticent.run import RunData, RunSpec, run_job


def seconds(axis: str, size: int, shape: tuple[int, int, int]) -> float:
    """CPU seconds of a short run in which one number has this size."""
    records, features, classes = shape
    others = size if axis == "scored records" else records
    with tempfile.TemporaryDirectory() as name:
        private, test = (
            read_table(
                write_clusters(Path(name), called, (many, features, classes), seed),
                label="y",
                classes=tuple(map(str, range(classes))),
            )
            for called, many, seed in (("train", records, 0), ("test", others * 3 // 2, 1))
        )
    grid = size if axis == "ε in the grid" else 1
    spec = RunSpec(
        epsilon=EPSILON,
        delta=DELTA,
        relation="add-remove",
        records=records,
        bound=BOUND,
        epsilons=tuple(EPSILON * (1 + place) for place in range(grid)),
        mechanisms=("gaussian",),
        draws=2,
        shadows=size if axis == "shadow models" else 10,
        pairs=size if axis.startswith("pairs") else 50,
    )
    started = time.process_time()
    run_job(RunData.of(private, test), spec)
    return time.process_time() - started


def main(asked: str) -> None:
    """Every size once, after one was done to import and compile."""
    said: dict[str, Any] = json.loads(asked)
    steps, shape = said["steps"], tuple(said["shape"])
    seconds("shadow models", 10, shape)
    found: dict[str, list[float]] = {}
    for axis, sizes in steps.items():
        found[axis] = [seconds(axis, size, shape) for size in sizes]
        print(axis, *found[axis], file=sys.stderr, flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
