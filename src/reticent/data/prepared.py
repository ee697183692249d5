"""Prepared files of a data folder: ``features/*.npz``, ``tables/*.npz``, ``text/*.csv``."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from reticent.arrays import Array
from reticent.data.archive import archive
from reticent.data.cells import text_array
from reticent.data.dataset import Dataset
from reticent.data.folder import decoded, find
from reticent.validation import InputError

_TREC: Final = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
_SST2: Final = ("0", "1")
_MOST_CLASSES: Final = 100_000
_GET_TREC: Final = "TREC questions by Li and Roth 2002 as a CSV with split, label, text"
_GET_SST2: Final = "SST-2 by Socher et al. 2013 as a CSV with split, label, text"


def features(folder: Path, name: str) -> Dataset:
    """``features/NAME.npz``: x (n, d) of a frozen encoder and y, labels from 0."""
    get = "an .npz with x (n, d) and y (n,), written by an encoder"
    path = find(folder, [f"features/{name}.npz"], get=get)
    x, labels = _arrays(path, "x", "y")
    if x.dtype.kind not in "iuf":
        raise InputError(f"{path.name} must hold numbers in 'x', got {x.dtype}")
    return Dataset(
        name=f"features/{name}",
        source=f"features of a frozen encoder, {path.name}",
        inputs=x.astype(np.float32),
        labels=labels,
        classes=_numbered(path, labels),
        public_classes=False,
    )


def hospital100(folder: Path) -> Dataset:
    """Hospital stays (Strack et al. 2014), 645 bits, 100 diagnoses; not Texas-100."""
    get = "hospital100.npz, made from 'Diabetes 130-US hospitals' by Strack et al. (UCI)"
    path = find(folder, ["tables/hospital100.npz"], get=get)
    x, labels, columns, classes = _arrays(path, "x", "y", "feature_names", "class_icd9")
    return Dataset(
        name="hospital100",
        source="Diabetes 130-US hospitals 1999-2008, Strack et al. 2014: first stays, binary",
        inputs=x,
        labels=labels,
        classes=tuple(map(str, classes)),
        columns=tuple(map(str, columns)),
    )


def purchase_shoppers(folder: Path, classes: str) -> Dataset:
    """Shoppers and products (Hu et al. 2020), 600 bits, 2 … 100 clusters; not Purchase-100."""
    get = "purchase_shoppers.npz, made from 'Acquire Valued Shoppers Challenge' (Kaggle)"
    path = find(folder, ["tables/purchase_shoppers.npz"], get=get)
    x, labels, items = _arrays(path, "x", f"y{classes}", "item_id")
    return Dataset(
        name=f"purchase-shoppers-{classes}",
        source="Acquire Valued Shoppers, sample of Hu et al. 2020; classes are clusters",
        inputs=x,
        labels=labels,
        classes=tuple(map(str, range(int(classes)))),
        columns=tuple(f"item {item}" for item in items),
    )


def trec(folder: Path, part: str) -> Dataset:
    """TREC questions with their six coarse labels."""
    path = find(folder, ["text/trec.csv", "text/trec.csv.gz"], get=_GET_TREC)
    return _text(f"trec-{part}", "TREC questions, Li and Roth 2002", path, _TREC)


def sst2(folder: Path, part: str) -> Dataset:
    """SST-2 phrases, 0 negative and 1 positive."""
    path = find(folder, ["text/sst2.csv", "text/sst2.csv.gz"], get=_GET_SST2)
    return _text(f"sst2-{part}", "SST-2, Socher et al. 2013", path, _SST2)


def _arrays(path: Path, *names: str) -> list[Array]:
    stored = archive(path)
    for name in names:
        if name not in stored:
            raise InputError(f"{path.name} must hold the array {name!r}, got {sorted(stored)}")
    for name in names:
        if stored[name].ndim == 0:
            raise InputError(f"{path.name} must hold a list in {name!r}, got a single value")
    return [stored[name] for name in names]


def _numbered(path: Path, labels: Array) -> tuple[str, ...]:
    if labels.dtype.kind not in "iu" or labels.size == 0 or labels.min() < 0:
        raise InputError(f"{path.name} must hold labels from 0 in 'y', got {labels.dtype}")
    if labels.max() >= _MOST_CLASSES:
        raise InputError(f"{path.name} must hold labels below {_MOST_CLASSES} in 'y', got others")
    return tuple(map(str, range(int(labels.max()) + 1)))


def _text(name: str, source: str, path: Path, classes: tuple[str, ...]) -> Dataset:
    part = name.rpartition("-")[2]
    numbers = {label: number for number, label in enumerate(classes)}
    try:
        rows = [row for row in _rows(path) if row["split"] == part]
    except csv.Error:
        raise InputError(f"{path.name} must be a CSV table, got one that cannot be read") from None
    if not rows:
        raise InputError(f"{path.name} must have records whose split is {part!r}, got none")
    return Dataset(
        name=name,
        source=source,
        inputs=text_array(path.name, [row["text"] or "" for row in rows]),
        labels=np.array([numbers.get(row["label"], -1) for row in rows]),
        classes=classes,
    )


def _rows(path: Path) -> Iterator[dict[str, str]]:
    reader = csv.DictReader(io.StringIO(decoded(path), newline=""))
    lacking = {"split", "label", "text"} - set(reader.fieldnames or ())
    if lacking:
        raise InputError(
            f"{path.name} must have the columns split, label and text, got none named"
            f" {' or '.join(sorted(lacking))}"
        )
    yield from reader
