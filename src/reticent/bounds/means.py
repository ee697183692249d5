"""How far one record can move a sum of clipped rows."""

import math

from reticent.guarantee import Relation, Sensitivity, grade, minting, rounding
from reticent.validation import InputError, count, positive


def clipped_sum(
    *, bound: float, features: int, relation: Relation | str, max_records_per_person: int = 1
) -> Sensitivity:
    """Δ₂ = k·m·R for the exact sum of rows of norm at most R, and √d times that in L1.

    k = 1 under add-remove and 2 under replace-one; m ``max_records_per_person``.

    >>> clipped_sum(bound=2.0, features=9, relation="replace-one").l2
    4.0
    """
    relation = grade.as_relation(relation)
    if relation is Relation.AS_DECLARED:
        raise InputError("relation must be add-remove or replace-one, got neither")
    bound, width = positive("bound", bound), count("features", features)
    each = count("max_records_per_person", max_records_per_person)
    l2 = rounding.product_up(bound, (1 if relation is Relation.ADD_REMOVE else 2) * each)
    return minting.proven(
        Sensitivity(
            l1=rounding.up(math.sqrt(width) * l2),
            l2=l2,
            relation=relation,
            source=f"sum of {width} features, rows clipped to {bound}, records each {each}",
        )
    )
