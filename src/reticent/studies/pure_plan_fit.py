"""How well ``plan --pure`` chooses and predicts: fitted to all data sets but one, judged on it."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from reticent.arrays import Floats
from reticent.guarantee import Relation
from reticent.protect import plan_pure
from reticent.protect.plan import LARGEST_SIGNAL, LossCurve, LossRange, Situation
from reticent.results.table import Table
from reticent.studies.losses import bare
from reticent.studies.plan_fit import PROTOTYPES
from reticent.studies.pure_grid import COLUMNS, UNTRIED

COVERED: Final = 0.9
_LEAST, _MOST = 0.002, 0.98


@dataclass(frozen=True, kw_only=True)
class PureGridCell:
    """What every learner reached in one situation."""

    on: str
    situation: Situation
    before: float
    after: Mapping[str, float]

    @cached_property
    def signals(self) -> plan_pure.PureSignals:
        """How far class means stand out of each learner's noise, from public numbers alone."""
        return plan_pure.PureSignals.of(self.situation)

    def choice(self, rule: plan_pure.PureRule) -> str:
        """The learner that the rule takes."""
        return rule.choice(self.signals, prototypes=self.situation.prototypes)

    def regret_of(self, learner: str) -> float:
        """What the best learner with hindsight has more of accuracy than this one."""
        return max(self.after.values()) - self.after[learner]

    def regret(self, rule: plan_pure.PureRule) -> float:
        """The regret of what the rule takes."""
        return self.regret_of(self.choice(rule))

    def loss(self, rule: plan_pure.PureRule) -> float:
        """The utility loss 1 − after/before of the choice."""
        return 1 - self.after[self.choice(rule)] / self.before


@dataclass(frozen=True, kw_only=True)
class PureFit:
    """A rule and the curve of the losses of what it chooses."""

    rule: plan_pure.PureRule
    curve: LossCurve

    def predicted(self, cell: PureGridCell) -> LossRange:
        """The range of the loss of the choice."""
        return self.curve.range(cell.signals.signal(cell.choice(self.rule)))


def cells_of(results: Iterable[Mapping[str, Any]]) -> list[PureGridCell]:
    """The rows of such results."""
    cells = []
    for result in results:
        (spec,), (table,) = result["specifications"], result["tables"]
        if tuple(table["columns"]) != COLUMNS:
            raise ValueError(f"columns must be {COLUMNS}, got {table['columns']}")
        cells += [_cell(spec["on"], row) for row in table["rows"]]
    return cells


def _cell(on: str, row: Sequence[str]) -> PureGridCell:
    records, features, classes = (int(value) for value in row[:3])
    tried = zip(plan_pure.LEARNERS, row[5:], strict=True)
    return PureGridCell(
        on=on,
        situation=Situation(
            records=records,
            features=features,
            classes=classes,
            epsilon=float(row[3]),
            delta=0.0,
            relation=Relation.ADD_REMOVE,
            prototypes=on in PROTOTYPES,
        ),
        before=float(row[4]),
        after={name: float(value) for name, value in tried if value != UNTRIED},
    )


def fitted(cells: Sequence[PureGridCell]) -> PureFit:
    """The rule of least squared regret; then the curve, its width by data sets left out."""
    rule = _rule(cells)
    left_out = np.concatenate(
        [
            np.abs(_logits(own, rule) - _logs(own, rule) @ _slopes(others, rule))
            for own, others in _parted(cells)
        ]
    )
    constant, slope = _slopes(cells, rule)
    half = float(np.quantile(left_out, COVERED))
    return PureFit(rule=rule, curve=LossCurve(constant=constant, slope=slope, half=half))


def left_out_fits(cells: Sequence[PureGridCell]) -> dict[str, PureFit]:
    """For each data set the rule and the curve that never saw it."""
    return {own[0].on: fitted(others) for own, others in _parted(cells)}


