"""Learners with the noise inside beside noise on the optimum: accuracy at equal (ε, δ), proven."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reticent.protect import ReleaseRequest, release_table, table
from reticent.studies import alm_fig1, losses, settled
from reticent.studies.tasks import Task, task, unit_row_request
from reticent.studies.trained import Outcome, Run, Table

ALL = ("noisy-gradient", "class-means", "lda", "adassp", table.WEIGHTS)


@dataclass(frozen=True, kw_only=True)
class Learners:
    """Every number is public and was chosen before a query was asked."""

    on: str
    records: int
    plan: tuple[tuple[float, tuple[str, ...]], ...] = (
        (0.5, ("noisy-gradient",)),
        (1.0, ALL),
        (3.0, ("noisy-gradient",)),
        (8.0, ("noisy-gradient",)),
    )
    """Each ε with the learners that are asked for it."""
    delta: float = 1e-5
    draws: int = 5
    penalties: tuple[float, ...] = (1e-4, 1e-5)
    """Of the heads without privacy."""
    seed: int = 0

    def wanted(self, epsilon: float) -> ReleaseRequest:
        """Rows at norm 1; noise on the optimum is centred by a noisy mean."""
        return unit_row_request(
            epsilon=epsilon, delta=self.delta, records=self.records, mean_bound=1.0
        )


SPECS: Mapping[str, tuple[Learners, ...]] = {
    "digits": (Learners(on="digits", records=1_400),),
    "mnist5k": (Learners(on="mnist5k", records=4_000),),
    "cifar10": (
        Learners(on="cifar10", records=50_000, penalties=(3e-6,)),
        Learners(on="cifar10", records=10_000, penalties=(1e-4,), plan=((1.0, ALL),)),
    ),
    "mnist": (Learners(on="mnist", records=60_000, penalties=(1e-5,)),),
    "adult": (Learners(on="adult", records=32_561),),
    "location": (Learners(on="location", records=4_000),),
    "hospital100": (
        Learners(
            on="hospital100",
            records=20_000,
            penalties=(1e-5,),
            plan=((0.5, ALL[:1]), (1.0, ALL[:-1]), (3.0, ALL[:1]), (8.0, ALL[:1])),
        ),
    ),
    "trec": (Learners(on="trec", records=5_452),),
}


def study(specs: tuple[Learners, ...], run: Run) -> Outcome:
    """Learners with the noise inside beside noise on the optimum, proven.

    One table for each number of records.
    """
    cells = (1 + spec.draws * sum(len(names) for _, names in spec.plan) for spec in specs)
    run.steps.plan(sum(cells))
    return Outcome(specifications=specs, tables=tuple(_table(spec, run) for spec in specs))


def _table(spec: Learners, run: Run) -> Table:
    data = task(spec.on, records=spec.records, seed=spec.seed, folder=run.folder)
    free = run.cell((spec, "free"), _free, spec, data)
    cells = [
        run.cell(
            (spec, epsilon, name), _drawn, spec, data, epsilon, name, free, run, steps=spec.draws
        )
        for epsilon, names in spec.plan
        for name in names
    ]
    return _shown(spec, data, losses.rows_of([cells]), free)


def _free(spec: Learners, data: Task) -> dict[str, Any]:
    """The best of the heads without privacy, chosen on the queries themselves."""
    heads = []
    for penalty in spec.penalties:
        head = alm_fig1.unprotected_head(data, spec.wanted(1.0).with_options(penalty=penalty))
        answers = head.predict(data.queries)
        heads.append((float(np.mean(answers == data.truth)), penalty, answers.tolist()))
    accuracy, penalty, answers = max(heads)
    return {"accuracy": accuracy, "penalty": penalty, "answers": answers}


def _drawn(
    spec: Learners, data: Task, epsilon: float, name: str, free: dict[str, Any], run: Run
) -> dict[str, Any]:
    request = spec.wanted(epsilon)
    released, answers = None, []
    for _ in range(spec.draws):
        released = release_table(data.private, request.by(name))
        answers.append(released.predict(data.queries))
        run.steps.step()
    assert released is not None
    claim = losses.Claim.of(released.guarantee, name)
    row = losses.loss_row(claim, answers, unprotected=np.asarray(free["answers"]), truth=data.truth)
    return row.plain()


def _shown(spec: Learners, data: Task, rows: list[losses.LossRow], free: dict[str, Any]) -> Table:
    width = data.rows.shape[1]
    return Table(
        title=f"Learners on {spec.on}: {spec.records:,} private records, {width:,} features",
        columns=(*losses.CLAIMED, *losses.MEASURED, "std"),
        rows=tuple(
            (*row.claimed(), *row.measured(), losses.bare(row.std, 4))
            for row in (
                replace(row, grade=settled.grade_of(row.grade, spec.on, row.mechanism))
                for row in rows
            )
        ),
        notes=(
            f"Before is the best of {len(spec.penalties)} heads without privacy on the same rows, "
            f"λ = {free['penalty']:g}, chosen on the queries themselves.",
            "Mechanism names the learner; all noise is Gaussian. Neighbours: add-remove; unit: one "
            "record. weights is noise on the optimum of a softmax head, centred by a noisy mean.",
            f"{spec.draws} draws a row. {losses.READING} Std is that of after between the draws.",
            *settled.note(spec.on, (row.mechanism for row in rows)),
        ),
    )
