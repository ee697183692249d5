"""What every learner reaches on a grid of records × ε, and how well ``plan`` predicts it.

The curve of the loss is fitted to all data sets but one and judged on that one; what is shipped is
fitted to all of them.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from reticent.arrays import Floats
from reticent.guarantee import Relation
from reticent.protect import ReleaseRequest, plan, release_table
from reticent.protect.table import WEIGHTS
from reticent.studies.alm_fig1 import unprotected_head
from reticent.studies.losses import bare
from reticent.studies.tasks import Task, task, unit_row_request
from reticent.studies.trained import Outcome, Run, Table


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
        return unit_row_request(epsilon=epsilon, delta=self.delta, records=records, mean_bound=1.0)


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
    """Every learner on a grid of records × ε: what `plan` is fitted to.

    One table: a row for each number of records and each ε.
    """
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
    before = run.cell((spec, records, "free"), unprotected_accuracy, spec, records, data)
    rows = []
    for epsilon in spec.epsilons:
        accuracies = [
            run.cell(
                (spec, records, epsilon, name),
                protected_accuracy,
                spec,
                records,
                data,
                epsilon,
                name,
            )
            for name in NAMES
        ]
        public = (str(records), str(data.rows.shape[1]), str(len(data.private.classes)))
        texts = (bare(value, 4) for value in (before, *accuracies))
        rows.append((*public, f"{epsilon:g}", *texts))
    return rows


def unprotected_accuracy(spec: PlanGrid, records: int, data: Task) -> float:
    """The best of the heads without privacy, chosen on the queries themselves."""
    return max(
        float(np.mean(unprotected_head(data, request).predict(data.queries) == data.truth))
        for request in (
            spec.wanted(records, 1.0).with_options(penalty=lam) for lam in spec.penalties
        )
    )


def protected_accuracy(
    spec: PlanGrid, records: int, data: Task, epsilon: float, name: str
) -> float:
    """The mean over draws; the optimum behind "weights" is costly, and one draw has to do."""
    request, draws = spec.wanted(records, epsilon), 1 if name == WEIGHTS else spec.draws
    answers = (
        release_table(data.private, request.by(name)).predict(data.queries) for _ in range(draws)
    )
    return float(np.mean([np.mean(answer == data.truth) for answer in answers]))


PROTOTYPES = frozenset({"location", "shoppers", "mnist-clusters"})
"""Data whose labels were made by clustering the features."""
RAREST = {
    "adult": 0.24,
    "hospital100": 0.0016,
    "location": 0.019,
    "shoppers": 0.021,
    "trec": 0.016,
}
"""About the share of the rarest class, as the publishers' files have it; of the others all classes
are about equally large."""
_COVERED = 0.9
"""The share of residuals, each of a data set that was left out, within half the range."""
_LEAST, _MOST = 0.002, 0.98


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One data set, number of records and ε: what each learner reached."""

    on: str
    situation: plan.Situation
    before: float
    after: Mapping[str, float]

    @property
    def source(self) -> str:
        """The data set that the table was cut out of: a curve that is judged here saw none of it.

        >>> [source_of(on) for on in ("mnist-80-15-5", "adult-work-80-15-5", "hospital-80-15-5")]
        ['mnist', 'adult', 'hospital100']
        """
        return source_of(self.on)

    @property
    def choice(self) -> str:
        """What plan says, told how the labels were made."""
        return plan.plan(self.situation).learner

    @property
    def regret(self) -> float:
        """What the choice loses against the best with hindsight, in accuracy."""
        return max(self.after.values()) - self.after[self.choice]

    def loss(self, learner: str) -> float:
        """The utility loss 1 − after/before of the cell."""
        return 1 - self.after[learner] / self.before


def source_of(on: str) -> str:
    """The data set behind a table, by its name."""
    first = on.partition("-")[0]
    return {"hospital": "hospital100"}.get(first, first)


def cells_of(results: Iterable[Mapping[str, Any]]) -> list[Cell]:
    """The rows of results that ``reproduce beyond plan-grid --out`` wrote."""
    cells = []
    for result in results:
        (spec,), (table,) = result["specifications"], result["tables"]
        if tuple(table["columns"]) != COLUMNS:
            raise ValueError(f"columns must be {COLUMNS}, got {table['columns']}")
        cells += [_cell(spec["on"], spec["delta"], row) for row in table["rows"]]
    return cells


def _cell(on: str, delta: float, row: Sequence[str]) -> Cell:
    records, features, classes = (int(value) for value in row[:3])
    epsilon, before, *after = (float(value) for value in row[3:])
    return Cell(
        on=on,
        situation=plan.Situation(
            records=records,
            features=features,
            classes=classes,
            epsilon=epsilon,
            delta=delta,
            relation=Relation.ADD_REMOVE,
            prototypes=on in PROTOTYPES,
            rarest_share=RAREST.get(on),
        ),
        before=before,
        after=dict(zip(COLUMNS[5:], after, strict=True)),
    )


def fitted(cells: Sequence[Cell], learner: str = plan.NOISY_GRADIENT) -> plan.LossCurve:
    """Least squares on logits; the width from data sets that were left out one at a time."""
    constant, slope, rarest = _slopes(cells, learner)
    left_out = [
        np.abs(_residuals(_slopes(_others(cells, source), learner), _own(cells, source), learner))
        for source in sources_of(cells)
        if _others(cells, source)
    ]
    half = float(np.quantile(np.concatenate(left_out), _COVERED)) if left_out else 0.0
    return plan.LossCurve(
        constant=float(constant), slope=float(slope), rarest=float(rarest), half=half
    )


