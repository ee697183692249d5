"""Every data set by its name."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from reticent.data import adult, bits, embedded, pixels, prepared
from reticent.data.dataset import Dataset
from reticent.data.folder import data_folder
from reticent.validation import InputError, text

_EMBEDDED: Final[dict[str, Callable[[], Dataset]]] = {
    "digits": embedded.digits,
    "mnist5k": embedded.mnist5k,
}
_PARTS: Final[dict[str, tuple[Callable[[Path, str], Dataset], tuple[str, ...]]]] = {
    "mnist": (pixels.mnist, ("train", "test")),
    "cifar10": (pixels.cifar10, ("train", "test")),
    "cifar100": (pixels.cifar100, ("train", "test")),
    "stl10": (pixels.stl10, ("train", "test", "unlabeled")),
    "adult": (adult.adult, ("train", "test")),
    "purchase-shoppers": (prepared.purchase_shoppers, ("2", "10", "20", "50", "100")),
    "trec": (prepared.trec, ("train", "test")),
    "sst2": (prepared.sst2, ("train", "dev", "test")),
}
_WHOLE: Final[dict[str, Callable[[Path], Dataset]]] = {
    "location": bits.location,
    "purchase100": bits.purchase100,
    "texas100": bits.texas100,
    "hospital100": prepared.hospital100,
}
_PUBLISHED: Final = {
    f"{name}-{part}": (loader, part) for name, (loader, parts) in _PARTS.items() for part in parts
}
_FEATURES: Final = "features/"

NAMES: Final = (*_EMBEDDED, *_PUBLISHED, *_WHOLE)


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """The data set of that name: one of ``NAMES``, or ``features/FILE`` for ``features/FILE.npz``.

    What is not embedded is read from the data folder, given here or by RETICENT_DATA.

    >>> load("digits").images.shape
    (1797, 8, 8, 1)
    """
    if text("name", name) in _EMBEDDED:
        return _EMBEDDED[name]()
    if name in _WHOLE:
        return _WHOLE[name](data_folder(folder))
    if name in _PUBLISHED:
        loader, part = _PUBLISHED[name]
        return loader(data_folder(folder), part)
    if name.startswith(_FEATURES):
        return prepared.features(data_folder(folder), name.removeprefix(_FEATURES))
    raise InputError(f"name must be one of {', '.join(NAMES)} or {_FEATURES}FILE, got {name!r}")
