"""A linear head on MNIST pixels at (ε, δ) = (1, 10⁻⁵), and at δ = 0: every mechanism, proven."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from reticent.guarantee import Relation, rounding
from reticent.protect import ReleaseRequest, release_table
from reticent.studies import alm_fig1, losses, tasks
from reticent.studies.trained import Outcome, Run, Table
from reticent.training.features import Norms


@dataclass(frozen=True, kw_only=True)
class Mnist:
    """Every number is public and was chosen before a query was asked."""

    on: str = "mnist"
    records: int = 60_000
    seed: int = 0
    epsilon: float = 1.0
    delta: float = 1e-5
    bound: float = 6.0
    mean_bound: float = 10.0
    intercept: float = 0.1
    norms: Norms = "clip"
    approximate: tuple[str, ...] = ("gaussian", "logistic")
    pure: tuple[str, ...] = ("logistic", "laplace", "l2-laplace")
    draws: int = 10
    penalties: tuple[float, ...] = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    """Of the heads without privacy."""

    @property
    def releases(self) -> list[ReleaseRequest]:
        """What is asked of each mechanism; the penalty follows from its own public numbers."""
        asked = [(name, self.delta) for name in self.approximate]
        asked += [(name, 0.0) for name in self.pure]
        return [
            ReleaseRequest.of(
                epsilon=self.epsilon,
                delta=delta,
                relation=Relation.ADD_REMOVE,
                records=self.records,
                bound=self.bound,
                mechanism=name,
                intercept=self.intercept,
                norms=self.norms,
                mean_bound=self.mean_bound,
            )
            for name, delta in asked
        ]


SPECS: Mapping[str, Mnist] = {"mnist": Mnist(), "mnist5k": Mnist(on="mnist5k", records=4_000)}


def study(spec: Mnist, run: Run) -> Outcome:
    """A head on MNIST pixels at ε = 1, every mechanism proven.

    The heads without privacy first: the best of them is what the losses are relative to.
    """
    run.steps.plan(len(spec.penalties) + len(spec.releases) * (1 + spec.draws))
    data = tasks.task(spec.on, records=spec.records, seed=spec.seed, folder=run.folder)
    free = [run.cell((spec, penalty), _free, spec, data, penalty) for penalty in spec.penalties]
    best = max(free, key=lambda cell: cell["accuracy"])
    rows = []
    for request in spec.releases:
        drawn = (spec, data, request, best, run)
        cell = run.cell((spec, request), _drawn, *drawn, steps=1 + spec.draws)
        rows.append((losses.LossRow(**cell["row"]), cell["penalty"]))
    return Outcome(specifications=(spec,), tables=(_table(spec, free, best, rows),))


def _free(spec: Mnist, data: tasks.Task, penalty: float) -> dict[str, Any]:
    """A head without privacy, at its certified optimum."""
    head = alm_fig1.unprotected_head(data, spec.releases[0].with_options(penalty=penalty))
    answers = head.predict(data.queries)
    accuracy = float(np.mean(answers == data.truth))
    return {"penalty": penalty, "accuracy": accuracy, "answers": answers.tolist()}


def _drawn(
    spec: Mnist, data: tasks.Task, wanted: ReleaseRequest, best: dict[str, Any], run: Run
) -> dict[str, Any]:
    """Whole releases, mean and weights, from the start each time."""
    near = alm_fig1.unprotected_head(
        data, wanted
    )  # where the search starts: it decides the time alone
    run.steps.step()
    by_zcdp = wanted.mechanism == "logistic" and wanted.terms.delta > 0
    name = f"{wanted.mechanism} by zCDP" if by_zcdp else wanted.mechanism
    draws: losses.Drawn = {}
    for _ in range(spec.draws):
        released = release_table(data.private, wanted, start=near.coordinates_)
        claim = losses.Claim.of(released.guarantee, name)
        draws.setdefault(claim, []).append(released.predict(data.queries))
        run.steps.step()
    ((claim, answers),) = draws.items()
    row = losses.loss_row(claim, answers, unprotected=np.asarray(best["answers"]), truth=data.truth)
    return {"row": row.plain(), "penalty": near.penalty}


def _table(
    spec: Mnist,
    free: list[dict[str, Any]],
    best: dict[str, Any],
    rows: list[tuple[losses.LossRow, float]],
) -> Table:
    chosen = ", ".join(f"{row.mechanism} {rounding.scale_text(penalty)}" for row, penalty in rows)
    grid = ", ".join(f"{cell['accuracy']:.4f} at {cell['penalty']:g}" for cell in free)
    return Table(
        title=f"A head on {spec.on} pixels: {spec.records:,} private records",
        columns=(*losses.CLAIMED, *losses.MEASURED, "std"),
        rows=tuple((*row.claimed(), *row.measured(), losses.bare(row.std, 4)) for row, _ in rows),
        notes=(
            f"Before is the best of {len(free)} heads without privacy, λ = "
            f"{best['penalty']:g}, chosen on the queries themselves; each at its certified "
            f"optimum, with the same bound and the exact mean: {grid}.",
            f"Neighbours: add-remove; unit: one record; N = {spec.records:,} public. A draw "
            f"releases a noisy mean (rows clipped to {spec.mean_bound:g}, share of the budget from "
            f"mean_share), fits on rows centred by it (norms {spec.norms} {spec.bound:g}, "
            f"intercept {spec.intercept:g}) and releases the weights: ε covers both.",
            f"Penalties, from public_penalty with the mechanism's own name: {chosen}.",
            f"{spec.draws} draws a row. {losses.READING} Std is that of after between the draws.",
        ),
    )
