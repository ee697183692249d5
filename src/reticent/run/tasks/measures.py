"""How good predictions are, on records that nothing was trained on, with intervals.

RMSE, MAE and R² of a number in the label's units; accuracy and F1 of each of several labels, and
their means. Every measure is a function of sums over records, so a bootstrap over records costs a
product each. An interval has two parts, joined by their squares (MOVER; Zou, Donner 2008): the
percentile bootstrap over records, the same for all models, and Student's t over the draws of the
noise.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from scipy import stats

from reticent.arrays import Array, Floats
from reticent.randomness import seeded
from reticent.results import Interval, task_results

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 1000
Sums = Callable[[Floats], Floats]
"""From sums over records (… × columns) to the measure."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One measure: its name, and how it comes of the sums of some columns."""

    name: str
    of: Sums
    label: str = ""
    unit: str = ""
    lower_is_better: bool = False
    least: float = 0.0
    most: float = 1.0
    """The ends of what it can be: no interval goes beyond."""


def kinds_of(labels: tuple[str, ...], *, numbers: bool, unit: str = "") -> tuple[Kind, ...]:
    """The measures of a task, the one that decides first."""
    if numbers:
        return (
            Kind(name="RMSE", of=_rmse, unit=unit, lower_is_better=True, most=math.inf),
            Kind(name="MAE", of=_mae, unit=unit, lower_is_better=True, most=math.inf),
            Kind(name="R²", of=_r_squared, least=-math.inf),
        )
    many = len(labels)
    return (
        *(
            Kind(name=f"{name}{task_results.OF_ALL}", of=partial(_mean, each, many))
            for name, each in _OF_LABELS.items()
        ),
        *(
            Kind(name=name, label=label, of=partial(_one, each, many, k))
            for name, each in _OF_LABELS.items()
            for k, label in enumerate(labels)
        ),
    )


def columns_of(truth: Array, predicted: Array) -> Floats:
    """What of each record is summed: one row a record."""
    ones = np.ones((len(truth), 1))
    if truth.ndim == 1:
        error = truth - predicted
        centred = truth - truth.mean()  # R² does not depend on where numbers begin; floats do
        return np.column_stack([error**2, np.abs(error), centred, centred**2, ones])
    correct, both = truth == predicted, (truth == 1) & (predicted == 1)
    return np.column_stack([correct, both, ~correct, ones]).astype(np.float64)


def _rmse(sums: Floats) -> Floats:
    return np.asarray(np.sqrt(sums[..., 0] / sums[..., 4]))


def _mae(sums: Floats) -> Floats:
    return np.asarray(sums[..., 1] / sums[..., 4])


def _r_squared(sums: Floats) -> Floats:
    """1 − Σ(y − f)²/Σ(y − ȳ)², ȳ the mean of the same records; 0 where y does not vary."""
    spread = sums[..., 3] - sums[..., 2] ** 2 / sums[..., 4]
    with np.errstate(divide="ignore", invalid="ignore"):
        r_squared = 1 - sums[..., 0] / spread
    return np.asarray(np.where(spread > 0, r_squared, 0.0))


def _accuracies(sums: Floats, many: int) -> Floats:
    return np.asarray(sums[..., :many] / sums[..., -1:])


def _f1(sums: Floats, many: int) -> Floats:
    """2·TP/(2·TP + FP + FN) of each label; 1 where it is neither true nor said of any record."""
    both, wrong = sums[..., many : 2 * many], sums[..., 2 * many : 3 * many]
    whole = 2 * both + wrong
    return np.asarray(np.where(whole > 0, 2 * both / np.where(whole > 0, whole, 1), 1.0))


_OF_LABELS: Final = {"accuracy": _accuracies, "F1": _f1}


def _mean(each: Callable[[Floats, int], Floats], many: int, sums: Floats) -> Floats:
    return np.asarray(each(sums, many).mean(axis=-1))


def _one(each: Callable[[Floats, int], Floats], many: int, place: int, sums: Floats) -> Floats:
    return np.asarray(each(sums, many)[..., place])


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """Measures of models on the same test records, resampled alike."""

    kinds: tuple[Kind, ...]
    truth: Array
    seed: int = 0

    def of(self, predictions: Sequence[Array]) -> tuple[task_results.Measure, ...]:
        """The mean of each measure over draws, with its interval."""
        whole, resampled = self._sums(predictions)
        return tuple(
            task_results.Measure(
                name=kind.name,
                label=kind.label,
                unit=kind.unit,
                lower_is_better=kind.lower_is_better,
                figure=_joined(kind.of(whole), kind.of(resampled), kind),
            )
            for kind in self.kinds
        )

    def change(self, before: Array, after: Sequence[Array]) -> Interval:
        """Of the first measure, relative to that of one model: positive where it got worse."""
        kind = self.kinds[0]
        sign = 1.0 if kind.lower_is_better else -1.0
        (first,), (firsts,) = (kind.of(sums) for sums in self._sums([before]))
        whole, resampled = (kind.of(sums) for sums in self._sums(after))
        return _joined(sign * (whole / first - 1), sign * (resampled / firsts - 1))

    def _sums(self, predictions: Sequence[Array]) -> tuple[Floats, Floats]:
        """models × columns, and models × resamples × columns."""
        each = np.stack([columns_of(self.truth, one) for one in predictions])
        rng, records = seeded("test records, resampled", self.seed), each.shape[1]
        weights = [
            np.bincount(rng.integers(records, size=records), minlength=records).astype(np.float64)
            for _ in range(RESAMPLES)
        ]
        flat = each.transpose(1, 0, 2).reshape(records, -1)
        drawn = np.stack([one @ flat for one in weights]).reshape(RESAMPLES, *each[:, 0].shape)
        return each.sum(axis=1), drawn.transpose(1, 0, 2)


def _joined(values: Floats, resampled: Floats, kind: Kind | None = None) -> Interval:
    """The mean over draws; records and draws both count for its limits, within its range."""
    mean = float(values.mean())
    ends = np.quantile(resampled.mean(axis=0), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    moved = 0.0
    if len(values) > 1:
        wide = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
        moved = wide * float(values.std(ddof=1)) / len(values) ** 0.5
    below, above = max(mean - float(ends[0]), 0.0), max(float(ends[1]) - mean, 0.0)
    low, high = mean - float(np.hypot(below, moved)), mean + float(np.hypot(above, moved))
    if kind is not None:
        low, high = max(low, kind.least), min(high, kind.most)
    return Interval(value=mean, low=low, high=high, confidence=CONFIDENCE)
