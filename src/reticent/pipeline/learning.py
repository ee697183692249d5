"""From a table of private features to a model by any learner, weights of an optimum included."""

from __future__ import annotations

from collections.abc import Callable

from reticent.data import Dataset
from reticent.guarantee import Event
from reticent.pipeline.protecting import Floats, Wanted, private_rows, protect_head
from reticent.protect import ReleasedHead
from reticent.protect.learners import (
    AdaSSPHead,
    ClassMeansHead,
    LDAHead,
    NoisyGradientHead,
    ReleasedLinear,
)
from reticent.protect.learners.learner import Learner
from reticent.validation import InputError

WEIGHTS = "weights"
LEARNERS: dict[str, type[Learner]] = {
    "noisy-gradient": NoisyGradientHead,
    "class-means": ClassMeansHead,
    "adassp": AdaSSPHead,
    "lda": LDAHead,
}
NAMES = (WEIGHTS, *LEARNERS)


def protect_with(
    data: Dataset,
    wanted: Wanted,
    *,
    learner: str = WEIGHTS,
    charge: Callable[[Event], object] | None = None,
    start: Floats | None = None,
) -> ReleasedHead | ReleasedLinear:
    """A released model; ``learner`` says how it is made.

    "weights" adds noise to the optimum of a softmax head. The others put the noise inside; they
    scale every row to norm 1 and centre it themselves, so bound, penalty and centre are not theirs.
    Where the data name persons each keeps its first rows, and the person is the unit.
    """
    if learner == WEIGHTS:
        return protect_head(data, wanted, charge=charge, start=start)
    if learner not in LEARNERS:
        raise InputError(f"learner must be one of {', '.join(NAMES)}, got {learner!r}")
    wanted = wanted.for_rows_of(data)
    features, labels = private_rows(data, wanted.records_each)
    model = LEARNERS[learner](
        classes=data.classes, records=wanted.records, charge=charge, **wanted.budget
    )
    released: ReleasedLinear = model.fit(features, labels).released_
    return released


def learner_like(released: ReleasedLinear) -> Learner:
    """The learner that a certificate describes, before its fit."""
    claim, recipe = released.guarantee, released.recipe
    kind = next(one for one in LEARNERS.values() if one.name == released.learner)
    return kind(
        classes=released.classes_.tolist(),
        records=recipe.records,
        records_each=recipe.records_each,
        epsilon=claim.epsilon,
        delta=claim.delta,
        relation=claim.relation,
        mechanism=released.mechanism,
    )
