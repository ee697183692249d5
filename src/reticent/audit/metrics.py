"""How well scores tell members from non-members, with intervals: AUC, ROC curve, rates.

The threshold of a rate must not have been chosen on the records that are measured, or the intervals
mean nothing; ``reticent.audit.attack_report`` sees to that.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats
from sklearn.metrics import roc_curve

from reticent import validation
from reticent.arrays import ArrayLike, Flags, Floats
from reticent.audit.intervals import Share, difference_interval, share_interval


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
    validation.open_probability("confidence", confidence)
    above = _placements(inside, outside)
    below = 1 - _placements(outside, inside)
    value = float(above.mean())
    error = math.sqrt(above.var(ddof=1) / len(above) + below.var(ddof=1) / len(below))
    low, high = _interval(value, error, min(len(inside), len(outside)), confidence)
    return Measured(value=value, low=low, high=high, confidence=confidence)


def two_sides(members: ArrayLike, others: ArrayLike, *, at_least: int = 1) -> tuple[Floats, Floats]:
    """Scores of members and of others as two lists of finite numbers."""
    inside, outside = (
        validation.float_array("members", members),
        validation.float_array("others", others),
    )
    if inside.ndim != 1 or outside.ndim != 1 or min(len(inside), len(outside)) < at_least:
        raise validation.InputError(
            f"scores must be two lists of at least {at_least} numbers each, got shapes"
            f" {inside.shape} and {outside.shape}"
        )
    return inside, outside


def _placements(scores: Floats, among: Floats) -> Floats:
    """The share of ``among`` below each score, ties half."""
    ordered = np.sort(among)
    left = np.searchsorted(ordered, scores, side="left")
    right = np.searchsorted(ordered, scores, side="right")
    return (left + right) / (2 * len(among))


def _interval(value: float, error: float, fewest: int, confidence: float) -> tuple[float, float]:
    if value in (0.0, 1.0):
        end = 1 - ((1 - confidence) / 2) ** (1 / fewest)
        return (1 - end, 1.0) if value else (0.0, end)
    quantile = float(stats.norm.ppf((1 + confidence) / 2))
    odds, width = math.log(value / (1 - value)), quantile * error / (value * (1 - value))
    return _sigmoid(odds - width), _sigmoid(odds + width)


def _sigmoid(odds: float) -> float:
    return 0.5 * (1 + math.tanh(odds / 2))


@dataclass(frozen=True, kw_only=True, eq=False)
class Roc:
    """Shares of others and of members at or above each threshold, from (0, 0) to (1, 1)."""

    fpr: Floats
    tpr: Floats
    thresholds: Floats
    members: int
    others: int


def roc(members: ArrayLike, others: ArrayLike) -> Roc:
    """All points of scikit-learn's ``roc_curve``; equal scores make one step.

    >>> curve = roc([3.0, 2.0], [2.0, 1.0])
    >>> curve.fpr.tolist(), curve.tpr.tolist()
    ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    """
    inside, outside = two_sides(members, others)
    labels = np.repeat([1, 0], [len(inside), len(outside)])
    fpr, tpr, thresholds = roc_curve(labels, np.concatenate([inside, outside]),
                                     drop_intermediate=False)  # fmt: skip
    return Roc(fpr=fpr, tpr=tpr, thresholds=thresholds, members=len(inside), others=len(outside))


def ceiling(fpr: ArrayLike, epsilon: float, delta: float) -> Floats:
    """The largest TPR of any attack on an (ε, δ)-private release (Kairouz et al. 2015).

    min(e^ε·FPR + δ, 1 − e^{−ε}(1 − δ − FPR)), and at most 1.

    >>> ceiling([0.0, 0.1, 1.0], epsilon=1.0, delta=0.0).round(3).tolist()
    [0.0, 0.272, 1.0]
    """
    rates = validation.float_array("fpr", fpr)
    validation.non_negative("epsilon", epsilon)
    validation.probability("delta", delta)
    if not ((rates >= 0) & (rates <= 1)).all():
        raise validation.InputError("fpr must be between 0 and 1, got other numbers")
    with np.errstate(divide="ignore"):  # e^ε·0 is 0 for every ε
        risen = np.exp(np.minimum(epsilon + np.log(rates), 0.0)) + delta
    bent = -np.expm1(-epsilon) + np.exp(-epsilon) * (delta + rates)  # keeps the digits of a small ε
    return np.asarray(np.minimum(np.minimum(risen, bent), 1.0))


_OTHERS_BEYOND = 10
"""TPR at a FPR takes so many non-members above the threshold, or it is mostly chance."""


def share_above(scores: ArrayLike, *, threshold: float, confidence: float = 0.95) -> Measured:
    """The share that is called members: of members the TPR, of others the FPR (Clopper–Pearson).

    >>> print(share_above([0.1, 0.2, 0.7, 0.9], threshold=0.5))
    0.500 [0.068, 0.932]
    """
    share = _above(
        validation.float_array("scores", scores), validation.finite("threshold", threshold)
    )
    low, high = share_interval(
        share, confidence=validation.open_probability("confidence", confidence)
    )
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
        inside, outside, confidence=validation.open_probability("confidence", confidence)
    )
    return Measured(value=inside.value - outside.value, low=low, high=high, confidence=confidence)


def balanced_accuracy(
    members: ArrayLike, others: ArrayLike, *, threshold: float, confidence: float = 0.95
) -> Measured:
    """½(TPR + TNR) = ½(1 + leakage), so its interval is that of the leakage."""
    advantage = leakage(members, others, threshold=threshold, confidence=confidence)
    return balanced(advantage)


def balanced(advantage: Measured) -> Measured:
    """The balanced accuracy that a leakage amounts to."""
    value, low, high = (
        (1 + number) / 2 for number in (advantage.value, advantage.low, advantage.high)
    )
    return Measured(value=value, low=low, high=high, confidence=advantage.confidence)


def precision(
    members: ArrayLike, others: ArrayLike, *, threshold: float, confidence: float = 0.95
) -> Measured:
    """The share of members among those called members, at this ratio of members to others.

    Clopper–Pearson given how many are called members, as if each record had been drawn with this
    ratio. Where both numbers were fixed beforehand the share varies less: the interval is safe.
    """
    inside, outside = _shares(members, others, threshold)
    validation.open_probability("confidence", confidence)
    share = Share(hits=inside.hits, of=inside.hits + outside.hits)
    if share.of == 0:
        raise validation.InputError(
            "threshold must leave records above it, got none: precision is undefined"
        )
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
    validation.open_probability("fpr", fpr)
    validation.open_probability("confidence", confidence)
    if len(outside) * fpr < _OTHERS_BEYOND * (1 - 1e-9):
        raise validation.InputError(
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
    validation.finite("threshold", threshold)
    return _above(inside, threshold), _above(outside, threshold)


def _above(scores: Floats, threshold: float) -> Share:
    return _share(scores > threshold)


def _share(hits: Flags) -> Share:
    return Share(hits=int(hits.sum()), of=hits.size)


def over_repeats(values: ArrayLike, *, confidence: float = 0.95) -> Measured:
    """The mean with Student's interval.

    It holds for repeats that are independent and nearly normal: each must draw anew whatever the
    figure is said to vary over.

    >>> print(over_repeats([0.61, 0.63, 0.62]))
    0.620 [0.595, 0.645]
    """
    figures = validation.float_array("values", values)
    validation.open_probability("confidence", confidence)
    if figures.ndim != 1 or len(figures) < 2:
        raise validation.InputError(f"values must be at least 2 numbers, got shape {figures.shape}")
    error = float(figures.std(ddof=1)) / math.sqrt(len(figures))
    width = float(stats.t.ppf((1 + confidence) / 2, len(figures) - 1)) * error
    mean = float(figures.mean())
    return Measured(value=mean, low=mean - width, high=mean + width, confidence=confidence)
