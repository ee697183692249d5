"""How the time of ``run`` grows with shadow models, scored records, pairs and the grid of ε."""

import json
import os
import subprocess
import sys

from benchmarks.bench_growth import exponent
from benchmarks.growth_job import EPSILON
from benchmarks.harness import Cell, Result
from benchmarks.process_tree import ONE_THREAD

NAME = "growth_attack"
TITLE = "Growth of run with shadow models, scored records, pairs and the grid of ε"

SHAPE, QUICK_SHAPE = (500, 8, 3), (120, 4, 3)
STEPS = {
    "shadow models": (10, 30, 90),
    "scored records": (500, 1_500, 4_500),
    "pairs m of Algorithm 2": (50, 150, 450),
    "ε in the grid": (1, 3, 9),
}
QUICK_STEPS = {"shadow models": (10, 20)}
COLUMNS = ("grows", "from … to", "CPU s", "time ~ size^", "seconds for each more")


def run(quick: bool) -> Result:
    """All in one process, one thread."""
    shape, steps = (QUICK_SHAPE, QUICK_STEPS) if quick else (SHAPE, STEPS)
    command = [sys.executable, "-m", "benchmarks.growth_attack_job"]
    done = subprocess.run(
        [*command, json.dumps({"steps": steps, "shape": shape})],
        env=os.environ | ONE_THREAD,
        stdout=subprocess.PIPE,
        check=True,
    )
    found = json.loads(done.stdout)
    rows = [_row(axis, sizes, found[axis]) for axis, sizes in steps.items()]
    records, features, classes = shape
    note = (
        f"{records:,} private records of {features} features in {classes} classes, and as many"
        " others unless they grow; ε = "
        f"{EPSILON:g}, Gaussian noise, 2 draws, 10 shadow models, 50 pairs where they do not grow."
        " CPU time of the job in one process with one thread. A fixed part does not grow, so the"
        " exponents are below 1; the last column is the slope between the two largest sizes."
    )
    return Result(columns=COLUMNS, rows=rows, note=note)


def _row(axis: str, sizes: tuple[int, ...], seconds: list[float]) -> list[Cell]:
    return [
        axis,
        f"{sizes[0]:,} … {sizes[-1]:,}",
        ", ".join(f"{one:.3g}" for one in seconds),
        round(exponent(sizes, seconds), 2),
        float(f"{(seconds[-1] - seconds[-2]) / (sizes[-1] - sizes[-2]):.2g}"),
    ]
