"""How long a run will take: work from public sizes, times what a small fixed job takes here.

The seconds of each stage grow with records × features × classes and with how often it is repeated.
Their factors were fitted to runs of other sizes (``make bench BENCH=run_time``); this machine, as
busy as it is, counts by the time of a fixed job that is measured when a run starts.
"""

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from reticent.parallel import cores, workers
from reticent.protect import RECIPES
from reticent.randomness import seeded
from reticent.run.bounded import Bounded
from reticent.run.spec import RunData
from reticent.run.stages import STAGES, Cost
from reticent.training import SoftmaxHead

_REPEATS: Final = 3
_ROWS, _FEATURES, _CLASSES = 400, 32, 3
"""Of the fixed job."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """How often each stage of a run repeats, and the sizes that they look at."""

    attacks: int
    """Shadow models over all attacked releases."""
    draws: int
    audits: int
    shadows: int
    measured: float
    """Records × features × classes that are attacked and audited."""
    private: float
    """The same of all private records, which releases are made of."""
    releases: int
    """Those that are attacked, each by one process."""
    networks: bool = False
    """Releases are trained by DP-SGD, which takes as long as the network is large."""
    compared: int = 0
    """Draws of every other place for noise."""

    @classmethod
    def of(cls, data: RunData, plan: Bounded) -> "Work":
        """From public sizes and choices alone."""
        spec, seen = plan.spec, plan.measured
        kinds = 1 + (2 if plan.published else 1) * len(spec.mechanisms)
        releases = kinds * len(spec.epsilons)
        width = data.features * len(data.private.classes)
        return cls(
            attacks=releases * max(spec.shadows // 2, 10),
            draws=releases * spec.draws,
            audits=kinds,
            shadows=spec.shadows,
            measured=float(width * (len(seen.private) + len(seen.others))),
            private=float(width * len(data.private)),
            releases=releases,
            networks=spec.learner is not None and RECIPES[spec.learner].trains_network,
            compared=spec.draws if spec.compare_protections else 0,
        )


COSTS: Final = {stage.repeats: stage.cost for stage in STAGES if stage.cost is not None}
"""By what is repeated."""
CALIBRATION: Final = 0.0696
"""Seconds of the fixed job where these were measured."""
COMPARED: Final = Cost(once=5.0, once_a_million=3.0, each=0.45, each_a_million=0.55)
"""Every other place for noise, with attacks: roughly, from 150 and 1,130 digits, 1 and 3 draws."""
ALWAYS: Final = 7.0
"""Seconds of a command beside its stages: starting, and drawing the page."""
LARGEST: Final = 5e6
"""Records × features × classes up to which times are known; a few times what was measured."""
IN_PARALLEL: Final = {stage.repeats: stage.tasks for stage in STAGES if stage.tasks}
"""Stages that are divided over processes, and of what there are so many tasks."""
WORKER_START: Final = 4.0
"""Seconds until worker processes have loaded what they need."""


def stage_seconds(work: Work, costs: Mapping[str, Cost] = COSTS) -> dict[str, float]:
    """Of each stage, in one process of the machine that was measured."""
    sizes = {"draws": work.private}
    return {
        name: cost.seconds(getattr(work, name), sizes.get(name, work.measured))
        for name, cost in costs.items()
    }


def expected_seconds(work: Work, *, jobs: int, slowness: float) -> float:
    """How long a run of this work will take.

    Args:
        work: What there is to do.
        jobs: As in ``RunSpec``: processes, -1 for every core.
        slowness: What the fixed job takes here, in times of what it took where this was fitted.
    """
    many = min(workers(jobs), cores())
    stages = {
        name: seconds if name not in IN_PARALLEL else _divided(name, seconds, work, many)
        for name, seconds in stage_seconds(work).items()
    }
    started = WORKER_START if many > 1 else 0.0
    return slowness * (ALWAYS + started + sum(stages.values()))


def _divided(name: str, seconds: float, work: Work, many: int) -> float:
    """A stage whose tasks go to so many processes: its longest task is done by one of them.

    What a stage does once is a part of that task (the release that is handed over is attacked by
    every attack); the others are as long as each other, and the last round may not fill.
    """
    tasks = int(getattr(work, IN_PARALLEL[name]))
    at_once = max(min(many, tasks), 1)
    if at_once == 1:
        return seconds
    first = COSTS[name].first(work.measured)
    each = (seconds - first) / tasks
    return max(seconds / at_once, first + each, math.ceil(tasks / at_once) * each)


def machine_slowness(clock: Callable[[], float] = time.perf_counter) -> float:
    """The fixed job's time here, in times of the one where the factors were fitted; below 1 s."""
    return calibration_seconds(clock) / CALIBRATION


def calibration_seconds(clock: Callable[[], float]) -> float:
    """The median time of a fixed fit on made-up records, after one that is not counted."""
    rng = seeded("how fast this machine is", 0)
    labels = rng.integers(_CLASSES, size=_ROWS)
    rows = rng.standard_normal((_ROWS, _FEATURES)) + 0.5 * labels[:, np.newaxis]
    times = []
    for _ in range(_REPEATS + 1):
        started = clock()
        for penalty in (1e-2, 1e-3, 1e-4):
            head = SoftmaxHead(
                records=_ROWS, bound=6.0, penalty=penalty, classes=tuple(range(_CLASSES))
            )
            head.fit(rows, labels)
        times.append(clock() - started)
    return statistics.median(times[1:])


def line_of(work: Work, *, jobs: int) -> str:
    """What a run says at its start; nothing is promised of tables beyond those that were measured.

    Args:
        work: What there is to do.
        jobs: As in ``RunSpec``.
    """
    if work.networks or work.private > LARGEST:
        return "this run takes longer than those whose times are known: its progress is shown"
    slowness = machine_slowness()
    seconds = expected_seconds(work, jobs=jobs, slowness=slowness)
    beside = slowness * COMPARED.seconds(work.compared, work.private) if work.compared else 0.0
    line = f"this run takes {in_words(seconds + beside)} on this machine, as busy as it is now"
    return f"{line}, {in_words(beside)} of it to compare protections" if beside else line


def in_words(seconds: float) -> str:
    """A time as people say it, rounded to what is known of it.

    >>> [in_words(value) for value in (3, 47, 100, 1500, 9000)]
    ['about 5 seconds', 'about 50 seconds', 'about 2 minutes', 'about 25 minutes', 'about 3 hours']
    """
    if seconds < 90:
        step = 5 if seconds < 30 else 10
        return f"about {max(step * round(seconds / step), step)} seconds"
    if seconds < 5400:
        step = 1 if seconds < 600 else 5
        return f"about {step * round(seconds / 60 / step)} minutes"
    return f"about {math.ceil(seconds / 3600)} hours"
