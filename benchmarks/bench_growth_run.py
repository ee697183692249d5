"""How time and memory of ``run`` grow with records, features and classes."""

from benchmarks.bench_growth import COLUMNS, NOTE, QUICK_BASE, QUICK_STEPS, grown
from benchmarks.harness import Result

NAME = "growth_run"
TITLE = "Growth of run with records, features and classes"

BASE = (20_000, 64, 20)
STEPS = {
    "records": (25_000, 50_000, 100_000, 200_000),
    "features": (64, 128, 256, 512),
    "classes": (12, 25, 50, 100),
}


def run(quick: bool) -> Result:
    """One ε, one mechanism, few draws and shadow models: the work of a run without repetitions."""
    base, steps = (QUICK_BASE, QUICK_STEPS) if quick else (BASE, STEPS)
    short = (
        "One ε, Gaussian noise, 2 draws, 10 shadow models; beyond fixed sizes a run measures on a "
        "sample and leaves parts out."
    )
    return Result(columns=COLUMNS, rows=grown(("run",), base, steps), note=f"{NOTE} {short}")
