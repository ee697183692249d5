"""Finds, runs and records the benchmarks.

A benchmark is a module ``benchmarks/bench_*.py`` with ``NAME`` (of its result file), ``TITLE`` and
``run(quick: bool) -> Result``. Seconds depend on the machine and ratios less so: give a column of
ratios, both sides of which were measured in the same run.
"""

import argparse
import datetime
import importlib
import importlib.metadata
import json
import os
import pkgutil
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
LIBRARIES = (
    "reticent",
    "numpy",
    "scipy",
    "numba",
    "python-flint",
    "cryptography",
    "dp-accounting",
    "opendp",
    "opacus",
    "torch",
    "scikit-learn",
    "adversarial-robustness-toolbox",
)
Cell = str | int | float


@dataclass(frozen=True, kw_only=True)
class Result:
    """The table of one benchmark; ``note`` says how to read it."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"rows must have {len(self.columns)} cells, got {list(row)!r}")


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Seconds for one call."""

    median: float
    minimum: float


class Benchmark(Protocol):
    """What a module ``bench_*.py`` holds."""

    NAME: str
    TITLE: str

    def run(self, quick: bool) -> Result:
        """Measures; ``quick`` asks for a small size, to see that it works."""


def best_of(function: Callable[[], object], repeats: int) -> Timing:
    """Times ``repeats`` calls after one that is not counted (it may compile)."""
    if not repeats >= 1:
        raise ValueError(f"repeats must be >= 1, got {repeats}")
    function()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return Timing(median=statistics.median(seconds), minimum=min(seconds))


def discover() -> dict[str, Any]:
    """The benchmark modules by NAME."""
    modules = [
        importlib.import_module(f"benchmarks.{found.name}")
        for found in pkgutil.iter_modules([str(Path(__file__).parent)])
        if found.name.startswith("bench_")
    ]
    return {module.NAME: module for module in modules}


def machine() -> dict[str, str | int]:
    """What was measured on; no host name."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count() or 1,
        "memory": f"{_memory_bytes() / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Python and the libraries that are installed."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def record(benchmark: Benchmark, result: Result) -> dict[str, Any]:
    """The result with what is needed to judge it."""
    return {
        "title": benchmark.TITLE,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": machine(),
        "versions": versions(),
        "columns": list(result.columns),
        "rows": [list(row) for row in result.rows],
        "note": result.note,
    }


def write(record: dict[str, Any], path: Path) -> None:
    """Writes JSON that a later run changes only where the figures do; NaN is refused."""
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def show(record: dict[str, Any], console: Console) -> None:
    """Prints the table."""
    table = Table(title=record["title"], caption=record["note"] or None)
    for column in record["columns"]:
        table.add_column(column)
    for row in record["rows"]:
        table.add_row(
            *(format(cell, ".4g") if isinstance(cell, float) else str(cell) for cell in row)
        )
    console.print(table)


def main(arguments: list[str] | None = None, *, results: Path = RESULTS) -> int:
    """Runs the named benchmarks, or all; a quick run is shown and not recorded."""
    benchmarks = discover()
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=", ".join(benchmarks) or "none yet"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes; results are not written")
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.names if name not in benchmarks]:
        parser.error(f"NAME must be one of {', '.join(benchmarks)}; got {', '.join(unknown)}")
    console = Console()
    for name in chosen.names or benchmarks:
        print(f"measuring {name} ...", file=sys.stderr)
        measured = record(benchmarks[name], benchmarks[name].run(quick=chosen.quick))
        show(measured, console)
        if not chosen.quick:
            write(measured, results / f"{name}.json")
    if benchmarks and not chosen.quick:
        print("results are written; make docs puts them into the pages", file=sys.stderr)
    return 0


def _cpu_model() -> str:
    """The name the kernel gives on Linux, and what platform knows elsewhere."""
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
