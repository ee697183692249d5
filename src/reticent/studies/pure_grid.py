"""What learners reach at δ = 0 on a grid of records × ε: what ``plan --pure`` is fitted to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from reticent.protect import ReleaseRequest, release_table
from reticent.protect.plan_pure import LEARNERS, WEIGHTS
from reticent.studies import losses, plan_fit, tasks
from reticent.studies.trained import Outcome, Run, Table

FEWEST_FOR_WEIGHTS: Final = 5.0
"""N·ε/((C − 1)·d): with fewer records for a weight the optimum drowns in noise, and is not tried.
"""
UNTRIED: Final = "–"


@dataclass(frozen=True, kw_only=True)
class PureGrid:
    """Every number stands here before a query is asked."""

    on: str
    sizes: tuple[int, ...]
    before: tuple[float, ...] = ()
    """For each size the accuracy without privacy, from the committed ``plan-grid`` of these data;
    where there is none, it is found as there."""
    epsilons: tuple[float, ...] = (0.5, 1.0, 3.0, 8.0)
    draws: int = 7
    seed: int = 0

    def request(self, records: int, epsilon: float, learner: str) -> ReleaseRequest:
        """Rows at norm 1; noise on the optimum is centred by a noisy mean."""
        return tasks.unit_row_request(
            epsilon=epsilon, delta=0.0, records=records, mechanism=LEARNERS[learner], mean_bound=1.0
        ).by(learner)


SPECS: Mapping[str, PureGrid] = {
    "digits": PureGrid(on="digits", sizes=(300, 1_400), before=(0.9432, 0.9572)),
    "mnist": PureGrid(on="mnist", sizes=(1_000, 10_000), before=(0.8716, 0.9144)),
    "cifar10": PureGrid(on="cifar10", sizes=(1_000, 10_000), before=(0.8494, 0.8862)),
    "adult": PureGrid(on="adult", sizes=(1_000, 10_000, 32_561), before=(0.8346, 0.85, 0.8516)),
    "location": PureGrid(on="location", sizes=(1_000, 4_000), before=(0.5865, 0.6822)),
    "shoppers": PureGrid(on="shoppers", sizes=(1_000, 7_000), before=(0.8359, 0.9347)),
    "trec": PureGrid(on="trec", sizes=(1_000, 5_452), before=(0.8460, 0.9040)),
    "mnist5k-coarse": PureGrid(on="mnist5k-coarse", sizes=(300, 1_400, 4_000)),
    "hospital100": PureGrid(on="hospital100", sizes=(3_000, 10_000), before=(0.3049, 0.3610)),
}
COLUMNS: Final = ("records", "features", "classes", "ε", "before", *LEARNERS)


def study(spec: PureGrid, run: Run) -> Outcome:
    """Learners at δ = 0 on a grid of records × ε: what `plan --pure` is fitted to.

    One table: a row for each number of records and each ε.
    """
    run.steps.plan(len(spec.sizes) * len(spec.epsilons) * len(LEARNERS))
    rows = tuple(row for place in range(len(spec.sizes)) for row in _rows(spec, place, run))
    table = Table(
        title=f"Pure ε on {spec.on}: accuracy by number of records and ε",
        columns=COLUMNS,
        rows=rows,
        notes=(
            f"Before is the best of three heads without privacy on the same records{_source(spec)}."
            f" Means of {spec.draws} draws (one of weights); δ = 0, proven. Neighbours: add-remove;"
            " unit: one record.",
            "Noise: "
            + ", ".join(f"{learner} {noise}" for learner, noise in LEARNERS.items())
            + f". Weights are tried where N·ε/((C − 1)·d) ≥ {FEWEST_FOR_WEIGHTS:g}.",
        ),
    )
    return Outcome(specifications=(spec,), tables=(table,))


def _rows(spec: PureGrid, place: int, run: Run) -> list[tuple[str, ...]]:
    records = spec.sizes[place]
    data = tasks.task(spec.on, records=records, seed=spec.seed, folder=run.folder)
    before = spec.before[place] if spec.before else _before(spec, records, data, run)
    features, classes = data.private.features.shape[1], len(data.private.classes)
    rows = []
    for epsilon in spec.epsilons:
        each = records * epsilon / ((classes - 1) * features)
        accuracies = [
            UNTRIED
            if name == WEIGHTS and each < FEWEST_FOR_WEIGHTS
            else losses.bare(
                run.cell(
                    (spec, records, epsilon, name),
                    protected_accuracy,
                    spec,
                    data,
                    spec.request(records, epsilon, name),
                ),
                4,
            )
            for name in LEARNERS
        ]
        public = (str(records), str(features), str(classes), f"{epsilon:g}")
        rows.append((*public, losses.bare(before, 4), *accuracies))
    return rows


def _source(spec: PureGrid) -> str:
    return f" (results/plan-grid-{spec.on}.json)" if spec.before else ""


def _before(spec: PureGrid, records: int, data: tasks.Task, run: Run) -> float:
    grid = plan_fit.PlanGrid(on=spec.on, sizes=spec.sizes, seed=spec.seed)
    accuracy: float = run.cell((grid, records), plan_fit.unprotected_accuracy, grid, records, data)
    return accuracy


def protected_accuracy(spec: PureGrid, data: tasks.Task, request: ReleaseRequest) -> float:
    """The mean over draws; the optimum behind "weights" is costly, and one draw has to do."""
    draws = 1 if request.recipe == WEIGHTS else spec.draws
    answers = (release_table(data.private, request).predict(data.queries) for _ in range(draws))
    return float(np.mean([np.mean(answer == data.truth) for answer in answers]))
