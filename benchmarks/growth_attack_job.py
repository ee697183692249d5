"""One axis of ``bench_growth_attack`` in a process of its own: prints CPU seconds as JSON."""

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
    """Every size once, after the first was done to import and compile."""
    said: dict[str, Any] = json.loads(asked)
    axis, sizes, shape = said["axis"], said["sizes"], tuple(said["shape"])
    seconds(axis, sizes[0], shape)
    print(json.dumps([seconds(axis, size, shape) for size in sizes]))


if __name__ == "__main__":
    main(sys.argv[1])
