"""Arrays that nobody can change, not even by asking numpy for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A copy whose memory belongs to an immutable object: it cannot be made writable again."""
    plain = np.ascontiguousarray(array)
    copied: NDArray[Any] = np.frombuffer(plain.tobytes(), dtype=plain.dtype).reshape(plain.shape)
    return copied
