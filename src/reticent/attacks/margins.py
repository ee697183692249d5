"""φ, the scaled logit of the true class: what LiRA, RMIA and the reference test compare.

φ(x, y) = z_y − log Σ_{j≠y} e^{z_j} = log(p_y / (1 − p_y)), from the logits and without forming
1 − p_y: exact where p_y rounds to 1. It is nearly normal over models (Carlini et al. 2022, section
V), log p_y = log expit(φ), and a constant added to a row of logits does not change it.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from reticent.arrays import Array, Flags, Floats, Integers
from reticent.attacks.records import Records
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import Target
from reticent.validation import InputError

Augment = Callable[[Array], Sequence[ArrayLike]]
"""n inputs to several views, each of n inputs in the same order."""


def margins(logits: Floats, labels: Integers) -> Floats:
    """φ of each row: its own logit less the log-sum-exp of the others.

    >>> margins(np.log([[0.8, 0.1, 0.1]]), np.array([0])).round(12) == np.log(4).round(12)
    array([ True])
    """
    columns = np.array(logits.T, order="C")  # class by class: sums over few classes run in step
    rows = np.arange(len(labels))
    own = columns[labels, rows]
    columns[labels, rows] = -np.inf
    top = columns.max(axis=0)
    columns -= top
    found: Floats = own - top - np.log(np.exp(columns, out=columns).sum(axis=0))
    return found


def target_margins(target: Target, records: Records, views: Sequence[ArrayLike]) -> Floats:
    """φ of each record, averaged over its views."""
    return _mean_margins(target, records.among(target.classes), views)


def shadow_margins(shadows: Shadows, records: Records, views: Sequence[ArrayLike]) -> Floats:
    """Shadows × records; all shadows have their classes in one order."""
    labels = records.among(shadows.classes)
    return np.stack([_mean_margins(model, labels, views) for model in shadows.models])


def _mean_margins(target: Target, labels: Integers, views: Sequence[ArrayLike]) -> Floats:
    if len(target.classes) < 2:
        raise InputError(f"target must have at least 2 classes, got {len(target.classes)}")
    found: Floats = np.mean([margins(target.logits(view), labels) for view in views], axis=0)
    return found


def views_of(records: Records, augment: Augment | None) -> Sequence[ArrayLike]:
    """The inputs alone, or what ``augment`` makes of them: drawn once, shown to every model."""
    if augment is None:
        return (records.inputs,)
    views = [np.asarray(view) for view in augment(records.inputs)]
    if not views or any(len(view) != len(records) for view in views):
        raise InputError(
            f"augment must give views of {len(records)} inputs each, got"
            f" {[len(view) for view in views]}"
        )
    return views


def require_shadows(flags: Flags, *, at_least: int, which: str, what: str = "record") -> None:
    """Refuses records for which too few shadows (rows) have the flag."""
    found = flags.sum(axis=0)
    if wrong := int((found < at_least).sum()):
        raise InputError(
            f"each {what} must have at least {at_least} shadows that {which}, {wrong} of"
            f" {len(found)} have fewer (fewest: {int(found.min())})"
        )
