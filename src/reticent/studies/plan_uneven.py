"""What the learners that ``plan`` chooses reach where classes are uneven, or labels are clusters.

The cells join those of ``plan_fit``: a curve is fitted to all data sets but one, with everything
that was cut out of it, and judged on that one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reticent.arrays import Array
from reticent.guarantee import Relation
from reticent.protect import ReleaseRequest, plan, release_table
from reticent.studies import alm_fig1, losses, plan_fit, tasks, uneven_tasks
from reticent.studies.trained import Outcome, Run, Table

NAMES = (plan.NOISY_GRADIENT, plan.CLASS_MEANS)
COLUMNS = (
    "data", "records", "features", "classes", "rarest share", "ε", "before", *NAMES,
    "balanced before", *(f"balanced {name}" for name in NAMES),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class UnevenGrid:
    """Every number stands here before a query is asked."""

    sizes: Mapping[str, tuple[int, ...]]
    """Numbers of private records, by the table."""
    epsilons: tuple[float, ...] = (0.5, 1.0, 3.0)
    delta: float = 1e-5
    draws: int = 3
    penalties: tuple[float, ...] = (1e-3, 1e-4, 1e-5)
    """Of the heads without privacy."""
    seed: int = 0

    def wanted(self, records: int, epsilon: float) -> ReleaseRequest:
        """Rows at norm 1; noise on the optimum is centred by a noisy mean."""
        return tasks.unit_row_request(
            epsilon=epsilon, delta=self.delta, records=records, mean_bound=1.0
        )


SPECS: Mapping[str, UnevenGrid] = {
    "all": UnevenGrid(
        sizes={
            "adult-marital-80-15-5": (1_000, 10_000),
            "adult-work-80-15-5": (1_000, 10_000),
            "hospital-80-15-5": (1_000, 5_000),
            "mnist-80-15-5": (1_000, 5_000),
            "mnist-clusters": (1_000, 5_000),
        }
    ),
    "digits": UnevenGrid(sizes={"digits-80-15-5": (150,)}, epsilons=(1.0,), draws=2),
}


def study(spec: UnevenGrid, run: Run) -> Outcome:
    """Uneven classes, mixed columns and cluster-made labels: what `plan` is fitted to besides."""
    run.steps.plan(sum(map(len, spec.sizes.values())) * (1 + len(spec.epsilons) * len(NAMES)))
    rows = tuple(
        row
        for name, sizes in spec.sizes.items()
        for records in sizes
        for row in _rows(spec, name, records, run)
    )
    table = Table(
        title="Uneven classes and cluster-made labels: accuracy and balanced accuracy",
        columns=COLUMNS,
        rows=rows,
        notes=(
            "Before is the best of three heads without privacy by accuracy, chosen on the queries "
            f"themselves. Means of {spec.draws} draws; δ = {spec.delta:g}, Gaussian noise, proven. "
            "Neighbours: add-remove; unit: one record. 80-15-5: three classes cut to these shares.",
        ),
    )
    return Outcome(specifications=(spec,), tables=(table,))


def _rows(spec: UnevenGrid, name: str, records: int, run: Run) -> list[tuple[str, ...]]:
    data = uneven_tasks.uneven_task(name, records=records, seed=spec.seed, folder=run.folder)
    classes = data.private.classes
    rarest = float(min(np.mean(data.truth == label) for label in classes))
    before = run.cell((spec, name, records, "free"), _free, spec, records, data)
    public = (name, str(records), str(data.rows.shape[1]), str(len(classes)), f"{rarest:.4f}")
    rows = []
    for epsilon in spec.epsilons:
        after = [
            run.cell(
                (spec, name, records, epsilon, by),
                protected_accuracies,
                spec,
                records,
                data,
                epsilon,
                by,
            )
            for by in NAMES
        ]
        accuracies, balanced = (
            [losses.bare(pair[side], 4) for pair in (before, *after)] for side in (0, 1)
        )
        rows.append((*public, f"{epsilon:g}", *accuracies, *balanced))
    return rows


def _free(spec: UnevenGrid, records: int, data: tasks.Task) -> tuple[float, float]:
    """Of the best of the heads without privacy, chosen on the queries themselves."""
    requests = (spec.wanted(records, 1.0).with_options(penalty=lam) for lam in spec.penalties)
    return max(
        _scores(alm_fig1.unprotected_head(data, one).predict(data.queries), data)
        for one in requests
    )


def protected_accuracies(
    spec: UnevenGrid, records: int, data: tasks.Task, epsilon: float, name: str
) -> tuple[float, float]:
    """Accuracy and balanced accuracy of a learner, means over the draws."""
    request = spec.wanted(records, epsilon).by(name)
    answers = [
        release_table(data.private, request).predict(data.queries) for _ in range(spec.draws)
    ]
    means = np.mean([_scores(answer, data) for answer in answers], axis=0)
    return float(means[0]), float(means[1])


def _scores(answers: Array, data: tasks.Task) -> tuple[float, float]:
    """Accuracy and balanced accuracy; a class that no query has does not count."""
    correct = answers == data.truth
    recalls = [
        correct[data.truth == label].mean()
        for label in data.private.classes
        if (data.truth == label).any()
    ]
    return float(correct.mean()), float(np.mean(recalls))


def uneven_cells(result: Mapping[str, Any]) -> list[plan_fit.Cell]:
    """The rows of the result that ``reproduce beyond plan-uneven --out`` wrote."""
    (spec,), (table,) = result["specifications"], result["tables"]
    if tuple(table["columns"]) != COLUMNS:
        raise ValueError(f"columns must be {COLUMNS}, got {table['columns']}")
    return [_cell(spec["delta"], row) for row in table["rows"]]


def _cell(delta: float, row: Sequence[str]) -> plan_fit.Cell:
    on, (records, features, classes) = row[0], map(int, row[1:4])
    share, epsilon, before = map(float, row[4:7])
    after = dict(zip(NAMES, map(float, row[7 : 7 + len(NAMES)]), strict=True))
    situation = plan.Situation(
        records=records,
        features=features,
        classes=classes,
        epsilon=epsilon,
        delta=delta,
        relation=Relation.ADD_REMOVE,
        prototypes=on in plan_fit.PROTOTYPES,
        rarest_share=share,
    )
    return plan_fit.Cell(on=on, situation=situation, before=before, after=after)
