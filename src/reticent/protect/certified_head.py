"""What every release of a certified head asks of it, before anything is noised."""

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from reticent.guarantee import Relation
from reticent.protect import noisy_query, release
from reticent.protect.registry import is_own
from reticent.protect.terms import Terms
from reticent.training import SigmoidHead, SoftmaxHead, public_step
from reticent.training.linear_head import CertifiedFit, LinearHead
from reticent.validation import InputError, describe


def head_of(model: object) -> tuple[Any, tuple[str, ...]]:
    """The head at the end of a pipeline, and the names of the public steps before it."""
    if not isinstance(model, Pipeline):
        return model, ()
    before = public_step.steps_before(model)
    if before.problem is not None:
        raise InputError(before.problem)
    return model.steps[-1][1], before.steps


def refuse_unproven(head: object, terms: Terms) -> None:
    """Whatever would make a claim about this head under these terms unproven, in one line."""
    refuse_other_head(head)
    assert isinstance(head, LinearHead)
    several = terms.records_touched > 1  # else replace-one keeps n, the number of units
    if head.records is None and (terms.relation is Relation.ADD_REMOVE or several):
        raise InputError(
            "records must be given to the head under add-remove and for persons with several"
            " records, got None"
        )


def refuse_other_head(head: object) -> None:
    """A head of another class, from a search, unfitted, or with classes or weights off the data."""
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


def certified_fit(head: LinearHead, steps: tuple[str, ...]) -> tuple[CertifiedFit, tuple[str, ...]]:
    """What the fit certified, and the public steps before it, these ``steps`` among them.

    A head that was taken out of the pipeline or search that fitted it is refused like these.
    """
    fit = LinearHead.certified(head)  # not what an attribute of that name says
    if fit.context.problem is not None:
        raise InputError(fit.context.problem)
    return fit, tuple(dict.fromkeys((*steps, *fit.context.steps)))


def refuse_other_mean(
    head: LinearHead, mean: release.Release | None, terms: Terms, mechanism: str | None = None
) -> None:
    """The mean must be the very one that the head was centred by, under the same terms.

    Without ``mechanism`` its noise may be of any kind.
    """
    if mean is None:
        return
    own = type(mean) is release.Release and is_own(mean.recipe) and mean.recipe.centres_heads
    if not own or not (noisy_query.is_minted(mean.guarantee) or mean.terms.inferred):
        raise InputError("mean must be as release_mean returned it, got a changed one")
    centre = None if head.centre is None else np.asarray(head.centre, dtype=np.float64)
    if centre is None or centre.tobytes() != mean.tensors["mean"].tobytes():
        raise InputError("centre of the head must be the values of the mean, got others")
    common = (mean.terms.relation, mean.mechanism, mean.terms.max_records_per_person)
    if common != (terms.relation, mechanism or mean.mechanism, terms.max_records_per_person):
        raise InputError(
            "mean must have the relation, mechanism and max_records_per_person of the release, got"
            f" {common}"
        )
