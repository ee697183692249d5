"""Data on which one record moves a softmax head almost as far as the theorem allows."""

import numpy as np

from reticent.arrays import Floats, Integers
from reticent.validation import count, open_probability


def held_records(
    *, directions: int = 200, each: int = 5, along: float = 0.25, spread: bool = False
) -> tuple[Floats, Integers]:
    """Unit rows of two classes; the last two are mislabelled and opposed on a feature of their own.

    The others hold the head in ``directions``, a little of each of which (``along`` together) makes
    the wrong label unlikely, so each of the two pulls with the full gradient √2; their own feature
    is curved by the penalty alone, so nothing but that resists. Without one of them the head moves
    almost as far as add-remove allows, and with the other in its place as replace-one does. With
    ``spread`` the features are turned so that the own one lies on all axes alike: then the L1
    distance is √p times the L2 one, as the theorem for Laplace and logistic noise allows.

    >>> X, y = held_records(directions=3, each=2)
    >>> X.shape, y.tolist()
    ((8, 4), [0, 0, 0, 0, 0, 0, 1, 1])
    """
    width = count("directions", directions) + 1
    usual = np.repeat(np.eye(width)[:-1], count("each", each), axis=0)
    wrong = np.full((2, width), open_probability("along", along) / np.sqrt(directions))
    wrong[:, -1] = np.sqrt(1 - along**2) * np.array([1.0, -1.0])
    rows = np.vstack([usual, wrong])
    return rows @ _reflection(width) if spread else rows, np.repeat([0, 1], [len(usual), 2])


def _reflection(width: int) -> Floats:
    """Householder's: takes the last axis to (1, …, 1)/√width, and keeps lengths."""
    normal = np.full(width, -1 / np.sqrt(width))
    normal[-1] += 1
    normal /= np.linalg.norm(normal)
    matrix: Floats = np.eye(width) - 2 * np.outer(normal, normal)
    return matrix
