"""What the training studies learn: private records and public queries, by name.

Every map from raw data to features is fixed and looks at one record at a time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reticent.arrays import Array, Floats
from reticent.data import Dataset, load, split
from reticent.training.features import scale_rows


@dataclass(frozen=True, kw_only=True)
class Task:
    """Records to protect, and queries with their true classes."""

    private: Dataset
    queries: Floats
    truth: Array

    @property
    def rows(self) -> Floats:
        """The private features, one row per record."""
        return self.private.features.astype(np.float64)

    @property
    def labels(self) -> Array:
        """The private classes by name."""
        return _named(self.private)


def task(name: str, *, records: int, seed: int, folder: Path | None = None) -> Task:
    """So many private records, drawn by the seed; the queries are never among them."""
    return _TASKS[name](records, seed, folder)


def digits(records: int, seed: int, folder: Path | None = None) -> Task:  # noqa: ARG001
    """8×8 digits, pixel/16 − 0.3."""
    data = load("digits")
    return _divided(_with_features(data, data.features - np.float32(0.3)), records, seed)


def mnist5k(records: int, seed: int, folder: Path | None = None) -> Task:  # noqa: ARG001
    """5,000 of MNIST's images, pixel/255."""
    data = load("mnist5k")
    return _divided(_with_features(data, data.features), records, seed)


def mnist(records: int, seed: int, folder: Path | None = None) -> Task:
    """MNIST, pixel/255, its own test images as queries."""
    return _published(load("mnist-train", folder), load("mnist-test", folder), records, seed)


def cifar10(records: int, seed: int, folder: Path | None = None) -> Task:
    """CIFAR-10 through a frozen encoder: unit(√features), its own test images as queries."""
    parts = [load(f"features/cifar10_{part}", folder) for part in ("train", "test")]
    train, test = (_with_features(part, unit_root(part.features)) for part in parts)
    return _published(train, test, records, seed)


def adult(records: int, seed: int, folder: Path | None = None) -> Task:
    """UCI Adult, its own split."""
    return _published(load("adult-train", folder), load("adult-test", folder), records, seed)


def location(records: int, seed: int, folder: Path | None = None) -> Task:
    """Foursquare check-ins of Bangkok, clustered as Shokri did."""
    return _divided(load("location", folder), records, seed)


def shoppers(records: int, seed: int, folder: Path | None = None) -> Task:
    """Baskets of shoppers in 20 clusters."""
    return _divided(load("purchase-shoppers-20", folder), records, seed)


def hospital100(records: int, seed: int, folder: Path | None = None) -> Task:
    """Hospital stays with 100 main diagnoses."""
    return _divided(load("hospital100", folder), records, seed)


def trec(records: int, seed: int, folder: Path | None = None) -> Task:
    """TREC questions as MiniLM's sentence vectors."""
    from reticent.training.encoders.cache import cached_features
    from reticent.training.encoders.named import encoder_of

    encoder = encoder_of("minilm")
    train, test = (
        cached_features(load(f"trec-{part}", folder), encoder) for part in ("train", "test")
    )
    return _published(train, test, records, seed)


def unit_root(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """√features over its norm, row by row: entries ≥ 0 with long tails become comparable."""
    roots = np.sqrt(np.maximum(features, 0)).astype(np.float64)
    return scale_rows(roots, 1.0).astype(np.float32)


_TASKS: Mapping[str, Callable[[int, int, Path | None], Task]] = {
    "digits": digits,
    "mnist5k": mnist5k,
    "mnist": mnist,
    "cifar10": cifar10,
    "adult": adult,
    "location": location,
    "hospital100": hospital100,
    "shoppers": shoppers,
    "trec": trec,
}


def _with_features(data: Dataset, features: NDArray[np.float32]) -> Dataset:
    """The number of classes of these published sets is no secret."""
    return replace(data, inputs=features, public_classes=True, columns=())


def _divided(data: Dataset, records: int, seed: int) -> Task:
    parts = split(data, sizes={"private": records, "queries": len(data) - records}, seed=seed)
    return _task(data.take(parts["private"]), data.take(parts["queries"]))


def _published(train: Dataset, test: Dataset, records: int, seed: int) -> Task:
    chosen = split(train, sizes={"private": records}, seed=seed)["private"]
    return _task(train.take(np.sort(chosen)), test)


def _task(private: Dataset, queries: Dataset) -> Task:
    return Task(private=private, queries=queries.features.astype(np.float64), truth=_named(queries))


def _named(data: Dataset) -> Array:
    names: Array = np.asarray(data.classes)[data.labels]
    return names