def judged(cells: Sequence[PureGridCell]) -> Table:
    """Choice, regret, predicted and measured loss of every cell, and both bars in the notes."""
    fits = left_out_fits(cells)
    regrets = [cell.regret(fits[cell.on].rule) for cell in cells]
    held = [_covers(fits[cell.on], cell) for cell in cells]
    shipped = fitted(cells).rule
    of_all = [cell.regret(shipped) for cell in cells]
    untold = replace(shipped, cluster_ratio=math.inf)
    return Table(
        title="plan at δ = 0: its choice beside the best with hindsight, and the loss it predicts",
        columns=("data", "records", "ε", "signal", "choice", "regret", "predicted", "loss", "in"),
        rows=tuple(_row(cell, fits[cell.on], held[i]) for i, cell in enumerate(cells)),
        notes=(
            f"Regret: {np.mean(regrets):.4f} on average, {max(regrets):.4f} at worst, in accuracy,"
            f" over {len(cells)} cells of {len(fits)} data sets. The predicted range held the loss"
            f" of the choice in {sum(held)} of {len(cells)} cells.",
            "Rule and range of a cell were fitted without its own data set. By the rule that all"
            f" give together, which plan holds, regret is {np.mean(of_all):.4f} on average and"
            f" {max(of_all):.4f} at worst.",
            "The labels of location and shoppers were made by clustering, and plan was told so"
            " (--prototypes). Untold it would lose up to"
            f" {max(cell.regret(untold) for cell in cells):.4f} there.",
        ),
    )


def _row(cell: PureGridCell, fit: PureFit, held: bool) -> tuple[str, ...]:
    predicted, choice = fit.predicted(cell), cell.choice(fit.rule)
    return (
        cell.on,
        str(cell.situation.records),
        f"{cell.situation.epsilon:g}",
        f"{cell.signals.signal(choice):.2f}",
        choice,
        bare(cell.regret(fit.rule), 4),
        f"{predicted.low:.3f}–{predicted.high:.3f}",
        bare(cell.loss(fit.rule), 3),
        "yes" if held else "no",
    )


def _covers(fit: PureFit, cell: PureGridCell) -> bool:
    """A gain counts as no loss."""
    predicted = fit.predicted(cell)
    return predicted.low <= max(cell.loss(fit.rule), _LEAST) <= predicted.high


def _rule(cells: Sequence[PureGridCell]) -> plan_pure.PureRule:
    """Of least squared regret; its constants lie midway between cells, as those of trees do.

    Squares: one cell that loses ten points is worse than ten that lose one.
    """
    ratios = np.array([cell.signals.ratio for cell in cells])
    signals = np.array([cell.signals.means for cell in cells])
    clustered = np.array([cell.situation.prototypes for cell in cells])
    matrix, means = (
        np.array([cell.regret_of(learner) ** 2 for cell in cells])
        for learner in (plan_pure.MATRIX_LDA, plan_pure.PURE_MEANS)
    )
    smallest = _between(ratios)
    rules = []
    for signal, cluster in itertools.product(_between(signals), _between(ratios[clustered])):
        by_clusters = clustered & (ratios >= cluster)
        chosen = (ratios >= smallest[:, None]) & (signals <= signal) | by_clusters
        best = np.round(chosen @ (matrix - means), 9)
        rules.append((-float(best.max()), signal, smallest[int(best.argmax())], cluster))
    _, largest, ratio, cluster = min(rules)  # of equally good ones the smallest signal
    return plan_pure.PureRule(
        smallest_ratio=float(ratio), largest_signal=float(largest), cluster_ratio=float(cluster)
    )


def _between(values: Floats) -> Floats:
    """Midway between neighbouring values, in logarithms; infinite where there are too few."""
    distinct = np.unique(values)
    return np.sqrt(distinct[1:] * distinct[:-1]) if len(distinct) > 1 else np.array([math.inf])


def _parted(
    cells: Sequence[PureGridCell],
) -> list[tuple[list[PureGridCell], list[PureGridCell]]]:
    """The cells of each data set, and all others."""
    names = sorted({cell.on for cell in cells})
    return [
        ([cell for cell in cells if cell.on == on], [cell for cell in cells if cell.on != on])
        for on in names
    ]


def _slopes(cells: Sequence[PureGridCell], rule: plan_pure.PureRule) -> tuple[float, float]:
    slopes, *_ = np.linalg.lstsq(_logs(cells, rule), _logits(cells, rule), rcond=None)
    return float(slopes[0]), float(slopes[1])


def _logs(cells: Sequence[PureGridCell], rule: plan_pure.PureRule) -> Floats:
    signals = (min(cell.signals.signal(cell.choice(rule)), LARGEST_SIGNAL) for cell in cells)
    return np.array([(1.0, math.log(signal)) for signal in signals])


def _logits(cells: Sequence[PureGridCell], rule: plan_pure.PureRule) -> Floats:
    losses = np.clip([cell.loss(rule) for cell in cells], _LEAST, _MOST)
    return np.asarray(np.log(losses / (1 - losses)))
