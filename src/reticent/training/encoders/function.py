"""An encoder that is a function of the user."""

import uuid
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent.arrays import Array
from reticent.validation import InputError


class FunctionEncoder:
    """A function from n records to features (n, d).

    Nobody can tell from a function what it computes: its weights may lie anywhere. So no two of
    these share a fingerprint, and their features are never kept in the cache.

    >>> FunctionEncoder(lambda images: images.reshape(len(images), -1)).encode(
    ...     np.ones((2, 3, 3, 1))
    ... )
    array([[1., 1., 1., 1., 1., 1., 1., 1., 1.],
           [1., 1., 1., 1., 1., 1., 1., 1., 1.]], dtype=float32)
    """

    def __init__(self, function: Callable[[Array], ArrayLike]) -> None:
        self._function = function
        self._fingerprint = uuid.uuid4().hex * 2

    def fingerprint(self) -> str:
        """64 random digits: equal for this object alone."""
        return self._fingerprint

    def encode(self, inputs: Array) -> NDArray[np.float32]:
        """What the function returns, as float32."""
        found = np.asarray(self._function(inputs))
        if found.dtype.kind not in "iuf":
            raise InputError(f"encoder must return real numbers, got an array of {found.dtype}")
        with np.errstate(over="ignore"):  # what becomes infinite is refused where it is used
            return found.astype(np.float32)
