"""Zero-sum noise on all C·d weights of a softmax head, in floats: a leak that looks harmless.

The columns of W sum to zero, so a head has (C−1)·d degrees of freedom, and it is tempting to
project C·d numbers of noise onto zero column sums, add them to W and count the smaller dimension.
In floats neither W nor the noise has sums of exactly zero. The exact sums of the released columns
are those of W's own floats, unprotected, plus roundings. ``release_weights`` noises coordinates
in a fixed basis instead, and W is computed from what was released.
"""

import math

import numpy as np

from reticent.arrays import ArrayLike, Floats
from reticent.mechanisms import AdditiveMechanism, additive
from reticent.validation import InputError, count, float_array


def projected_noise(
    noise: AdditiveMechanism | additive.FloatNoise, shape: tuple[int, ...]
) -> Floats:
    """Noise of shape (…, C, d), each column of it minus its mean."""
    drawn = noise.release(np.zeros(shape))
    return np.asarray(drawn - drawn.mean(axis=-2, keepdims=True))


def careless_releases(weights: ArrayLike, noise: AdditiveMechanism, releases: int) -> Floats:
    """So many releases of a C×d matrix, each W + projected noise. None is private."""
    W = _matrix(weights)
    return W + projected_noise(noise, (count("releases", releases), *W.shape))


def exact_column_sums(matrices: ArrayLike) -> Floats:
    """The sum of each column of (…, C, d), rounded once: 0 only if the exact sum is.

    >>> exact_column_sums([[1.0, 0.1], [2.0**-70, 0.2], [-1.0, -0.3]])
    array([8.47032947e-22, 2.77555756e-17])
    """
    stack = float_array("matrices", matrices)
    columns = np.moveaxis(stack, -2, -1)
    sums = [math.fsum(column) for column in columns.reshape(-1, stack.shape[-2]).tolist()]
    return np.asarray(sums).reshape(columns.shape[:-1])


def _matrix(weights: ArrayLike) -> Floats:
    W = float_array("weights", weights)
    if W.ndim != 2:
        raise InputError(f"weights must be a matrix, classes × features, got shape {W.shape}")
    return W
