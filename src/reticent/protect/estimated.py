"""A head's weights released with a sensitivity that is no theorem: for comparison, never proven.

The noise is real and correctly rounded; only the sensitivity behind it is sampled, published or
typed, and the guarantee says so in its grade.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from reticent.guarantee import Grade, Relation, Sensitivity
from reticent.protect.budget import calibrated, mechanism_of
from reticent.protect.public_numbers import PublicNumbers, records_touched
from reticent.protect.released_head import ReleasedHead
from reticent.training import SoftmaxHead
from reticent.validation import InputError, describe


def release_estimated(
    head: SoftmaxHead,
    sensitivity: Sensitivity,
    *,
    epsilon: float,
    delta: float,
    mechanism: str = "gaussian",
    records_each: int | None = None,
) -> ReleasedHead:
    """Noise on a fitted head's coordinates, calibrated to a sensitivity of these coordinates.

    The grade of the guarantee is the sensitivity's; a proven one belongs to ``release_weights``.
    An estimate is about one record: ``records_each`` is 1 where each person keeps one row and is
    the unit, and None else.
    """
    if records_touched(records_each) > 1:
        raise InputError(f"records_each must be 1 or None for an estimate, got {records_each}")
    if not isinstance(head, SoftmaxHead):
        raise InputError(f"head must be a fitted SoftmaxHead, got {describe(head)}")
    if sensitivity.grade is Grade.PROVEN:
        raise InputError("sensitivity must be an estimate, got a proven one: use release_weights")
    if sensitivity.relation is Relation.AS_DECLARED:
        raise InputError("relation of the sensitivity must be said, got none")
    fit = head.certified()
    noise = calibrated(mechanism_of(mechanism), sensitivity, epsilon=epsilon, delta=delta)
    public = PublicNumbers.of(fit.numbers, records_each=records_each, mean=None)
    claim = noise.guarantee(delta=delta, unit=public.unit)
    return ReleasedHead(
        coordinates=noise.release(head.coordinates_),
        classes_=head.classes_,
        centre=None if head.centre is None else np.array(head.centre, dtype=np.float64),
        guarantee=dataclasses.replace(claim, epsilon=epsilon),
        mechanism=noise.name,
        scale=noise.scale,
        public=public,
    )
