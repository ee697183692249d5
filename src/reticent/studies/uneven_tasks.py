"""Tables whose classes are not equally large, or whose labels are clusters of the features.

Real records all of them. Three classes at 80/15/5 are cut out of sets that have enough of each; a
map from raw data to features is fixed and looks at one record at a time, as for the other tasks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from reticent.arrays import Array, Floats, Integers
from reticent.data import Dataset, load
from reticent.studies.tasks import Task, task

SHARES = (0.80, 0.15, 0.05)
CLUSTERS = 10
_CLUSTERED = 12_000
"""Images that labels are made of by clustering."""


def uneven_task(name: str, *, records: int, seed: int, folder: Path | None = None) -> Task:
    """So many private records, drawn by the seed; all others of the cut are the queries."""
    data = _TABLES[name](folder)
    order = np.random.default_rng(seed).permutation(len(data))
    private, rest = data.take(np.sort(order[:records])), data.take(np.sort(order[records:]))
    assert rest.labels is not None
    truth: Array = np.asarray(rest.classes)[rest.labels]
    return Task(private=private, queries=rest.features.astype(np.float64), truth=truth)


def cut_to_shares(data: Dataset, classes: Sequence[str], shares: Sequence[float]) -> Dataset:
    """As many records of these classes as there are at these shares; the first of each."""
    assert data.labels is not None
    names = np.asarray(data.classes)[data.labels]
    places = [np.flatnonzero(names == label) for label in classes]
    whole = min(len(own) / share for own, share in zip(places, shares, strict=True))
    kept = [own[: round(whole * share)] for own, share in zip(places, shares, strict=True)]
    labels = np.concatenate([np.full(len(own), place) for place, own in enumerate(kept)])
    return _labelled(data, np.concatenate(kept), labels, classes)


def _labelled(data: Dataset, rows: Integers, labels: Integers, classes: Sequence[str]) -> Dataset:
    order = np.argsort(rows, kind="stable")
    return replace(
        data,
        inputs=data.features[rows[order]],
        labels=labels[order],
        classes=tuple(classes),
        public_classes=True,
        columns=(),
        persons=None,
    )


def _of_task(name: str, classes: Sequence[str], folder: Path | None) -> Dataset:
    """Three classes of a set that the other studies know."""
    largest = {"digits": 1_796, "mnist": 60_000}
    private = task(name, records=largest[name], seed=0, folder=folder).private
    return cut_to_shares(private, classes, SHARES)


def _hospital(folder: Path | None) -> Dataset:
    """Hospital stays with one of the three commonest main diagnoses."""
    data = load("hospital100", folder)
    assert data.labels is not None
    common = np.argsort(-np.bincount(data.labels), kind="stable")[:3]
    return cut_to_shares(data, [data.classes[place] for place in common], SHARES)


def _adult(attribute: str, groups: Mapping[str, str], folder: Path | None) -> Dataset:
    """An attribute of Adult as the label, by groups of its categories, and not a feature."""
    data = load("adult-train", folder)
    own = [place for place, name in enumerate(data.columns) if name.startswith(f"{attribute}=")]
    values = [data.columns[place].partition("=")[2] for place in own]
    places = {label: place for place, label in enumerate(dict.fromkeys(groups.values()))}
    group_places = np.array([places.get(groups.get(value, ""), -1) for value in values])
    labels = group_places[np.argmax(data.features[:, own], axis=1)]
    dropped = {"relationship", attribute} if attribute == "marital-status" else {attribute}
    kept = [p for p, name in enumerate(data.columns) if name.partition("=")[0] not in dropped]
    known = np.flatnonzero(labels >= 0)
    table = replace(data, inputs=data.features[:, kept], columns=())
    whole = _labelled(table, known, labels[known], list(places))
    return cut_to_shares(whole, list(places), SHARES)


def _clusters(folder: Path | None) -> Dataset:
    """MNIST images labelled by their cluster, as Shokri's Location and Purchase records were."""
    from sklearn.cluster import KMeans

    data = load("mnist-train", folder).take(np.arange(_CLUSTERED))
    rows: Floats = data.features.astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    clusters = KMeans(CLUSTERS, n_init=1, random_state=0, max_iter=30).fit_predict(rows)
    names = [str(number) for number in range(CLUSTERS)]
    return _labelled(data, np.arange(len(data)), clusters.astype(np.int64), names)


_MARITAL = {
    "Married-civ-spouse": "married",
    "Never-married": "never married",
    "Divorced": "divorced",
}
_WORK = {
    "Private": "private",
    "Federal-gov": "government",
    "Local-gov": "government",
    "State-gov": "government",
    "Self-emp-not-inc": "self-employed",
    "Self-emp-inc": "self-employed",
}
_TABLES: Mapping[str, Callable[[Path | None], Dataset]] = {
    "digits-80-15-5": partial(_of_task, "digits", ("1", "7", "8")),
    "mnist-80-15-5": partial(_of_task, "mnist", ("3", "5", "8")),
    "hospital-80-15-5": _hospital,
    "adult-marital-80-15-5": partial(_adult, "marital-status", _MARITAL),
    "adult-work-80-15-5": partial(_adult, "workclass", _WORK),
    "mnist-clusters": _clusters,
}