def clustered(cells: Sequence[Cell]) -> list[Cell]:
    """Those where plan chooses class means, told that labels are clusters."""
    return [cell for cell in cells if cell.choice == plan.CLASS_MEANS]


def curves_of(cells: Sequence[Cell]) -> dict[str, plan.LossCurve]:
    """The curves of noisy gradients, on all cells, and of class means, where they are chosen."""
    means = clustered(cells)
    curves = {plan.NOISY_GRADIENT: fitted(cells)}
    return curves | ({plan.CLASS_MEANS: fitted(means, plan.CLASS_MEANS)} if means else {})


def left_out_ranges(cells: Sequence[Cell]) -> dict[str, dict[str, plan.LossCurve]]:
    """For each data set the curves that saw neither it nor what was cut out of it."""
    return {source: curves_of(_others(cells, source)) for source in sources_of(cells)}


def predictions(cells: Sequence[Cell]) -> list[plan.LossRange]:
    """The range of the loss of the choice in each cell, by curves that never saw its data."""
    curves = left_out_ranges(cells)
    return [plan.predicted_loss(one.situation, curves[one.source][one.choice]) for one in cells]


def covered(cells: Sequence[Cell]) -> list[bool]:
    """Whether the range holds the measured loss, for each cell."""
    pairs = zip(cells, predictions(cells), strict=True)
    return [_covers(predicted, cell.loss(cell.choice)) for cell, predicted in pairs]


def judged(cells: Sequence[Cell]) -> Table:
    """Choice, regret, predicted and measured loss of every cell, and both bars in the notes."""
    held = covered(cells)
    regrets = [cell.regret for cell in cells]
    untold = [
        max(cell.after.values()) - cell.after[plan.NOISY_GRADIENT]
        for cell in cells
        if cell.choice == plan.CLASS_MEANS
    ]
    uneven = [one for cell, one in zip(cells, held, strict=True) if _is_uneven(cell)]
    return Table(
        title="plan: its choice beside the best with hindsight, and the loss it predicts",
        columns=("data", "records", "ε", "signal", "rarest", "choice", "regret", "predicted",
                 "loss", "in"),
        rows=tuple(map(_row, cells, predictions(cells), held)),
        notes=(
            f"Regret: {np.mean(regrets):.4f} on average, {max(regrets):.4f} at worst, in accuracy, "
            f"over {len(cells)} cells of {len(sources_of(cells))} data sets.",
            f"The predicted range held the loss of the choice in {sum(held)} of {len(cells)} "
            "cells; each range was fitted without its own data set, and without everything that "
            "was cut out of it.",
            f"Of the {len(uneven)} cells with uneven classes, mixed columns or cluster-made labels "
            f"it held the loss in {sum(uneven)}.",
            "The labels of location, shoppers and mnist-clusters were made by clustering, and plan "
            f"was told so (--prototypes). Untold it would lose up to {max(untold, default=0.0):.4f}"
            " there.",
        ),
    )  # fmt: skip


def _is_uneven(cell: Cell) -> bool:
    """Adult has mixed columns; the others by their rarest class or their labels' making."""
    return cell.situation.prototypes or cell.situation.evenness < 0.5 or cell.source == "adult"


def _row(cell: Cell, predicted: plan.LossRange, held: bool) -> tuple[str, ...]:
    share = cell.situation.rarest_share
    return (
        cell.on,
        str(cell.situation.records),
        f"{cell.situation.epsilon:g}",
        f"{cell.situation.signal:.2f}",
        "–" if share is None else f"{share:g}",
        cell.choice,
        bare(cell.regret, 4),
        f"{predicted.low:.3f}–{predicted.high:.3f}",
        bare(cell.loss(cell.choice), 3),
        "yes" if held else "no",
    )


def _covers(predicted: plan.LossRange, loss: float) -> bool:
    """A gain counts as no loss."""
    return predicted.low <= max(loss, _LEAST) <= predicted.high


def sources_of(cells: Sequence[Cell]) -> list[str]:
    """The data sets, each once."""
    return sorted({cell.source for cell in cells})


def _own(cells: Sequence[Cell], source: str) -> list[Cell]:
    return [cell for cell in cells if cell.source == source]


def _others(cells: Sequence[Cell], source: str) -> list[Cell]:
    return [cell for cell in cells if cell.source != source]


def _slopes(cells: Sequence[Cell], learner: str) -> Floats:
    """Constant, slope and what the rarest class adds: 0 for class means, from too few data sets."""
    logs = _logs(cells)[:, : 3 if learner == plan.NOISY_GRADIENT else 2]
    slopes, *_ = np.linalg.lstsq(logs, _logits(cells, learner), rcond=None)
    return np.append(slopes, np.zeros(3 - len(slopes)))


def _residuals(slopes: Floats, cells: Sequence[Cell], learner: str) -> Floats:
    return np.asarray(_logits(cells, learner) - _logs(cells) @ slopes)


def _logs(cells: Sequence[Cell]) -> Floats:
    numbers = [(min(one.situation.signal, plan.LARGEST_SIGNAL), one.situation.evenness)
               for one in cells]  # fmt: skip
    return np.array([(1.0, math.log(signal), math.log(even)) for signal, even in numbers])


def _logits(cells: Sequence[Cell], learner: str) -> Floats:
    losses = np.clip([cell.loss(learner) for cell in cells], _LEAST, _MOST)
    return np.asarray(np.log(losses / (1 - losses)))
