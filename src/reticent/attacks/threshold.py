"""Where to draw the line between members and others, chosen on records that are not evaluated."""

import numpy as np
from numpy.typing import ArrayLike

from reticent.arrays import Floats
from reticent.validation import InputError, float_array


def best_threshold(members: ArrayLike, others: ArrayLike) -> float:
    """The threshold that maximises ½(TPR + TNR) when scores above it are called members.

    It lies halfway between two scores; of equally good thresholds the highest is taken, which
    calls the fewest records members.

    >>> best_threshold([3.0, 4.0, 5.0], [1.0, 2.0, 3.5])
    2.5
    """
    inside, outside = float_array("members", members), float_array("others", others)
    if inside.ndim != 1 or outside.ndim != 1:
        raise InputError("scores must be two lists of numbers, got arrays of other shapes")
    levels = np.unique(np.concatenate([inside, outside]))
    found = [_share_above(inside, levels), _share_above(outside, levels)]
    advantages = found[0] - found[1]
    best = len(levels) - 1 - int(np.argmax(advantages[::-1]))
    if not advantages[best] > 0:
        return float(levels[-1])
    return _between(float(levels[best]), float(levels[best + 1]))


def _share_above(scores: Floats, levels: Floats) -> Floats:
    above = len(scores) - np.searchsorted(np.sort(scores), levels, side="right")
    shares: Floats = above / len(scores)
    return shares


def _between(low: float, high: float) -> float:
    """Halfway; the lower one where no number lies between."""
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low
