"""What the detector computes for each query, as machine code: the cost of a query is here."""

from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

import numba
import numpy as np

from reticent.arrays import Floats, Floats32

PROJECTED: Final = 16
"""How many random directions rows are compared by."""
P = ParamSpec("P")
R = TypeVar("R")


def _compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Sums in any order: nothing here promises bits."""
    return numba.njit(
        nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"}
    )(function)


@_compiled
def looked_at(
    rows: Floats, mean: Floats, directions: Floats, last: Floats32, asked: int, distances: Floats
) -> None:
    """Two squared distances of each row: to the nearest of the last ones, and from public rows.

    ``directions`` are PROJECTED random ones and those of the whitening. ``last`` is a ring of the
    last queries, of which ``asked`` were asked so far; the rows are put there, each after it was
    compared. A row with a number beyond float32 is near nothing, and nothing is near it.
    """
    point = np.empty(PROJECTED, np.float32)
    for row in range(rows.shape[0]):
        distance = 0.0
        for place in range(directions.shape[0]):
            total = 0.0
            for feature in range(directions.shape[1]):
                total += (rows[row, feature] - mean[feature]) * directions[place, feature]
            if place < PROJECTED:
                point[place] = total
            else:
                distance += total * total
        least = np.inf
        for other in range(min(asked + row, last.shape[0])):
            gap = np.float32(0.0)
            for place in range(PROJECTED):
                step = last[other, place] - point[place]
                gap += step * step
            if gap < least:  # not where it is NaN
                least = float(gap)
        last[(asked + row) % last.shape[0]] = point
        distances[row, 0], distances[row, 1] = least, distance
