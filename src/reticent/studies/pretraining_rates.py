"""Which step size suits each loss: the same grid for a contrastive loss and for its competitor.

On public images and before any other study: a loss whose step size was not searched as widely as
that of another would lose for that alone. Noise over the batch is that of 60,000 images at ε = 3.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from reticent.results.table import Table
from reticent.studies import pretraining
from reticent.studies.pretraining import MASKED, SPECTRAL, AtRate, Pretraining, Row
from reticent.studies.trained import Outcome, Run

JUDGED: Final = ("knn", "probe")


@dataclass(frozen=True, kw_only=True)
class Rates:
    """The grid, the same for every loss; the rule was written down before its figures were seen."""

    base: Pretraining
    rates: tuple[float, ...] = (2.0, 0.5, 0.1, 0.02, 0.004)

    def rows(self) -> tuple[Row, ...]:
        """What is trained at every rate: the contrastive loss, and its competitor."""
        (epsilon,), (share,) = self.base.epsilons, self.base.coupling_shares
        return Row(SPECTRAL, epsilon, share), Row(MASKED, epsilon, None)

    def at(self, rate: float) -> AtRate:
        """The pre-training with one of the rates."""
        return AtRate(**vars(self.base), learning_rate=rate)


SPECS: Mapping[str, Rates] = {
    "digits": Rates(
        base=replace(pretraining.SPECS["digits"], steps=30, epsilons=(60.0,), beside=(), seeds=5)
    )
}


def study(spec: Rates, run: Run) -> Outcome:
    """Step sizes for each loss, on public digits: the same grid, one rule.

    One table, a row for each loss and rate.
    """
    base = spec.base
    private, test = pretraining.images_of(base, run)
    run.steps.plan(base.seeds * (1 + 2 * len(spec.rates)))
    starts = [
        run.cell(("start", base, seed), pretraining.first_weights, base, private, test, seed)
        for seed in range(base.seeds)
    ]
    cells = {
        (row, rate): [
            run.cell((base, row, rate, seed), pretraining.trained, spec.at(rate), private, test,
                     (row, seed))
            for seed in range(base.seeds)
        ]
        for row in spec.rows()
        for rate in spec.rates
    }  # fmt: skip
    return Outcome(specifications=(spec,), tables=(_table(spec, starts, cells),))


Cells = Mapping[tuple[Row, float], list[dict[str, Any]]]


def _table(spec: Rates, starts: list[dict[str, Any]], cells: Cells) -> Table:
    best = {row: max(spec.rates, key=lambda rate: _worth(cells[row, rate])) for row in spec.rows()}
    rows = [
        (
            row.method,
            f"{rate:g}",
            *(pretraining.gain(repeats, starts, name) for name in JUDGED),
            "yes" if best[row] == rate else "–",
        )
        for (row, rate), repeats in cells.items()
    ]
    base = spec.base
    return Table(
        title=f"Step sizes on {base.records:,} images of {base.on}: the same grid for each loss",
        columns=("loss", "learning rate", *(pretraining.METRICS[one] for one in JUDGED), "best"),
        rows=tuple(rows),
        notes=(
            "The rule: the rate with the largest mean of kNN and probe over all seeds. Gains are"
            " over the first weights of the same seed, with 95 % intervals (Student's t over"
            f" {base.seeds} seeds).",
            f"{base.steps} steps on samples of {base.batch} on average, clip 1, ε = "
            f"{base.epsilons[0]:g}: the noise over the batch is about that of 60,000 images at"
            " ε = 3 in samples of 512. These digits are public; nothing is claimed of them.",
        ),
    )


def _worth(repeats: list[dict[str, Any]]) -> float:
    return float(np.mean([one[name] for one in repeats for name in JUDGED]))
