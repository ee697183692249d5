"""``run`` on 200,000 records of 512 features in 100 classes, as a command."""

import tempfile
from pathlib import Path

from benchmarks.bench_large_table import COLUMNS, QUICK_SHAPE, SHAPE, measured, note
from benchmarks.growth_job import write_clusters
from benchmarks.harness import Result

NAME = "large_run"
TITLE = "reticent run on a large table"

TEST, QUICK_TEST = 20_000, 600


def run(quick: bool) -> Result:
    """The command with its usual options, in as many processes as there are cores."""
    shape, unseen = (QUICK_SHAPE, QUICK_TEST) if quick else (SHAPE, TEST)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train = write_clusters(folder, "train", shape, seed=0)
        test = write_clusters(folder, "test", (unseen, *shape[1:]), seed=1)
        row = measured("run", shape, train, folder, "--test", str(test))
    return Result(columns=COLUMNS, rows=[row], note=f"{note(shape)} {unseen:,} test records.")
