"""How well ``plan`` chooses and predicts, from the grids that ``plan-grid`` measured.

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
from reticent.protect.plan import (
    CLASS_MEANS,
    LARGEST_SIGNAL,
    NOISY_GRADIENT,
    LossCurve,
    LossRange,
    Situation,
    plan,
    predicted_loss,
)
from reticent.results.table import Table
from reticent.studies.losses import bare
from reticent.studies.plan_grid import COLUMNS

PROTOTYPES = frozenset({"location", "shoppers"})
"""Data whose labels their publishers made by clustering the features."""
_COVERED = 0.9
"""The share of residuals, each of a data set that was left out, within half the range."""
_LEAST, _MOST = 0.002, 0.98


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One data set, number of records and ε: what each learner reached."""

    on: str
    situation: Situation
    before: float
    after: Mapping[str, float]

    @property
    def choice(self) -> str:
        """What plan says, told how the labels were made."""
        return plan(self.situation).learner

    @property
    def regret(self) -> float:
        """What the choice loses against the best with hindsight, in accuracy."""
        return max(self.after.values()) - self.after[self.choice]

    def loss(self, learner: str) -> float:
        """The utility loss 1 − after/before of the cell."""
        return 1 - self.after[learner] / self.before


def cells_of(results: Iterable[Mapping[str, Any]]) -> list[Cell]:
    """The rows of results that ``reproduce beyond plan-grid --out`` wrote."""
    found = []
    for result in results:
        (spec,), (table,) = result["specifications"], result["tables"]
        if tuple(table["columns"]) != COLUMNS:
            raise ValueError(f"columns must be {COLUMNS}, got {table['columns']}")
        found += [_cell(spec["on"], spec["delta"], row) for row in table["rows"]]
    return found


def _cell(on: str, delta: float, row: Sequence[str]) -> Cell:
    records, features, classes = (int(value) for value in row[:3])
    epsilon, before, *after = (float(value) for value in row[3:])
    return Cell(
        on=on,
        situation=Situation(
            records=records,
            features=features,
            classes=classes,
            epsilon=epsilon,
            delta=delta,
            relation=Relation.ADD_REMOVE,
            prototypes=on in PROTOTYPES,
        ),
        before=before,
        after=dict(zip(COLUMNS[5:], after, strict=True)),
    )


def fitted(cells: Sequence[Cell]) -> LossCurve:
    """Least squares on logits; the width from data sets that were left out one at a time."""
    constant, slope = _slopes(cells)
    left_out = np.concatenate([np.abs(_residuals(*_without(cells, on))) for on in _names(cells)])
    half = float(np.quantile(left_out, _COVERED))
    return LossCurve(constant=float(constant), slope=float(slope), half=half)


def left_out_ranges(cells: Sequence[Cell]) -> dict[str, LossCurve]:
    """For each data set the curve that never saw it."""
    return {on: fitted([cell for cell in cells if cell.on != on]) for on in _names(cells)}


def judged(cells: Sequence[Cell]) -> Table:
    """Choice, regret, predicted and measured loss of every cell, and both bars in the notes."""
    curves = left_out_ranges(cells)
    ranges = [predicted_loss(cell.situation, curves[cell.on]) for cell in cells]
    covered = [
        _covers(predicted, cell.loss(NOISY_GRADIENT))
        for cell, predicted in zip(cells, ranges, strict=True)
    ]
    regrets = [cell.regret for cell in cells]
    untold = [
        max(cell.after.values()) - cell.after[NOISY_GRADIENT]
        for cell in cells
        if cell.choice == CLASS_MEANS
    ]
    return Table(
        title="plan: its choice beside the best with hindsight, and the loss it predicts",
        columns=("data", "records", "ε", "signal", "choice", "regret", "predicted", "loss", "in"),
        rows=tuple(map(_row, cells, ranges, covered)),
        notes=(
            f"Regret: {np.mean(regrets):.4f} on average, {max(regrets):.4f} at worst, in accuracy, "
            f"over {len(cells)} cells of {len(_names(cells))} data sets.",
            f"The predicted range held the loss of noisy gradients in {sum(covered)} of "
            f"{len(cells)} cells; each range was fitted without its own data set.",
            "The labels of location and shoppers were made by clustering, and plan was told so "
            f"(--prototypes). Untold it would lose up to {max(untold, default=0.0):.4f} there.",
        ),
    )


def _row(cell: Cell, predicted: LossRange, covered: bool) -> tuple[str, ...]:
    return (
        cell.on,
        str(cell.situation.records),
        f"{cell.situation.epsilon:g}",
        f"{cell.situation.signal:.2f}",
        cell.choice,
        bare(cell.regret, 4),
        f"{predicted.low:.3f}–{predicted.high:.3f}",
        bare(cell.loss(NOISY_GRADIENT), 3),
        "yes" if covered else "no",
    )


def _covers(predicted: LossRange, loss: float) -> bool:
    """A gain counts as no loss."""
    return predicted.low <= max(loss, _LEAST) <= predicted.high


def _names(cells: Sequence[Cell]) -> list[str]:
    return sorted({cell.on for cell in cells})


def _without(cells: Sequence[Cell], on: str) -> tuple[Floats, list[Cell]]:
    kept = [cell for cell in cells if cell.on != on]
    return _slopes(kept), [cell for cell in cells if cell.on == on]


def _slopes(cells: Sequence[Cell]) -> Floats:
    found, *_ = np.linalg.lstsq(_logs(cells), _logits(cells), rcond=None)
    return np.asarray(found, dtype=np.float64)


def _residuals(slopes: Floats, cells: Sequence[Cell]) -> Floats:
    return np.asarray(_logits(cells) - _logs(cells) @ slopes)


def _logs(cells: Sequence[Cell]) -> Floats:
    signals = (min(cell.situation.signal, LARGEST_SIGNAL) for cell in cells)
    return np.array([(1.0, math.log(signal)) for signal in signals])


def _logits(cells: Sequence[Cell]) -> Floats:
    losses = np.clip([cell.loss(NOISY_GRADIENT) for cell in cells], _LEAST, _MOST)
    return np.asarray(np.log(losses / (1 - losses)))
