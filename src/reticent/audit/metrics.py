"""How well scores tell members from non-members, with intervals."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from reticent.arrays import Floats
from reticent.validation import InputError, float_array, open_probability


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A value between the ends of its confidence interval."""

    value: float
    low: float
    high: float
    confidence: float

    def __str__(self) -> str:
        """Three digits: 0.531 [0.511, 0.552]."""
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def contains(self, value: float) -> bool:
        """Whether a value lies inside the interval."""
        return self.low <= value <= self.high

    def to_dict(self) -> dict[str, float]:
        """Plain numbers, as they stand in a JSON file."""
        return dict(vars(self))


def auc(members: ArrayLike, others: ArrayLike, *, confidence: float = 0.95) -> Measured:
    """The chance that a member's score is above a non-member's; ties count half.

    The variance is DeLong's (1988): each record's placement among the scores of the other side. The
    interval is symmetric in log odds, so it stays within 0 and 1; where one side is wholly above
    the other its end is that of the rule of three.

    >>> print(auc([0.9, 0.8, 0.7, 0.6], [0.5, 0.75, 0.3, 0.2]))
    0.875 [0.345, 0.989]
    """
    inside, outside = two_sides(members, others, at_least=2)
    open_probability("confidence", confidence)
    above = _placements(inside, outside)
    below = 1 - _placements(outside, inside)
    value = float(above.mean())
    error = math.sqrt(above.var(ddof=1) / len(above) + below.var(ddof=1) / len(below))
    low, high = _interval(value, error, min(len(inside), len(outside)), confidence)
    return Measured(value=value, low=low, high=high, confidence=confidence)


def two_sides(members: ArrayLike, others: ArrayLike, *, at_least: int = 1) -> tuple[Floats, Floats]:
    """Scores of members and of others as two lists of finite numbers."""
    inside, outside = float_array("members", members), float_array("others", others)
    if inside.ndim != 1 or outside.ndim != 1 or min(len(inside), len(outside)) < at_least:
        raise InputError(
            f"scores must be two lists of at least {at_least} numbers each, got shapes"
            f" {inside.shape} and {outside.shape}"
        )
    return inside, outside


def _placements(scores: Floats, among: Floats) -> Floats:
    """The share of ``among`` below each score, ties half."""
    ordered = np.sort(among)
    left = np.searchsorted(ordered, scores, side="left")
    right = np.searchsorted(ordered, scores, side="right")
    placements: Floats = (left + right) / (2 * len(among))
    return placements


def _interval(value: float, error: float, fewest: int, confidence: float) -> tuple[float, float]:
    if value in (0.0, 1.0):
        end = 1 - ((1 - confidence) / 2) ** (1 / fewest)
        return (1 - end, 1.0) if value else (0.0, end)
    quantile = float(stats.norm.ppf((1 + confidence) / 2))
    odds, width = math.log(value / (1 - value)), quantile * error / (value * (1 - value))
    return _sigmoid(odds - width), _sigmoid(odds + width)


def _sigmoid(odds: float) -> float:
    return 0.5 * (1 + math.tanh(odds / 2))
