"""How far one image can move what contrastive training releases of a batch (docs/theory.md E.6).

An image has two views with embeddings z¹ and z², ‖z‖ ≤ 1, and adds A = (z¹z¹ᵀ + z²z²ᵀ)/2 to the
second moment of the batch: positive semidefinite, of trace at most 1 and so of Frobenius norm at
most 1. Add-remove: Δ_F = 1, reached where both views agree. Replace-one: ⟨A, A′⟩ ≥ 0, hence
‖A − A′‖² ≤ ‖A‖² + ‖A′‖² ≤ 2, reached by two images with orthogonal embeddings. A person with m
images adds a positive semidefinite matrix of trace m at most: m times that.
"""

import math

from reticent.bounds.statistics import EXACT_BLOCK
from reticent.bounds.sums import ROOM
from reticent.guarantee import Relation, Sensitivity
from reticent.guarantee.grade import as_relation
from reticent.guarantee.minting import proven
from reticent.guarantee.rounding import up
from reticent.validation import InputError, count


def embedding_moment(
    *, width: int, records: int, relation: Relation | str, max_records_per_person: int = 1
) -> Sensitivity:
    """Of Σ (z¹z¹ᵀ + z²z²ᵀ)/2 over the images of a batch, in an orthonormal basis.

    Entries of z are whole multiples of 2⁻²⁰, so sums of products are exact within blocks of 2¹²
    views; the totals over the blocks of at most 4N views, of norm at most 4N before they are
    halved, round 4N/2¹² + 4 times in each of two neighbours.

    >>> round(embedding_moment(width=32, records=60_000, relation="add-remove").l2, 6)
    1.0
    >>> round(embedding_moment(width=32, records=60_000, relation="replace-one").l2, 6)
    1.414214
    """
    return _of_pairs(
        "second moment of unit embeddings of two views",
        {Relation.ADD_REMOVE: 1.0, Relation.REPLACE_ONE: math.sqrt(2.0)},
        entries=count("width", width) * (width + 1) // 2,
        records=records,
        relation=as_relation(relation),
        max_records_per_person=max_records_per_person,
    )


def embedding_correlation(
    *, width: int, records: int, relation: Relation | str, max_records_per_person: int = 1
) -> Sensitivity:
    """Of Σ z¹z²ᵀ over the images of a batch, all k² entries; rounding as for the moment.

    ‖z¹z²ᵀ‖_F = ‖z¹‖·‖z²‖ ≤ 1, and two of them are at most 2 apart: z and −z in one view do that.

    >>> round(embedding_correlation(width=32, records=60_000, relation="replace-one").l2, 6)
    2.0
    """
    return _of_pairs(
        "cross-correlation of unit embeddings of two views",
        {Relation.ADD_REMOVE: 1.0, Relation.REPLACE_ONE: 2.0},
        entries=count("width", width) ** 2,
        records=records,
        relation=as_relation(relation),
        max_records_per_person=max_records_per_person,
    )


def _of_pairs(
    what: str,
    by: dict[Relation, float],
    *,
    entries: int,
    records: int,
    relation: Relation,
    max_records_per_person: int,
) -> Sensitivity:
    if relation not in by:
        raise InputError("relation must be add-remove or replace-one, got neither")
    most = ROOM * count("records", records)
    each = count("max_records_per_person", max_records_per_person)
    rounding = 2 * most * (2 * most / EXACT_BLOCK + 4) * 2.0**-53
    l2 = up(each * by[relation] + rounding)
    return proven(
        Sensitivity(
            l1=up(math.sqrt(entries) * l2),
            l2=l2,
            relation=relation,
            source=f"{what}, theory E.6: N = {records}, records each {each}",
        )
    )
