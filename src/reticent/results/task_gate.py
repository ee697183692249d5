"""The gate of ``--fail-above`` for a run on a number, or on several labels.

``loss`` is the relative change of the first measure (RMSE, or the mean accuracy of all labels); the
figures of attacks and ε are those of every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from reticent.results.gate import EPSILON, LOSS, OPTION, TPR, Excess, Limit, exceeded
from reticent.results.task_results import TaskResults
from reticent.validation import InputError

KNOWN: Final = ("auc", "balanced-accuracy", "leakage", TPR, LOSS, EPSILON)


def refuse_other_limits(limits: Sequence[Limit]) -> None:
    """Limits on figures of classes, which such a run does not have."""
    if other := [limit for limit in limits if limit.figure not in KNOWN]:
        raise InputError(f"{OPTION} must be of {', '.join(KNOWN)} here, got {other[0].figure}")


def exceeded_by_task(results: TaskResults, limits: Sequence[Limit]) -> tuple[Excess, ...]:
    """What is above the limits, of the release that is handed over."""
    refuse_other_limits(limits)
    return exceeded(cast(Any, results), limits)
