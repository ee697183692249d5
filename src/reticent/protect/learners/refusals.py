"""What a learner refuses to be fitted as, because a proven claim about it would be false."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from reticent.training.enclosing import enclosing
from reticent.validation import InputError


def refuse_as_learner(learner: BaseEstimator) -> tuple[str, ...]:
    """Refuse a fit that nothing can be proven of; what public steps before it oblige to state.

    Only the package's own classes mint, by ``type(...) is``: a subclass or a replaced method may
    pass by the noise. A step of a pipeline must have been fitted on public rows, and no other
    estimator may stand around the learner (``training.enclosing``).
    """
    from reticent.protect.learners.registry import LEARNERS

    if type(learner) not in LEARNERS.values():
        raise InputError(
            "learner must be one of the package's own classes to be proven, got"
            f" {type(learner).__name__}, which may compute something else"
        )
    around = enclosing(learner)
    if around.problem is not None:
        raise InputError(around.problem)
    return around.stated
