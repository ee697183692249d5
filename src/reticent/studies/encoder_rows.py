"""Rows of studies on encoders: probes on few labels and kNN, paired with a baseline's."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import stats

from reticent.arrays import Floats, Integers
from reticent.results.table import Table
from reticent.training.encoders import evaluation

CONFIDENCE: Final = 0.95


@dataclass(frozen=True, kw_only=True)
class Probing:
    """How features are judged; all of it is fixed before a query is asked."""

    memory: int = 5_000
    """Rows with labels: neighbours of kNN, and where few labels are drawn from."""
    queries: int = 5_000
    label_draws: int = 12
    penalty: float = 3.0
    per_class: tuple[int, ...] = evaluation.LABELS_PER_CLASS


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """Rows with labels and queries with theirs, before an encoder."""

    rows: Floats
    labels: Integers
    queries: Floats
    truth: Integers
    classes: int


def probed(features: tuple[Floats, Floats], data: Labelled, spec: Probing) -> dict[str, Any]:
    """Accuracies of one encoder's features of rows and queries: plain values, to be kept."""
    memory = evaluation.Memory.of(*_in_order(features, data), classes=data.classes)
    probes = {
        str(number): evaluation.few_label_probes(
            memory,
            evaluation.label_draws(
                memory.labels,
                per_class=number,
                draws=spec.label_draws,
                classes=data.classes,
            ),
            penalty=spec.penalty,
        ).tolist()
        for number in spec.per_class
    }
    return {"probes": probes, "knn": evaluation.knn_accuracy(memory)}


def _in_order(features: tuple[Floats, Floats], data: Labelled) -> tuple[Any, ...]:
    return features[0], data.labels, features[1], data.truth


@dataclass(frozen=True, kw_only=True)
class Gain:
    """A mean accuracy, and its paired gain with the half-width of an interval."""

    accuracy: float
    gain: float
    half: float

    def text(self) -> str:
        """As a table has it."""
        if not self.half and not self.gain:
            return f"{self.accuracy:.4f}"
        return f"{self.accuracy:.4f} ({self.gain:+.4f} ± {self.half:.4f})"


def gains(runs: Sequence[Mapping[str, Any]], base: Mapping[str, Any]) -> dict[str, Gain]:
    """Of every probe and kNN: the mean over runs and label draws, paired with the baseline's.

    The variance of a mean gain is that between runs over their number plus that between label draws
    over theirs, at Student's quantile for the fewer of both.
    """
    paired_gains = {
        number: _gain(np.array([run["probes"][number] for run in runs]), np.array(values))
        for number, values in base["probes"].items()
    }
    paired_gains["kNN"] = _gain(np.array([[run["knn"]] for run in runs]), np.array([base["knn"]]))
    return paired_gains


def _gain(values: Floats, base: Floats) -> Gain:
    """``values`` has a row a run and a column a label draw."""
    differences = values - base
    parts = [
        float(differences.mean(axis=1 - axis).var(ddof=1)) / differences.shape[axis]
        for axis in (0, 1)
        if differences.shape[axis] > 1
    ]
    fewest = min((size for size in differences.shape if size > 1), default=2)
    quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, fewest - 1))
    half = quantile * math.sqrt(sum(parts))
    return Gain(accuracy=float(values.mean()), gain=float(differences.mean()), half=half)


def gains_table(
    title: str,
    rows: Sequence[tuple[tuple[str, ...], Mapping[str, Gain]]],
    *,
    columns: tuple[str, ...],
    notes: tuple[str, ...],
) -> Table:
    """One row an encoder: what it is, then every probe and kNN with its paired gain."""
    numbers = list(rows[0][1])
    named = tuple("kNN" if name == "kNN" else f"{name} a class" for name in numbers)
    return Table(
        title=title,
        columns=(*columns, *named),
        rows=tuple(
            (*words, *(row_gains[name].text() for name in numbers)) for words, row_gains in rows
        ),
        notes=notes,
    )
