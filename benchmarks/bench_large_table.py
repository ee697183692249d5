"""``protect`` on 200,000 records of 512 features in 100 classes, as a command."""

import sys
import tempfile
from pathlib import Path

from benchmarks.growth_job import BOUND, DELTA, EPSILON, write_clusters
from benchmarks.harness import Cell, Result
from benchmarks.process_tree import ONE_THREAD, used_by

NAME = "large_table"
TITLE = "reticent protect on a large table"

LEARNERS = ("weights", "lda", "adassp", "class-means", "noisy-gradient")
SHAPE = (200_000, 512, 100)
QUICK_SHAPE = (2_000, 16, 5)
COLUMNS = ("command", "CPU s", "peak GiB", "progress lines")
_GIB = 2**30


def run(quick: bool) -> Result:
    """One learner after the other; all processes of a command are counted."""
    shape = QUICK_SHAPE if quick else SHAPE
    with tempfile.TemporaryDirectory() as folder:
        train = write_clusters(Path(folder), "train", shape, seed=0)
        rows = [
            measured("protect", shape, train, Path(folder), "--learner", learner)
            for learner in LEARNERS[: 1 if quick else None]
        ]
    return Result(columns=COLUMNS, rows=rows, note=note(shape))


def note(shape: tuple[int, int, int]) -> str:
    """How the tables are to be read."""
    records, features, classes = shape
    return (
        f"{records:,} records of {features} features in {classes} classes, an .npz file of "
        f"{8 * records * features / 1e9:.2f} GB; imports are included, and "
        "each process has one thread of linear algebra. The peak is the largest "
        "sum of resident memory over all processes of the command, looked at every fifth of a "
        "second; memory that processes share counts for each."
    )


def measured(
    command: str, shape: tuple[int, int, int], train: Path, folder: Path, *more: str
) -> list[Cell]:
    """One row."""
    records, _, classes = shape
    options = {
        "private": train,
        "label": "y",
        "classes": ",".join(map(str, range(classes))),
        "records": records,
        "epsilon": EPSILON,
        "delta": DELTA,
        "relation": "add-remove",
        "out": folder / f"out-{command}",
    }
    if not {"noisy-gradient", "class-means", "lda", "adassp"} & set(more):
        options["bound"] = BOUND
    typed = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    used = used_by([sys.executable, "-m", "reticent", command, *typed, *more], ONE_THREAD)
    called = " ".join([command, *(more if command == "protect" else ())])
    lines = sum(", after " in line for line in used.errors.splitlines())
    found: list[Cell] = [called, round(used.cpu, 1), round(used.peak / _GIB, 2), lines]
    print(*found, f"{used.wall:.0f} s by the clock", sep="  ", file=sys.stderr)
    return found
