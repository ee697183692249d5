"""Mutated files through every reader, and SIGTERM in the middle of runs: counts, not times."""

import signal
import tempfile
import time
from pathlib import Path
from random import Random

import numpy as np

from benchmarks.harness import Result
from tests.fuzz.campaign import campaign
from tests.fuzz.processes import ended, started, wait_for_workers

NAME = "fuzz"
TITLE = "Mutated files through every reader, and runs ended by SIGTERM"
SEED = 1919
RUN = (
    "--label y --records 300 --epsilon 1 --delta 1e-5 --relation add-remove --jobs 2 --shadows 400"
)


def run(quick: bool) -> Result:
    files, trials = (1000, 2) if quick else (100_000, 30)
    fuzzed = campaign(files, SEED, timeout=8 * 3600)
    for line in fuzzed["wrong"]:
        print(line)
    with tempfile.TemporaryDirectory() as folder:
        endings = [_ended_run(Path(folder), trial) for trial in range(trials)]
    return Result(
        columns=("what", "count"),
        rows=[
            (f"mutated files, seed {SEED}", fuzzed["files"]),
            ("read", fuzzed["read"]),
            ("refused in one line", fuzzed["refused"]),
            ("anything else", len(fuzzed["wrong"])),
            ("largest memory of the process, MiB", fuzzed["peak_bytes"] >> 20),
            ("longest of a file, s", round(fuzzed["slowest"], 2)),
            ("runs ended by SIGTERM", trials),
            ("of these without a process after 5 s", sum(not left for _, left, _ in endings)),
            ("of these without an empty folder", sum(clean for _, _, clean in endings)),
            ("longest end of a run, s", round(max(seconds for seconds, _, _ in endings), 2)),
        ],
        note="Anything else: an exception that is no refusal, more than 2 GiB, more than 10 s.",
    )


def _ended_run(folder: Path, trial: int) -> tuple[float, list[int], bool]:
    """One run, ended at a moment after its workers were there."""
    rng = np.random.default_rng(trial)
    for name in ("train", "test"):
        np.savez(folder / f"{name}.npz", x=rng.normal(size=(300, 40)), y=np.arange(300) % 3)
    tables = ["--private", str(folder / "train.npz"), "--test", str(folder / "test.npz")]
    out = folder / f"out-{trial}"
    process = started(["run", *tables, *RUN.split(), "--out", str(out)])
    wait_for_workers(process)
    time.sleep(Random(f"{SEED}:{trial}").uniform(0, 4))
    seconds, left, _ = ended(process, signal.SIGTERM, limit=5)
    return seconds, left, not out.exists()
