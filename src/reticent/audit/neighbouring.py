"""Whether two data sets are neighbours: an audit of others would refute what nobody claimed."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import ArrayLike

from reticent.guarantee import Relation
from reticent.validation import InputError, float_rows

World = tuple[ArrayLike, ArrayLike]
"""Rows and labels (or targets)."""


def refuse_others(one: World, other: World, relation: Relation, records_each: int = 1) -> None:
    """Refuse two data sets that differ by more than one person's records, in whatever order.

    >>> refuse_others(([[1.0]], [0]), ([[1.0], [2.0]], [0, 1]), Relation.ADD_REMOVE)
    """
    mine, theirs = _records(one), _records(other)
    only = (mine - theirs).total(), (theirs - mine).total()
    if relation is Relation.REPLACE_ONE:
        fits = only[0] == only[1] <= records_each
    else:
        fits = min(only) == 0 and max(only) <= records_each
    if not fits or max(only) == 0:
        raise InputError(
            f"worlds must differ by {records_each} record(s) at most and one at least, neighbours:"
            f" {relation}; got {only[0]} records of the first that the second lacks, {only[1]} the"
            " other way round"
        )


def _records(world: World) -> Counter[bytes]:
    rows, labels = float_rows("world", world[0]), np.asarray(world[1])
    if len(rows) != len(labels):
        raise InputError(f"world must have a label for each of {len(rows)} rows, got {len(labels)}")
    return Counter(
        row.tobytes() + repr(label).encode()
        for row, label in zip(rows, labels.tolist(), strict=True)
    )
