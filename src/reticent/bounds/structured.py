"""How far one record can move class sums, class counts and a joint second moment, for pure ε.

A record with features ‖x‖ ≤ 1 and class y adds

- x to the sum of its class and nothing to the others: one block of C, so Δ₂₁ ≤ 1;
- 1 to the count of its class: Δ₁ ≤ 1;
- the matrix A = (α·x xᵀ, β·x eᵀ; β·e xᵀ, ν·e eᵀ), e the unit vector of the class, to a joint
  moment. With β² ≤ α·ν it is positive semidefinite (its part in the span of x and e has the
  determinant (αν − β²)‖x‖² ≥ 0), so its nuclear norm is its trace, α‖x‖² + ν ≤ α + ν.

Under replace-one a record is taken away and another added: twice that, by the triangle inequality.
A person with m records: m times that.

Rounding: entries of x are whole multiples of 2⁻²⁰, so sums of x over fewer than 2³² records are
exact, and those of products are exact within blocks of 2¹² records. Totals over the blocks and
products with the weights round at most 2N/2¹² + 8 times, each by 2⁻⁵³ of a Frobenius norm of 2N at
most; a p × p matrix of Frobenius norm r has a nuclear norm of √p·r at most (theory H.4).
"""

import math
from fractions import Fraction
from typing import Final

from reticent.bounds.statistics import EXACT_BLOCK
from reticent.bounds.sums import ROOM
from reticent.guarantee import Relation, Sensitivity, grade, minting
from reticent.guarantee.rounding import up
from reticent.validation import InputError, count, positive

MOST_RECORDS: Final = 2**31
"""Sums over twice as many rows on the grid of 2⁻²⁰ are exact in float64."""


def separate_class_sums(
    *, classes: int, records: int, relation: Relation | str, max_records_per_person: int = 1
) -> Sensitivity:
    """Δ₂₁ of the sums of unit rows of each class, a block for each.

    >>> separate_class_sums(classes=10, records=100, relation="replace-one").l21
    2.0
    """
    touched = _touched(records, relation, max_records_per_person)
    return minting.proven(
        Sensitivity(
            l21=float(touched),
            blocks=count("classes", classes),
            relation=grade.as_relation(relation),
            source=f"sums of unit rows of {classes} classes, theory H.3: N = {records}, records"
            f" each {max_records_per_person}",
        )
    )


def class_counts(
    *, records: int, relation: Relation | str, max_records_per_person: int = 1
) -> Sensitivity:
    """Δ₁ of the numbers of records of all classes.

    >>> class_counts(records=100, relation="add-remove").l1
    1.0
    """
    touched = _touched(records, relation, max_records_per_person)
    return minting.proven(
        Sensitivity(
            l1=float(touched),
            relation=grade.as_relation(relation),
            source=f"class counts: N = {records}, records each {max_records_per_person}",
        )
    )


def joint_moment(  # noqa: PLR0913 - one argument for each public number of the theorem
    *,
    moment: float,
    sums: float,
    counts: float,
    order: int,
    records: int,
    relation: Relation | str,
    max_records_per_person: int = 1,
) -> Sensitivity:
    """Δ_* of second moment (weight α), class sums (β) and counts (ν) as one matrix of this order.

    >>> weights = {"moment": 0.75, "sums": 0.4, "counts": 0.25, "order": 9}
    >>> round(joint_moment(**weights, records=100, relation="add-remove").nuclear, 6)
    1.0
    """
    alpha, beta, nu = positive("moment", moment), positive("sums", sums), positive("counts", counts)
    if Fraction(beta) ** 2 > Fraction(alpha) * Fraction(nu):
        raise InputError(
            f"sums must be <= the root of moment·counts, got {beta}: else no term is semidefinite"
        )
    touched = _touched(records, relation, max_records_per_person)
    most, trace = ROOM * records, alpha + nu
    roundings = (most / EXACT_BLOCK + 8) * 2.0**-53 * most * (alpha + 2 * beta + nu)
    rounding = 2 * math.sqrt(count("order", order)) * roundings
    return minting.proven(
        Sensitivity(
            nuclear=up(touched * up(trace) + up(rounding)),
            relation=grade.as_relation(relation),
            source=f"second moment × {alpha}, class sums × {beta:.6g}, class counts × {nu} in one"
            f" matrix of order {order}, theory H.4: N = {records}, records each"
            f" {max_records_per_person}",
        )
    )


def _touched(records: int, relation: Relation | str, max_records_per_person: int) -> int:
    """How many records come or go at most."""
    relation = grade.as_relation(relation)
    if relation is Relation.AS_DECLARED:
        raise InputError("relation must be add-remove or replace-one, got neither")
    if count("records", records) > MOST_RECORDS:
        raise InputError(f"records must be <= 2**31 for exact sums, got {records}")
    each = count("max_records_per_person", max_records_per_person)
    return each * (1 if relation is Relation.ADD_REMOVE else 2)
