"""What the library found, as values of the document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from reticent.attacks import Scores
from reticent.attacks.threat import Access
from reticent.audit import AttackReport, Measured, UtilityLoss, roc
from reticent.audit.lower_bound import LowerBound
from reticent.guarantee import Guarantee
from reticent.pipeline.attacking import Attacked
from reticent.results import Attack, Bound, Claim, Curve, Interval, Rate

CONFIDENCE: Final = 0.95
BLACK_BOX: Final = {Access.SCORES, Access.TOP_SCORES, Access.ROUNDED_SCORES, Access.LABELS}
_POINTS: Final = 160
"""Of a drawn ROC curve, densest at few false alarms."""


def claim_of(guarantee: Guarantee) -> Claim:
    """The guarantee with its printed line; its parts are left out."""
    plain: dict[str, Any] = guarantee.to_dict()
    del plain["composed_of"]
    return Claim(**plain, text=str(guarantee))


def bound_of(bound: LowerBound) -> Bound:
    """The lower bound with its printed line."""
    return Bound(
        epsilon=bound.epsilon,
        delta=bound.delta,
        confidence=bound.confidence,
        method=bound.method,
        text=str(bound),
    )


def interval_of(found: Measured | UtilityLoss) -> Interval:
    """Value and limits."""
    return Interval(value=found.value, low=found.low, high=found.high, confidence=found.confidence)


def accuracy_of(hits: Sequence[NDArray[np.bool_]]) -> Interval:
    """The mean accuracy of several draws: records and draws both count for its limits."""
    each = np.stack(hits)
    mean = float(each.mean())
    variance = max(mean * (1 - mean), 1 / each.shape[1]) / each.shape[1]
    if len(each) > 1:
        variance += float(each.mean(axis=1).var(ddof=1)) / len(each)
    half = float(stats.norm.ppf((1 + CONFIDENCE) / 2)) * variance**0.5
    low, high = max(mean - half, 0.0), min(mean + half, 1.0)
    return Interval(value=mean, low=low, high=high, confidence=CONFIDENCE)


def attacks_of(found: Attacked) -> tuple[Attack, ...]:
    """One value for each attack."""
    return tuple(
        _attack(report, found.scores[name], found.inside, name)
        for name, report in found.reports.items()
    )


def _attack(report: AttackReport, scores: Scores, inside: NDArray[np.bool_], name: str) -> Attack:
    smallest = report.smallest_auc
    return Attack(
        name=name,
        threat=str(report.threat),
        black_box=report.threat.access in BLACK_BOX,
        members=report.members,
        others=report.others,
        auc=interval_of(report.auc),
        balanced_accuracy=interval_of(report.balanced_accuracy),
        leakage=interval_of(report.leakage),
        rates=tuple(
            Rate(fpr=fpr, tpr=interval_of(rate)) for fpr, rate in report.tpr_at_fpr.items()
        ),
        roc=_curve(scores.values, inside),
        leaks=report.leaks,
        verdict=report.verdict,
        notes=(*report.notes, *report.refused),
        smallest_auc=None if smallest == float("inf") else smallest,
    )


def _curve(values: NDArray[np.float64], inside: NDArray[np.bool_]) -> Curve:
    found = roc(values[inside], values[~inside])
    wanted = np.unique(np.concatenate([[0.0], np.geomspace(1e-4, 1.0, _POINTS)]))
    # The last point at or below each rate: on a step curve, the best that this rate allows.
    places = np.unique(np.searchsorted(found.fpr, wanted, side="right") - 1)
    return Curve(
        fpr=tuple(found.fpr[places].round(6).tolist()),
        tpr=tuple(found.tpr[places].round(6).tolist()),
    )
