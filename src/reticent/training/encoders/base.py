"""What every frozen encoder can do."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from reticent.arrays import Array


class Encoder(Protocol):
    """A fixed map from records to features. It was never trained on the private records."""

    def fingerprint(self) -> str:
        """SHA-256 of architecture, preparation of the input and weights: equal maps, equal text."""
        ...

    def encode(self, inputs: Array) -> NDArray[np.float32]:
        """Features (n, d) of images (n, height, width, channels) or of n texts."""
        ...
