"""Data that several tests of white-box attacks share."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.attacks.records import Records


@pytest.fixture(scope="module")
def digits():
    """A fifth of the labels is drawn: members among them are learnt by heart."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    drawn = np.where(rng.random(len(X)) < 0.2, rng.integers(0, 10, len(X)), y[order])
    return Records(X[order] / 16, drawn)
