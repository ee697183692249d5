"""Bisection that ends on the safe side."""

from collections.abc import Callable

_STEPS = 200
"""More halvings than a float has bits: the search ends when the bracket cannot shrink."""


def smallest_above(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest value in [low, high] where ``holds``, up to floats; ``high`` must hold.

    The value returned has been seen to hold.
    """
    if holds(low):
        return low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def largest_below(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest value in [low, high] where ``holds``, up to floats; ``low`` must hold.

    The value returned has been seen to hold, or is ``low``.
    """
    if holds(high):
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
