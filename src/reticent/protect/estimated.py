"""A head's weights released with a sensitivity that is no theorem: for comparison, never proven.

The noise is real and correctly rounded; only the sensitivity behind it is sampled, published or
typed, and the guarantee says so in its grade.
"""

import dataclasses

import numpy as np

from reticent.guarantee import Grade, Relation, Sensitivity
from reticent.mechanisms.registry import MECHANISMS
from reticent.protect import release, weights
from reticent.protect.recipes.weights import CENTRE, COORDINATES
from reticent.protect.terms import Terms
from reticent.training import SoftmaxHead
from reticent.validation import InputError, describe


def release_estimated(
    head: SoftmaxHead,
    sensitivity: Sensitivity,
    *,
    epsilon: float,
    delta: float,
    mechanism: str = "gaussian",
    max_records_per_person: int | None = None,
) -> release.Release:
    """Noise on a fitted head's coordinates, calibrated to a sensitivity of these coordinates.

    The grade of the guarantee is the sensitivity's; a proven one belongs to ``release_weights``.
    An estimate is about one record: ``max_records_per_person`` is 1 where each person keeps one row
    and is the unit, and None else.
    """
    if max_records_per_person not in (None, 1):
        raise InputError(
            "max_records_per_person must be 1 or None for an estimate, got"
            f" {max_records_per_person}"
        )
    if not isinstance(head, SoftmaxHead):
        raise InputError(f"head must be a fitted SoftmaxHead, got {describe(head)}")
    if sensitivity.grade is Grade.PROVEN:
        raise InputError("sensitivity must be an estimate, got a proven one: use release_weights")
    if sensitivity.relation is Relation.AS_DECLARED:
        raise InputError("relation of the sensitivity must be said, got none")
    terms = Terms(
        epsilon=epsilon,
        delta=delta,
        relation=sensitivity.relation,
        max_records_per_person=max_records_per_person,
    )
    fit, noise = (
        head.certified(),
        MECHANISMS.named(mechanism).calibrate(sensitivity, epsilon=epsilon, delta=delta),
    )
    recipe = weights.weights_recipe(fit.numbers, terms, mechanism, centred=head.centre is not None)
    tensors = {COORDINATES: noise.release(head.coordinates_)}
    if head.centre is not None:
        tensors[CENTRE] = np.array(head.centre, dtype=np.float64)
    return release.Release(
        recipe=recipe,
        terms=terms.with_sources(recipe.public_numbers),
        scales={COORDINATES: noise.scale},
        tensors=tensors,
        guarantee=dataclasses.replace(
            noise.guarantee(delta=delta, unit=terms.unit), epsilon=epsilon
        ),
        classes_=head.classes_,
    )
