"""What frozen features are worth: k nearest neighbours, a linear probe, and probes on few labels.

Nothing is chosen here: k and the penalty are arguments that stand before a label is looked at, and
draws of labelled rows come from a seed, so that every encoder is probed with the same ones (gains
are paired). Rows with labels are ``memory``, rows to be classified are ``queries``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from reticent.arrays import Array, ArrayLike, Floats, Integers
from reticent.randomness import seeded
from reticent.validation import InputError, count, float_rows, positive

NEIGHBOURS: Final = 5
LABELS_PER_CLASS: Final = (1, 5, 10, 50)
PENALTY: Final = 1.0
"""Of ``ridge_probe``, in units of the mean eigenvalue of the labelled rows' second moment."""
_BLOCK: Final = 512


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Features with labels, and queries with theirs: all that an evaluation sees."""

    rows: Floats
    labels: Integers
    queries: Floats
    truth: Integers
    classes: int

    @classmethod
    def of(
        cls, rows: ArrayLike, labels: Array, queries: ArrayLike, truth: Array, *, classes: int
    ) -> "Memory":
        """Checked: labels number the classes, and rows and queries have one width."""
        memory = cls(
            rows=float_rows("rows", rows),
            labels=_places("labels", labels, classes),
            queries=float_rows("queries", queries),
            truth=_places("truth", truth, classes),
            classes=count("classes", classes, at_least=2),
        )
        if memory.rows.shape[1] != memory.queries.shape[1]:
            raise InputError(
                f"queries must have {memory.rows.shape[1]} features, got {memory.queries.shape[1]}"
            )
        if (len(memory.rows), len(memory.queries)) != (len(memory.labels), len(memory.truth)):
            raise InputError("labels and truth must be one for each row, got others")
        return memory


def knn_accuracy(memory: Memory, *, k: int = NEIGHBOURS) -> float:
    """The share of queries whose k nearest rows, weighted by their cosine, name the true class."""
    nearest = min(count("k", k), len(memory.rows))
    rows = _unit(memory.rows).astype(np.float32)
    hits = 0
    for start in range(0, len(memory.queries), _BLOCK):
        part = slice(start, start + _BLOCK)
        cosines = _unit(memory.queries[part]).astype(np.float32) @ rows.T
        neighbours = np.argpartition(-cosines, nearest - 1, axis=1)[:, :nearest]
        votes = np.zeros((len(neighbours), memory.classes))
        for place in neighbours.T:
            np.add.at(
                votes,
                (np.arange(len(neighbours)), memory.labels[place]),
                np.take_along_axis(cosines, place[:, None], axis=1)[:, 0],
            )
        hits += int((votes.argmax(axis=1) == memory.truth[part]).sum())
    return hits / max(len(memory.queries), 1)


def ridge_probe(
    memory: Memory, chosen: Integers | None = None, *, penalty: float = PENALTY
) -> float:
    """The accuracy of ridge regression on the classes, fitted on the chosen rows.

    Rows are centred by their mean and scaled by their mean length, targets are one-hot less 1/C;
    the penalty is in units of the mean eigenvalue of their second moment, so that one value serves
    every width and number of rows.
    """
    lam = positive("penalty", penalty)
    rows = memory.rows if chosen is None else memory.rows[chosen]
    labels = memory.labels if chosen is None else memory.labels[chosen]
    centre = rows.mean(axis=0)
    rows = rows - centre
    scale = max(float(np.linalg.norm(rows, axis=1).mean()), 1e-300)
    rows = rows / scale
    targets = np.eye(memory.classes)[labels] - 1 / memory.classes
    size, width = rows.shape
    damping = lam * size / width
    if width <= size:
        weights = np.linalg.solve(rows.T @ rows + damping * np.eye(width), rows.T @ targets)
    else:
        weights = rows.T @ np.linalg.solve(rows @ rows.T + damping * np.eye(size), targets)
    scores = (memory.queries - centre) / scale @ weights
    return float((scores.argmax(axis=1) == memory.truth).mean())


def label_draws(
    labels: Integers, *, per_class: int, draws: int, classes: int, seed: int = 0
) -> list[Integers]:
    """So many draws of ``per_class`` rows of each class: functions of labels and seed alone."""
    wanted = count("per_class", per_class)
    places = [np.flatnonzero(labels == one) for one in range(classes)]
    if min(map(len, places)) < wanted:
        raise InputError(f"per_class must be at most {min(map(len, places))}, got {wanted}")
    samples = []
    for draw in range(count("draws", draws)):
        rng = seeded(seed, "label draw", wanted, draw)
        samples.append(np.concatenate([rng.choice(one, wanted, replace=False) for one in places]))
    return samples


def few_label_probes(
    memory: Memory, draws: Iterable[Integers], *, penalty: float = PENALTY
) -> Floats:
    """The accuracy of the ridge probe on each draw of labelled rows (``label_draws``)."""
    return np.array([ridge_probe(memory, chosen, penalty=penalty) for chosen in draws])


def _unit(rows: Floats) -> Floats:
    """Rows of length 1; a row of zeros stays."""
    unit: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    return unit


def _places(name: str, labels: Array, classes: int) -> Integers:
    places = np.asarray(labels)
    if places.dtype.kind not in "iu" or places.ndim != 1:
        raise InputError(f"{name} must be whole numbers, one for each row, got others")
    if len(places) and not (0 <= places.min() and places.max() < classes):
        raise InputError(f"{name} must number {classes} classes from 0, got others")
    return places.astype(np.int64)
