"""How far one unit can move a second moment (theory E.8).

A record adds a positive semidefinite matrix A of trace at most 1, and a person with m records one
of trace at most m; ‖A‖ ≤ tr A in the Frobenius norm. Add-remove: Δ₂ ≤ m. Replace-one: two positive
semidefinite matrices have ⟨A, A′⟩ ≥ 0, so ‖A − A′‖² ≤ ‖A‖² + ‖A′‖² ≤ 2m².

The same holds of several positive semidefinite matrices whose traces add up to at most 1, released
side by side: they are the blocks of one such matrix.

Rounding: entries of rows are whole multiples of 2⁻²⁰, so products add up exactly within blocks of
2¹² records, and the total over the blocks rounds as in ``bounds.statistics``.
"""

import math

from reticent.bounds import statistics, sums
from reticent.guarantee import Relation, Sensitivity, grade, minting
from reticent.guarantee.rounding import up
from reticent.validation import InputError, count

MOST_VIEWS = 64
"""Of a record, for which a block of records is not empty."""


def second_moment(
    what: str,
    *,
    entries: int,
    records: int,
    relation: Relation | str,
    max_records_per_person: int = 1,
) -> Sensitivity:
    """Of Σ x xᵀ, ‖x‖ ≤ 1, in an orthonormal basis of ``entries`` coordinates; √entries in L1.

    >>> public = {"entries": 10, "records": 100}
    >>> round(second_moment("moment", **public, relation="add-remove").l2, 6)
    1.0
    >>> round(second_moment("moment", **public, relation="replace-one").l2 ** 2, 6)
    2.0
    """
    relation = grade.as_relation(relation)
    if relation is Relation.AS_DECLARED:
        raise InputError("relation must be add-remove or replace-one, got neither")
    each = count("max_records_per_person", max_records_per_person)
    most = sums.ROOM * count("records", records)
    rounding = 2 * most * (most / statistics.EXACT_BLOCK + 4) * 2.0**-53
    l2 = up(each * (1.0 if relation is Relation.ADD_REMOVE else math.sqrt(2.0)) + rounding)
    return minting.proven(
        Sensitivity(
            l1=up(math.sqrt(count("entries", entries)) * l2),
            l2=l2,
            relation=relation,
            source=f"{what}, positive semidefinite of trace ≤ 1, theory E.8: N = {records}, records"
            f" each {each}",
        )
    )


def view_moments(  # noqa: PLR0913 - one argument for each public number of the theorem
    what: str,
    *,
    matrices: int,
    width: int,
    views: int,
    records: int,
    relation: Relation | str,
    max_records_per_person: int = 1,
) -> Sensitivity:
    """Of the second moments of a record's V views, side by side in an orthonormal basis (E.7).

    One matrix: Σ S_b, S_b = (1/V)·Σ_v y_v y_vᵀ. Two: Σ P_b and Σ W_b, P_b = ȳȳᵀ of the mean view ȳ
    and W_b = S_b − P_b, the covariance within the record. All three are positive semidefinite, and
    tr S_b = tr P_b + tr W_b ≤ 1, so a record moves either release as it moves one second moment.
    Rounding is that of sums over blocks of ⌊2¹²/V²⌋ records, in each of three sums.

    >>> public = {"matrices": 2, "width": 4, "views": 3, "records": 100}
    >>> round(view_moments("pair", **public, relation="add-remove").l2, 6)
    1.0
    >>> round(view_moments("pair", **public, relation="replace-one").l2 ** 2, 6)
    2.0
    """
    relation = grade.as_relation(relation)
    if relation is Relation.AS_DECLARED:
        raise InputError("relation must be add-remove or replace-one, got neither")
    each = count("max_records_per_person", max_records_per_person)
    most = sums.ROOM * count("records", records)
    rounding = 2 * 4 * most * (most / view_block(views) + 6) * 2.0**-53
    l2 = up(each * (1.0 if relation is Relation.ADD_REMOVE else math.sqrt(2.0)) + rounding)
    entries = count("matrices", matrices) * count("width", width) * (width + 1) // 2
    return minting.proven(
        Sensitivity(
            l1=up(math.sqrt(entries) * l2),
            l2=l2,
            relation=relation,
            source=f"{what}, of {views} views, positive semidefinite of trace ≤ 1, theory E.7:"
            f" N = {records}, records each {each}",
        )
    )


def view_block(views: int) -> int:
    """So many records at a time: sums of V rows have norm V, and their products add up exactly."""
    if not 1 <= count("views", views) <= MOST_VIEWS:
        raise InputError(f"views must be between 1 and {MOST_VIEWS}, got {views}")
    return statistics.EXACT_BLOCK // views**2
