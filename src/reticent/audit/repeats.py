"""A figure over repeated experiments: its mean, with an interval."""

import math

from numpy.typing import ArrayLike
from scipy import stats

from reticent.audit.metrics import Measured
from reticent.validation import InputError, float_array, open_probability


def over_repeats(values: ArrayLike, *, confidence: float = 0.95) -> Measured:
    """The mean with Student's interval.

    It holds for repeats that are independent and nearly normal: each must draw anew whatever the
    figure is said to vary over.

    >>> print(over_repeats([0.61, 0.63, 0.62]))
    0.620 [0.595, 0.645]
    """
    found = float_array("values", values)
    open_probability("confidence", confidence)
    if found.ndim != 1 or len(found) < 2:
        raise InputError(f"values must be at least 2 numbers, got shape {found.shape}")
    error = float(found.std(ddof=1)) / math.sqrt(len(found))
    width = float(stats.t.ppf((1 + confidence) / 2, len(found) - 1)) * error
    mean = float(found.mean())
    return Measured(value=mean, low=mean - width, high=mean + width, confidence=confidence)
