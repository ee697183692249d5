"""Whether two data sets are neighbours: an audit of others would refute what nobody claimed."""

from collections import Counter

import numpy as np
from numpy.typing import ArrayLike

from reticent.guarantee import Relation
from reticent.protect import Release
from reticent.validation import InputError, float_rows

World = tuple[ArrayLike, ArrayLike]
"""Rows and labels (or targets)."""


def refuse_others(
    one: World, other: World, relation: Relation, max_records_per_person: int = 1
) -> None:
    """Refuse two data sets that differ by more than one person's records, in whatever order.

    >>> refuse_others(([[1.0]], [0]), ([[1.0], [2.0]], [0, 1]), Relation.ADD_REMOVE)
    """
    mine, theirs = _records(one), _records(other)
    only = (mine - theirs).total(), (theirs - mine).total()
    if relation is Relation.REPLACE_ONE:
        fits = only[0] == only[1] <= max_records_per_person
    else:
        fits = min(only) == 0 and max(only) <= max_records_per_person
    if not fits or max(only) == 0:
        raise InputError(
            f"worlds must differ by {max_records_per_person} record(s) at most and one at least,"
            f" neighbours: {relation}; got {only[0]} records of the first that the second lacks,"
            f" {only[1]} the other way round"
        )


def refuse_other_claim(released: Release) -> None:
    """Refuse a release whose guarantee is about other neighbours than its terms.

    Its noise and its neighbours follow from the terms, so the audit would be of another claim.
    """
    terms, claim = released.terms, released.guarantee
    if claim.unit != terms.unit:
        raise InputError(f"unit must be that of the terms, {terms.unit}, got {claim.unit}")
    if claim.relation is not terms.relation:
        raise InputError(
            f"relation must be that of the terms, {terms.relation}, got {claim.relation}"
        )


def _records(world: World) -> Counter[bytes]:
    rows, labels = float_rows("world", world[0]), np.asarray(world[1])
    if len(rows) != len(labels):
        raise InputError(f"world must have a label for each of {len(rows)} rows, got {len(labels)}")
    return Counter(
        row.tobytes() + repr(label).encode()
        for row, label in zip(rows, labels.tolist(), strict=True)
    )
