"""``protect`` and ``run`` on a table that stays in its file: 1,000,000 × 256 float32 features."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.growth_job import BOUND, EPSILON, write_clusters
from benchmarks.harness import Cell, Result
from benchmarks.process_tree import ONE_THREAD, used_by

NAME = "mapped_table"
TITLE = "reticent protect and run on a memory-mapped table"

SHAPE, QUICK_SHAPE = (1_000_000, 256, 10), (2_000, 16, 5)
TEST, QUICK_TEST = 20_000, 600
DELTA = 1e-8
LEARNERS = ("class-means", "lda")
COLUMNS = ("command", "CPU s", "peak GiB", "progress lines")
_GIB = 2**30
Shape = tuple[int, int, int]


def run(quick: bool) -> Result:
    """Two releases, and one run with one learner, whose attacks see a sample."""
    shape, unseen = (QUICK_SHAPE, QUICK_TEST) if quick else (SHAPE, TEST)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train = write_clusters(folder, "train", shape, seed=0, kind=np.float32)
        test = write_clusters(folder, "test", (unseen, *shape[1:]), seed=1, kind=np.float32)
        rows = [protected(learner, shape, train, folder) for learner in LEARNERS]
        rows.append(whole_run(shape, train, test, folder))
        rows += stopped_run(shape, train, test, folder)
    return Result(columns=COLUMNS, rows=rows, note=note(shape, unseen))


def protected(learner: str, shape: Shape, train: Path, folder: Path) -> list[Cell]:
    """One release."""
    return _measured("protect", [*_options(shape, train, folder / learner), "--learner", learner])


def whole_run(shape: Shape, train: Path, test: Path, folder: Path) -> list[Cell]:
    """One learner at one ε, in one process."""
    return _measured("run", _run_options(shape, train, test, folder / "run"))


def stopped_run(shape: Shape, train: Path, test: Path, folder: Path) -> list[list[Cell]]:
    """The same, killed as soon as a head is fitted to all records, and said again."""
    options = _run_options(shape, train, test, folder / "stopped")
    fits = folder / ".stopped.fits"
    killed = _measured("run", options, name=", killed", killed_when=fits.exists)
    if not fits.is_file():
        raise RuntimeError("a run must be killed when a head is fitted, got one that had ended")
    return [killed, _measured("run", options, name=", said again")]


def note(shape: Shape, unseen: int) -> str:
    """How the table is to be read."""
    records, features, classes = shape
    return (
        f"{records:,} records of {features} float32 features in {classes} classes, an .npz file of "
        f"{4 * records * features / 1e9:.2f} GB that is mapped; {unseen:,} test records. Imports "
        "are included, one process with one thread. The peak is of resident memory, looked at "
        "every fifth of a second, with the pages of the file that are in memory at the moment "
        f"({4 * records * features / _GIB:.2f} GiB if all are): the system drops these where "
        "memory is short. The last two: killed as soon as a head was fitted to all records, and "
        "the same command again, which starts from it."
    )


def _options(shape: Shape, train: Path, out: Path) -> list[str]:
    options = {
        "private": train,
        "label": "y",
        "classes": ",".join(map(str, range(shape[2]))),
        "records": shape[0],
        "epsilon": EPSILON,
        "delta": DELTA,
        "relation": "add-remove",
        "out": out,
    }
    return [text for name, value in options.items() for text in (f"--{name}", str(value))]


def _run_options(shape: Shape, train: Path, test: Path, out: Path) -> list[str]:
    options = [*_options(shape, train, out), "--learner", LEARNERS[0]]
    return [*options, "--test", str(test), "--bound", str(BOUND), "--jobs", "1"]


def _measured(
    command: str,
    options: list[str],
    *,
    name: str = "",
    killed_when: Callable[[], bool] = lambda: False,
) -> list[Cell]:
    words = [sys.executable, "-m", "reticent", command, *options]
    used = used_by(words, ONE_THREAD, killed_when=killed_when)
    learner = options[options.index("--learner") + 1]
    lines = sum(", after " in line for line in used.errors.splitlines())
    called = f"{command} --learner {learner}{name}"
    found: list[Cell] = [called, round(used.cpu, 1), round(used.peak / _GIB, 2), lines]
    print(*found, f"{used.wall:.0f} s by the clock", sep="  ", file=sys.stderr)
    return found
