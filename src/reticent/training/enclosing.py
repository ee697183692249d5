"""What stands around a fit: estimators that call it, and code that replaces its own.

A head or learner cannot see the pipeline around it, but it can see who called: a scaler that a
Pipeline fits on the private rows, or a search over settings (GridSearchCV), makes what is fitted
depend on all rows before any bound is applied. What runs in another process is not seen here.
"""

import sys
from collections.abc import Iterator
from types import FrameType
from typing import NamedTuple

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from reticent.training.public_step import PublicStep


class Enclosing(NamedTuple):
    """What stands around a fit: why nothing can be proven of it, or what is to be stated."""

    problem: str | None = None
    stated: tuple[str, ...] = ()


def enclosing(estimator: BaseEstimator | None = None) -> Enclosing:
    """Of the fit, or of the release without an estimator, that is running now."""
    own: set[str] = set() if estimator is None else set(vars(estimator))
    if replaced := sorted(own & set(dir(type(estimator)))):
        return Enclosing(
            problem=f"{type(estimator).__name__} must be fitted with its own methods and constants,"
            f" got another {replaced[0]!r}"
        )
    stated: tuple[str, ...] = ()
    for around in _callers(estimator):
        if not isinstance(around, Pipeline):
            name = type(around).__name__
            return Enclosing(
                problem="fit must be called by itself or at the end of a Pipeline of PublicSteps,"
                f" got a fit inside {name}, which looks at the private rows too"
            )
        found = steps_before(around)
        if found.problem is not None:
            return found
        stated = (*stated, *found.stated)
    return Enclosing(stated=stated)


def steps_before(pipeline: Pipeline) -> Enclosing:
    """The steps before the last: each must have been fitted on public data."""
    named = [
        (name, step) for name, step in pipeline.steps[:-1] if step not in (None, "passthrough")
    ]
    for name, step in named:
        if type(step) is not PublicStep:
            return Enclosing(
                problem=f"step {name!r} before the head must be a PublicStep, got "
                f"{type(step).__name__}, which was fitted on the private rows: fit it on public "
                "rows and wrap it, PublicStep(step)"
            )
    return Enclosing(
        stated=tuple(
            f"step {name!r} before the head was fitted on public data alone" for name, _ in named
        )
    )


def _callers(estimator: BaseEstimator | None) -> Iterator[BaseEstimator]:
    """The estimators whose methods are running in this thread, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    seen = {id(estimator)}
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, BaseEstimator) and id(owner) not in seen:
            seen.add(id(owner))
            yield owner
        frame = frame.f_back
