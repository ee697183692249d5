"""What ``run`` takes at several sizes, beside what it says at its start."""

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from benchmarks.growth_job import write_clusters
from benchmarks.harness import RESULTS, Result
from reticent.data import read_table
from reticent.run import RunData, RunSpec, run_job
from reticent.run.duration import Work, calibration_seconds, stage_seconds
from reticent.run.stages import STAGES, Cost

NAME = "run_time"
TITLE = "The time of a run, as said and as measured"
COLUMNS = (
    "records", "features", "classes", "ε", "noises", "draws", "shadows",
    "attacks s", "draws s", "audits s", "shadows s", "CPU s", "calibration s", "said s", "ratio",
)  # fmt: skip
MEASURED = COLUMNS[:-2]
REPEATED = {what: stage.repeats for stage in STAGES for what in stage.told if stage.repeats}
"""By what a run tells; everything else is with the shadow models."""


class Case(NamedTuple):
    """A size, and how often things are repeated."""

    shape: tuple[int, int, int]
    epsilons: tuple[float, ...] = ()
    mechanisms: tuple[str, ...] = ("laplace", "gaussian", "logistic")
    draws: int = 5
    shadows: int = 32

    def spec(self) -> RunSpec:
        """In one process."""
        return RunSpec(
            epsilon=2.0,
            delta=1e-6,
            relation="add-remove",
            records=self.shape[0],
            bound=1.5,
            epsilons=self.epsilons,
            mechanisms=self.mechanisms,
            draws=self.draws,
            shadows=self.shadows,
        )

    def data(self) -> RunData:
        """Clusters, half as many of them for the tests."""
        with tempfile.TemporaryDirectory() as name:
            paths = [
                write_clusters(Path(name), role, (size, *self.shape[1:]), seed)
                for seed, (role, size) in enumerate(
                    {"train": self.shape[0], "test": self.shape[0] // 2}.items()
                )
            ]
            classes = [str(one) for one in range(self.shape[2])]
            private, test = (read_table(path, label="y", classes=classes) for path in paths)
        return RunData.of(private, test)


FEW: dict[str, Any] = {
    "epsilons": (2.0,), "mechanisms": ("gaussian",), "draws": 2, "shadows": 10
}  # fmt: skip
SOME: dict[str, Any] = {
    "epsilons": (1.0, 2.0), "mechanisms": ("laplace", "gaussian"), "draws": 3, "shadows": 20
}  # fmt: skip
CASES = (
    Case((300, 8, 2)),
    Case((1000, 64, 3)),
    Case((2000, 30, 10)),
    Case((4000, 64, 4), **FEW),
    Case((1000, 64, 3), **FEW),
    Case((300, 8, 2), **FEW),
    Case((1500, 40, 4), **SOME),
    Case((8000, 32, 3), **FEW),
)
WARM = Case((120, 6, 2), **FEW)


def run(quick: bool) -> Result:
    """CPU seconds of each stage; what is said is of the factors that the package has now."""
    measured(WARM)  # compiled, and not counted
    calibration = calibration_seconds(time.process_time)
    cases = CASES[:2] if quick else CASES
    rows = [[*measured(case), round(calibration, 4)] for case in cases]
    return Result(columns=COLUMNS, rows=with_said(rows), note=NOTE)


NOTE = (
    "One process with one thread; seconds of the processor, which on an idle machine are those of "
    "the clock. Said: for each row by factors that were fitted to the others."
)


def measured(case: Case) -> list[Any]:
    """A row without its last cell."""
    data, spec = case.data(), case.spec()
    seconds = dict.fromkeys(("attacks", "draws", "audits", "shadows"), 0.0)
    last: list[Any] = ["shadows", time.process_time()]

    def tell(what: str, _done: int, _whole: int) -> None:
        now = time.process_time()
        seconds[last[0]] += now - last[1]
        last[:] = [REPEATED.get(what, "shadows"), now]

    started = time.process_time()
    run_job(data, spec, stage=tell)
    tell("", 0, 0)
    spent = time.process_time() - started
    numbers = [len(spec.epsilons), len(spec.mechanisms), spec.draws, spec.shadows]
    stages = [round(value, 2) for value in seconds.values()]
    return [*case.shape, *numbers, *stages, round(spent, 2)]


def with_said(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Rows with what would have been said of each, had it not been measured."""
    named = [dict(zip(MEASURED, row, strict=True)) for row in rows]
    found = []
    for place, row in enumerate(named):
        costs = fitted(named[:place] + named[place + 1 :])
        said = sum(stage_seconds(work_of(row), costs).values())
        found.append([*rows[place], round(said, 2), round(said / row["CPU s"], 2)])
    return found


def fitted(rows: Sequence[Mapping[str, float]]) -> dict[str, Cost]:
    """Factors of each stage: non-negative least squares on relative errors."""
    works = [work_of(row) for row in rows]
    found = {}
    for name in ("attacks", "draws", "audits", "shadows"):
        spent = np.array([max(row[f"{name} s"], 0.01) for row in rows])
        times = np.array([float(getattr(work, name)) for work in works])
        sizes = [work.private if name == "draws" else work.measured for work in works]
        millions = np.array(sizes) / 1e6
        columns = np.stack([np.ones(len(rows)), millions, times, times * millions], axis=1)
        factors, _ = nnls(columns / spent[:, np.newaxis], np.ones(len(rows)))
        once, once_a_million, each, each_a_million = map(float, factors)
        found[name] = Cost(
            once=once, once_a_million=once_a_million, each=each, each_a_million=each_a_million
        )
    return found


def work_of(row: Mapping[str, float]) -> Work:
    """What a row measured: all of its records are looked at, and a third of the tests is not."""
    kinds = 1 + 2 * int(row["noises"])
    releases = kinds * int(row["ε"])
    records, width = int(row["records"]), row["features"] * row["classes"]
    test = records // 2
    return Work(
        attacks=releases * max(int(row["shadows"]) // 2, 10),
        draws=releases * int(row["draws"]),
        audits=kinds,
        shadows=int(row["shadows"]),
        measured=width * (records + test - test // 3),
        private=width * records,
        releases=releases,
    )


def recorded() -> list[dict[str, float]]:
    """The rows of the results that are committed."""
    found = json.loads((RESULTS / f"{NAME}.json").read_text(encoding="utf-8"))
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]
