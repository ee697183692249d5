"""What every release of a certified head asks of it, before anything is noised."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from reticent.guarantee import Grade, Relation
from reticent.protect.mean import ReleasedMean
from reticent.training import PublicStep, SigmoidHead, SoftmaxHead
from reticent.training.linear_head import LinearHead
from reticent.validation import InputError, describe


def head_of(model: object) -> tuple[Any, tuple[str, ...]]:
    """The head at the end of a pipeline, and what its steps oblige the user to state."""
    if not isinstance(model, Pipeline):
        return model, ()
    named = [(name, step) for name, step in model.steps[:-1] if step not in (None, "passthrough")]
    for name, step in named:
        if type(step) is not PublicStep:
            raise InputError(
                f"step {name!r} before the head must be a PublicStep, got "
                f"{type(step).__name__}, which was fitted on the private rows: fit it on public "
                "rows and wrap it, PublicStep(step)"
            )
    return model.steps[-1][1], tuple(
        f"step {name!r} before the head was fitted on public data alone" for name, _ in named
    )


def refuse_unproven(head: object, relation: Relation, records_each: int) -> None:
    """Whatever would make a claim about this head unproven, in one line."""
    if hasattr(head, "best_estimator_"):
        raise InputError(
            "head must not come from a search over private records, whose cost is not accounted "
            f"for, got {type(head).__name__}: take the penalty from public_penalty"
        )
    if type(head) not in (SoftmaxHead, SigmoidHead):  # a subclass may compute something else
        raise InputError(f"head must be a SoftmaxHead or SigmoidHead itself, got {describe(head)}")
    assert isinstance(head, LinearHead)
    if not hasattr(head, "coordinates_"):
        raise InputError("head must be fitted, got an unfitted one")
    if head.classes is None:
        raise InputError("classes must be given to the head for a proven release, got None")
    if isinstance(getattr(head, "class_weight", None), str):
        raise InputError("class_weight must be public for a proven release, got 'balanced'")
    if head.records is None and (relation is Relation.ADD_REMOVE or records_each > 1):
        raise InputError(
            "records must be given to the head under add-remove and for persons, got None"
        )
    if relation is Relation.AS_DECLARED:
        raise InputError("relation must be add-remove or replace-one, got neither")


def refuse_other_mean(
    head: LinearHead,
    mean: ReleasedMean | None,
    relation: Relation,
    mechanism: str | None,
    records_each: int,
) -> None:
    """The mean must be the very one that the head was centred by, under the same terms.

    Without ``mechanism`` its noise may be of any kind.
    """
    if mean is None:
        return
    if type(mean) is not ReleasedMean or mean.guarantee.grade is not Grade.PROVEN:
        raise InputError("mean must be as release_mean returned it, got a changed one")
    centre = None if head.centre is None else np.asarray(head.centre, dtype=np.float64)
    if centre is None or centre.tobytes() != mean.values.tobytes():
        raise InputError("centre of the head must be the values of the mean, got others")
    terms = (mean.guarantee.relation, mean.mechanism, mean.records_each)
    if terms != (relation, mechanism or mean.mechanism, records_each):
        raise InputError(
            f"mean must have the relation, mechanism and records_each of the release, got {terms}"
        )
