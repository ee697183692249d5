"""Recalls and balanced accuracy of a model, from which test records its draws get right."""

import math
from collections.abc import Sequence

import numpy as np

from reticent.arrays import Array, Flags
from reticent.results.attack import Interval
from reticent.results.by_class import ByClass, Recall
from reticent.results.conversions import CONFIDENCE, accuracy_of, moved_by_draws, wilson_limits


def by_class_of(
    hits: Sequence[Flags], labels: Array, classes: Sequence[str], *, before: ByClass | None = None
) -> ByClass:
    """The recall of each class that the test records have, and their mean.

    Args:
        hits: Of each draw, which test records it gets right.
        labels: The true class of each test record.
        classes: All classes, in their order.
        before: The same of the unprotected model, for what is lost.

    Intervals of recalls hold together (Bonferroni): each is of 1 − 0.05/C confidence.
    """
    correct = np.stack(hits)
    places = {label: np.flatnonzero(labels == label) for label in classes}
    by_label = {label: correct[:, rows] for label, rows in places.items() if len(rows)}
    each = 1 - (1 - CONFIDENCE) / len(by_label)
    recalls = tuple(
        _with_loss(label, accuracy_of(list(own), confidence=each), own.shape[1], before)
        for label, own in by_label.items()
    )
    balanced = _balanced(list(by_label.values()))
    return ByClass(
        balanced_accuracy=balanced,
        balanced_loss=None if before is None else relative_loss(before.balanced_accuracy, balanced),
        recalls=recalls,
    )


def with_losses(by_class: ByClass, before: ByClass) -> ByClass:
    """The same recalls, with what each loses against the unprotected model."""
    return ByClass(
        balanced_accuracy=by_class.balanced_accuracy,
        balanced_loss=relative_loss(before.balanced_accuracy, by_class.balanced_accuracy),
        recalls=tuple(
            _with_loss(one.label, one.recall, one.test, before) for one in by_class.recalls
        ),
    )


def relative_loss(before: Interval, after: Interval) -> Interval | None:
    """1 − after/before with limits from those of both; None where before is 0.

    The limits of a ratio from the limits of its parts: MOVER-R (Donner, Zou 2012), as if both were
    measured on records of their own. The same records get both models right more often than that,
    which makes the interval too wide, never too narrow.
    """
    if not before.value > 0:
        return None
    product = after.value * before.value
    least = after.low * (2 * after.value - after.low)
    most = after.high * (2 * after.value - after.high)
    wide, narrow = (limit * (2 * before.value - limit) for limit in (before.high, before.low))
    root = math.sqrt(max(product**2 - wide * least, 0.0))
    low = least / (product + root) if product > 0 else 0.0
    high = (product + math.sqrt(max(product**2 - narrow * most, 0.0))) / narrow
    return Interval(
        value=1 - after.value / before.value,
        low=1 - high,
        high=1 - low,
        confidence=min(before.confidence, after.confidence),
    )


def _with_loss(label: str, recall: Interval, records: int, before: ByClass | None) -> Recall:
    was = None if before is None else before.of(label)
    lost = None if was is None else relative_loss(was.recall, recall)
    return Recall(label=label, test=records, recall=recall, loss=lost)


def _balanced(class_hits: Sequence[Flags]) -> Interval:
    """The mean recall: Wilson's limits of each class joined by their squares, and the draws'."""
    draws = np.mean([own.mean(axis=1) for own in class_hits], axis=0)
    value = float(draws.mean())
    moved, gaps = moved_by_draws(draws, CONFIDENCE), []
    for own in class_hits:
        share = float(own.mean())
        gaps.append([share - limit for limit in wilson_limits(share, own.shape[1], CONFIDENCE)])
    below, above = (
        math.hypot(math.hypot(*side) / len(class_hits), moved) for side in zip(*gaps, strict=True)
    )
    low, high = max(value - below, 0.0), min(value + above, 1.0)
    return Interval(value=value, low=low, high=high, confidence=CONFIDENCE)
