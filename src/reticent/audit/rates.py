"""Rates of an attack that says "member" above a threshold, each with its interval.

The threshold must not have been chosen on the records that are measured, or the intervals mean
nothing; ``reticent.audit.attack_report`` sees to that.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from reticent.arrays import Flags, Floats
from reticent.audit.intervals import Share, difference_interval, share_interval
from reticent.audit.metrics import Measured, two_sides
from reticent.validation import InputError, finite, float_array, open_probability

_OTHERS_BEYOND = 10
"""TPR at a FPR takes so many non-members above the threshold, or it is mostly chance."""


def share_above(scores: ArrayLike, *, threshold: float, confidence: float = 0.95) -> Measured:
    """The share that is called members: of members the TPR, of others the FPR (Clopper–Pearson).

    >>> print(share_above([0.1, 0.2, 0.7, 0.9], threshold=0.5))
    0.500 [0.068, 0.932]
    """
    share = _above(float_array("scores", scores), finite("threshold", threshold))
    low, high = share_interval(share, confidence=open_probability("confidence", confidence))
    return Measured(value=share.value, low=low, high=high, confidence=confidence)


def leakage(
    members: ArrayLike, others: ArrayLike, *, threshold: float, confidence: float = 0.95
) -> Measured:
    """TPR − FPR, the privacy leakage of Lu et al., Eq. 32, or Yeom's membership advantage.

    The interval holds its confidence whatever the shares are (``reticent.audit.intervals``).

    >>> print(leakage([0.6, 0.7, 0.8, 0.9], [0.2, 0.3, 0.4, 0.6], threshold=0.5))
    0.750 [-0.236, 1.000]
    """
    inside, outside = _shares(members, others, threshold)
    low, high = difference_interval(
        inside, outside, confidence=open_probability("confidence", confidence)
    )
    return Measured(value=inside.value - outside.value, low=low, high=high, confidence=confidence)


def balanced_accuracy(
    members: ArrayLike, others: ArrayLike, *, threshold: float, confidence: float = 0.95
) -> Measured:
    """½(TPR + TNR) = ½(1 + leakage), so its interval is that of the leakage."""
    found = leakage(members, others, threshold=threshold, confidence=confidence)
    return balanced(found)


def balanced(found: Measured) -> Measured:
    """The balanced accuracy that a leakage amounts to."""
    value, low, high = ((1 + number) / 2 for number in (found.value, found.low, found.high))
    return Measured(value=value, low=low, high=high, confidence=found.confidence)


def precision(
    members: ArrayLike, others: ArrayLike, *, threshold: float, confidence: float = 0.95
) -> Measured:
    """The share of members among those called members, at this ratio of members to others.

    Clopper–Pearson given how many are called members, as if each record had been drawn with this
    ratio. Where both numbers were fixed beforehand the share varies less: the interval is safe.
    """
    inside, outside = _shares(members, others, threshold)
    open_probability("confidence", confidence)
    share = Share(hits=inside.hits, of=inside.hits + outside.hits)
    if share.of == 0:
        raise InputError("threshold must leave records above it, got none: precision is undefined")
    low, high = share_interval(share, confidence=confidence)
    return Measured(value=share.value, low=low, high=high, confidence=confidence)


def tpr_at_fpr(
    members: ArrayLike, others: ArrayLike, *, fpr: float, confidence: float = 0.95
) -> Measured:
    """The largest TPR of a threshold whose FPR is at most ``fpr``.

    The value is that of scikit-learn's ``roc_curve``, without interpolation. The threshold is an
    estimate too, so the interval takes a quarter of the risk for each of four events:

    - The k-th largest score of n others has a larger true FPR than said (or, for the other end, a
      smaller one): the share of others above it is distributed as Beta(k, n − k + 1), or lies on
      the safe side of it where scores tie.
    - Given such a threshold, which no member had a part in, the share of members above it lies
      beyond its Clopper–Pearson limit.

    Fewer than 10/``fpr`` non-members are refused.
    """
    inside, outside = two_sides(members, others)
    open_probability("fpr", fpr)
    open_probability("confidence", confidence)
    if len(outside) * fpr < _OTHERS_BEYOND * (1 - 1e-9):
        raise InputError(
            f"non-members must be at least {_OTHERS_BEYOND}/FPR = {_OTHERS_BEYOND / fpr:,.0f} for "
            f"TPR at {100 * fpr:g} % FPR, got {len(outside):,}"
        )
    falling, quarter = np.sort(outside)[::-1], (1 - confidence) / 4
    low, high = _threshold_limits(falling, fpr, quarter)
    return Measured(
        value=_empirical(inside, falling, fpr),
        low=_share(inside > low).low(quarter),
        high=_share(inside >= high).high(quarter),
        confidence=confidence,
    )


def _threshold_limits(falling: Floats, fpr: float, risk: float) -> tuple[float, float]:
    """Thresholds of which the first has at most this FPR, the second at least; risk for each."""
    # P[Beta(k, n − k + 1) > fpr] = P[Bin(n, fpr) ≤ k − 1], for k from 1 on.
    below = stats.binom.cdf(np.arange(len(falling)), len(falling), fpr)
    few = int(np.searchsorted(below, risk, side="right"))
    first = falling[few - 1] if few else np.inf
    # P[Beta(k, n − k + 1) < fpr] = P[Bin(n, fpr) ≥ k].
    enough = np.flatnonzero(stats.binom.sf(np.arange(len(falling)), len(falling), fpr) <= risk)
    second = falling[enough[0]] if enough.size else -np.inf
    return float(first), float(second)


def _empirical(inside: Floats, falling: Floats, fpr: float) -> float:
    """Members above the highest score of the first non-member too many."""
    allowed = min(int(np.floor(len(falling) * fpr * (1 + 1e-12))), len(falling) - 1)
    return float(np.mean(inside > falling[allowed]))


def _shares(members: ArrayLike, others: ArrayLike, threshold: float) -> tuple[Share, Share]:
    inside, outside = two_sides(members, others)
    finite("threshold", threshold)
    return _above(inside, threshold), _above(outside, threshold)


def _above(scores: Floats, threshold: float) -> Share:
    return _share(scores > threshold)


def _share(hits: Flags) -> Share:
    return Share(hits=int(hits.sum()), of=hits.size)
