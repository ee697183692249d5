"""A published table as its publisher writes it, by one schema: accuracy at a proven (ε, δ)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reticent.data import Dataset, Schema, read_by_schema
from reticent.data.folder import find
from reticent.guarantee import Relation
from reticent.protect import ReleaseRequest, release_table
from reticent.studies import alm_fig1, losses
from reticent.studies.tasks import Task
from reticent.studies.trained import Outcome, Run, Table


@dataclass(frozen=True, kw_only=True)
class RawTable:
    """Every number is public and was fixed before a record was read; N and R are the schema's."""

    on: str
    files: tuple[str, str]
    get: str
    epsilons: tuple[float, ...] = (0.5, 1.0, 3.0)
    learner: str = "noisy-gradient"
    delta: float = 1e-5
    draws: int = 5
    penalties: tuple[float, ...] = (1e-4, 1e-5)
    """Of the heads without privacy."""


SPECS: Mapping[str, RawTable] = {
    "adult": RawTable(
        on="adult",
        files=("adult/adult.data", "adult/adult.test"),
        get="the UCI data set 'Adult' by Becker and Kohavi (adult.zip)",
    )
}


def study(spec: RawTable, run: Run) -> Outcome:
    """A publisher's own files by one schema: text columns, gaps and all, proven."""
    run.steps.plan(1 + spec.draws * len(spec.epsilons))
    schema = Schema.example(spec.on)
    data = _task(spec, schema, run.folder)
    key = (spec, schema.sha256)
    free = run.cell((key, "free"), _free, spec, data)
    cells = [
        run.cell((key, epsilon), _drawn, spec, data, epsilon, free, run, steps=spec.draws)
        for epsilon in spec.epsilons
    ]
    rows = losses.rows_of([cells])
    table = Table(
        title=f"{spec.on}, its publisher's files by one schema: {len(schema.columns)} columns,"
        f" {len(schema.names)} features",
        columns=(*losses.CLAIMED, *losses.MEASURED, "std"),
        rows=tuple((*row.claimed(), *row.measured(), losses.bare(row.std, 4)) for row in rows),
        notes=(
            f"All {len(data.private):,} records of {Path(spec.files[0]).name}; N = {schema.records}"
            f" is the schema's, whose sha256 is {schema.sha256[:16]}….",
            f"Before is the best of {len(spec.penalties)} heads without privacy on the same rows, "
            f"λ = {free['penalty']:g}, chosen on the queries themselves.",
            "Mechanism names the learner; all noise is Gaussian. Neighbours: add-remove; unit: one "
            "record.",
            f"{spec.draws} draws a row. {losses.READING} Std is that of after between the draws.",
            *(f"Stated: {line}." for line in schema.stated[1:]),
        ),
    )
    return Outcome(specifications=(spec,), tables=(table,))


def _task(spec: RawTable, schema: Schema, folder: Path | None) -> Task:
    private, queries = (_read(spec, name, schema, folder) for name in spec.files)
    assert queries.labels is not None
    return Task(
        private=private,
        queries=queries.features.astype(np.float64),
        truth=np.asarray(queries.classes)[queries.labels],
    )


def _read(spec: RawTable, name: str, schema: Schema, folder: Path | None) -> Dataset:
    from reticent.data import data_folder

    return read_by_schema(find(data_folder(folder), [name], get=spec.get), schema)


def _request(spec: RawTable, epsilon: float, data: Task) -> ReleaseRequest:
    schema = data.private.schema
    assert schema is not None
    assert schema.records is not None
    return ReleaseRequest.of(
        epsilon=epsilon,
        delta=spec.delta,
        relation=Relation.ADD_REMOVE,
        records=schema.records,
        recipe=spec.learner,
    )


def _free(spec: RawTable, data: Task) -> dict[str, Any]:
    """The best of the heads without privacy, rows at norm 1, chosen on the queries themselves."""
    heads = []
    asked = _request(spec, 1.0, data).by("weights")
    for penalty in spec.penalties:
        options = {"penalty": penalty, "bound": 1.0, "norms": "scale", "intercept": 0.1}
        head = alm_fig1.unprotected_head(data, asked.with_options(**options))
        answers = head.predict(data.queries)
        heads.append((float(np.mean(answers == data.truth)), penalty, answers.tolist()))
    accuracy, penalty, answers = max(heads)
    return {"accuracy": accuracy, "penalty": penalty, "answers": answers}


def _drawn(
    spec: RawTable, data: Task, epsilon: float, free: dict[str, Any], run: Run
) -> dict[str, Any]:
    released, answers = None, []
    for _ in range(spec.draws):
        released = release_table(data.private, _request(spec, epsilon, data))
        answers.append(released.predict(data.queries))
        run.steps.step()
    assert released is not None
    claim = losses.Claim.of(released.guarantee, spec.learner)
    row = losses.loss_row(claim, answers, unprotected=np.asarray(free["answers"]), truth=data.truth)
    return row.plain()
