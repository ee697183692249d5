"""What every learner reaches on a grid of records × ε: what ``plan`` is fitted to and judged by."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from reticent.guarantee import Relation
from reticent.protect import ReleaseRequest, release_table
from reticent.protect.table import WEIGHTS
from reticent.results.table import Table
from reticent.studies.alm_fig1 import unprotected_head
from reticent.studies.losses import bare
from reticent.studies.tasks import Task, task
from reticent.studies.trained import Outcome, Run


@dataclass(frozen=True, kw_only=True)
class PlanGrid:
    """Every number stands here before a query is asked."""

    on: str
    sizes: tuple[int, ...]
    epsilons: tuple[float, ...] = (0.5, 1.0, 3.0, 8.0)
    delta: float = 1e-5
    draws: int = 5
    penalties: tuple[float, ...] = (1e-3, 1e-4, 1e-5)
    """Of the heads without privacy."""
    seed: int = 0

    def wanted(self, records: int, epsilon: float) -> ReleaseRequest:
        """Rows at norm 1; noise on the optimum is centred by a noisy mean."""
        return ReleaseRequest.of(
            epsilon=epsilon,
            delta=self.delta,
            relation=Relation.ADD_REMOVE,
            records=records,
            bound=1.0,
            norms="scale",
            intercept=0.1,
            mean_bound=1.0,
        )


SPECS: Mapping[str, PlanGrid] = {
    "digits": PlanGrid(on="digits", sizes=(300, 1_400)),
    "mnist": PlanGrid(on="mnist", sizes=(1_000, 10_000)),
    "cifar10": PlanGrid(on="cifar10", sizes=(1_000, 10_000)),
    "adult": PlanGrid(on="adult", sizes=(1_000, 10_000, 32_561)),
    "trec": PlanGrid(on="trec", sizes=(1_000, 5_452)),
    "hospital100": PlanGrid(on="hospital100", sizes=(3_000, 10_000)),
    "location": PlanGrid(on="location", sizes=(1_000, 4_000)),
    "shoppers": PlanGrid(on="shoppers", sizes=(1_000, 7_000)),
}
NAMES = (WEIGHTS, "noisy-gradient", "class-means", "adassp", "lda")
COLUMNS = ("records", "features", "classes", "ε", "before", *NAMES)


def study(spec: PlanGrid, run: Run) -> Outcome:
    """One table: a row for each number of records and each ε."""
    run.steps.plan(len(spec.sizes) * (1 + len(spec.epsilons) * len(NAMES)))
    rows = tuple(row for records in spec.sizes for row in _rows(spec, records, run))
    table = Table(
        title=f"Learners on {spec.on}: accuracy by number of records and ε",
        columns=COLUMNS,
        rows=rows,
        notes=(
            "Before is the best of three heads without privacy, chosen on the queries themselves. "
            f"Means of {spec.draws} draws (one of weights); δ = {spec.delta:g}, Gaussian noise, "
            "proven. Neighbours: add-remove; unit: one record.",
        ),
    )
    return Outcome(specifications=(spec,), tables=(table,))


def _rows(spec: PlanGrid, records: int, run: Run) -> list[tuple[str, ...]]:
    data = task(spec.on, records=records, seed=spec.seed, folder=run.folder)
    before = run.cells.get((spec, records, "free"), partial(_free, spec, records, data))
    run.steps.step()
    found = []
    for epsilon in spec.epsilons:
        accuracies = []
        for name in NAMES:
            compute = partial(_accuracy, spec, records, data, epsilon, name)
            accuracies.append(run.cells.get((spec, records, epsilon, name), compute))
            run.steps.step()
        public = (str(records), str(data.rows.shape[1]), str(len(data.private.classes)))
        texts = (bare(value, 4) for value in (before, *accuracies))
        found.append((*public, f"{epsilon:g}", *texts))
    return found


def _free(spec: PlanGrid, records: int, data: Task) -> float:
    """The best of the heads without privacy, chosen on the queries themselves."""
    return max(
        float(np.mean(unprotected_head(data, wanted).predict(data.queries) == data.truth))
        for wanted in (
            spec.wanted(records, 1.0).with_options(penalty=lam) for lam in spec.penalties
        )
    )


def _accuracy(spec: PlanGrid, records: int, data: Task, epsilon: float, name: str) -> float:
    """The mean over draws; the optimum behind "weights" is costly, and one draw has to do."""
    wanted, draws = spec.wanted(records, epsilon), 1 if name == WEIGHTS else spec.draws
    answers = (
        release_table(data.private, wanted.by(name)).predict(data.queries) for _ in range(draws)
    )
    return float(np.mean([np.mean(answer == data.truth) for answer in answers]))
