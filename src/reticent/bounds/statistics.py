"""How far one record can move sums of x xᵀ, x ⊗ target and target that are released together.

A record with features ‖x‖ ≤ 1 and target t, ‖t‖ ≤ 1, adds (α·x xᵀ, β·x tᵀ, ν·t) to one vector, the
matrix in an orthonormal basis of the symmetric ones; α, β and ν are public weights. The target is
the unit vector of the record's class, or one number.

Add-remove: the three parts are orthogonal, so Δ₂ ≤ √(α² + β² + ν²).

Replace-one, the smaller of two bounds:

* Part by part. Both moments are positive semidefinite, ⟨A, A′⟩ ≥ 0, hence ‖A − A′‖² ≤ 2.
  Classes: if the class stays, x moves by at most 2 and the count does not: 4β². If it changes, two
  orthogonal columns and two counts move: 2β² + 2ν². So Δ₂² ≤ 2α² + max(4β², 2β² + 2ν²): counts with
  ν ≤ β cost nothing. One number: x t moves by at most 2 and so does t: Δ₂² ≤ 2α² + 4β² + 4ν².
* At once. What is added is a part of z zᵀ for one vector z. Classes: z = (√α·x, a·t) with
  a² = β²/2α; the blocks of z zᵀ are α·x xᵀ, twice β/√2·x tᵀ and a²·t tᵀ, whose diagonal holds the
  counts, so ν ≤ a² is needed. One number: z = (√α·x, a·t, b) with √2·a·b = ν. Now z zᵀ and z′z′ᵀ
  are positive semidefinite of norm ‖z‖², so Δ₂ ≤ √2·‖z‖² ≤ √2·(α + a² + b²).

A person with m records moves the sums by m times that at most: sums of positive semidefinite
matrices stay so, and part by part the triangle inequality holds.

Rounding: entries of x and t are whole multiples of 2⁻²⁰, so sums of x and t are exact, and those
of products are exact within blocks of 2¹² records. Their total over the blocks, of norm at most 2N
for at most 2N records, rounds 2N/2¹² + 1 times; √2 is rounded, and √2 times an entry: fewer than
2N/2¹² + 4 roundings in all, each by at most 2⁻⁵³ of 2N, in each of two neighbours.
"""

import math

from reticent.bounds.sums import ROOM
from reticent.guarantee import Relation, Sensitivity, grade, minting
from reticent.guarantee.rounding import up
from reticent.validation import InputError, count, non_negative, positive

EXACT_BLOCK = 2**12
"""So many products of multiples of 2⁻²⁰, none above 1, add up exactly in float64."""


def class_statistics(  # noqa: PLR0913 - one argument for each public number of the theorem
    *,
    moment: float,
    sums: float,
    counts: float,
    features: int,
    records: int,
    relation: Relation | str,
    max_records_per_person: int = 1,
) -> Sensitivity:
    """Of second moment (weight α), class sums (β) and class counts (ν), released together.

    >>> together = {"moment": 0.0, "sums": 1.0, "features": 9, "records": 100}
    >>> round(class_statistics(**together, counts=0.75, relation="add-remove").l2, 6)
    1.25
    >>> round(class_statistics(**together, counts=0.75, relation="replace-one").l2, 6)
    2.0
    """
    alpha, beta, nu = _weights(moment, sums, counts)
    root = math.sqrt(2.0)  # hypot: squares of tiny weights would vanish
    replaced = math.hypot(root * alpha, max(2 * beta, math.hypot(root * beta, root * nu)))
    if alpha > 0 and nu <= beta**2 / (2 * alpha):
        replaced = min(replaced, math.sqrt(2.0) * (alpha + beta**2 / (2 * alpha)))
    return _moved(
        f"second moment × {alpha}, class sums × {beta}, class counts × {nu}",
        {Relation.ADD_REMOVE: math.hypot(alpha, beta, nu), Relation.REPLACE_ONE: replaced},
        weights=(alpha, beta, nu),
        rounded=alpha,
        features=count("features", features),
        records=count("records", records),
        relation=grade.as_relation(relation),
        max_records_per_person=count("max_records_per_person", max_records_per_person),
    )


def target_statistics(  # noqa: PLR0913 - as above
    *,
    moment: float,
    products: float,
    targets: float,
    features: int,
    records: int,
    relation: Relation | str,
    max_records_per_person: int = 1,
) -> Sensitivity:
    """Of second moment (weight α), Σ x·t (β) and Σ t (ν) for targets |t| ≤ 1, released together.

    >>> together = {"moment": 1.0, "products": 1.0, "targets": 0.0, "features": 9, "records": 100}
    >>> round(target_statistics(**together, relation="replace-one").l2 ** 2, 6)
    4.5
    """
    alpha, beta, nu = _weights(moment, products, targets)
    replaced = math.hypot(math.sqrt(2.0) * alpha, 2 * beta, 2 * nu)
    if alpha > 0:
        whole = alpha + beta**2 / (2 * alpha) + alpha * (nu / beta) ** 2
        replaced = min(replaced, math.sqrt(2.0) * whole)
    return _moved(
        f"second moment × {alpha}, products with the target × {beta}, targets × {nu}",
        {Relation.ADD_REMOVE: math.hypot(alpha, beta, nu), Relation.REPLACE_ONE: replaced},
        weights=(alpha, beta, nu),
        rounded=alpha + beta,
        features=count("features", features),
        records=count("records", records),
        relation=grade.as_relation(relation),
        max_records_per_person=count("max_records_per_person", max_records_per_person),
    )


def _weights(moment: float, sums: float, counts: float) -> tuple[float, float, float]:
    return non_negative("moment", moment), positive("sums", sums), non_negative("counts", counts)


def _moved(  # noqa: PLR0913 - as above
    what: str,
    by: dict[Relation, float],
    *,
    weights: tuple[float, float, float],
    rounded: float,
    features: int,
    records: int,
    relation: Relation,
    max_records_per_person: int,
) -> Sensitivity:
    """With rounding, and in L1: √entries times the norm, of the entries that a record touches."""
    if relation not in by:
        raise InputError("relation must be add-remove or replace-one, got neither")
    most = ROOM * records
    rounding = 2 * most * (most / EXACT_BLOCK + 4) * 2.0**-53 * rounded
    alpha, beta, nu = weights
    touched = (1 if relation is Relation.ADD_REMOVE else 2) * max_records_per_person
    entries = math.sqrt(features * (features + 1) // 2)
    l1 = touched * (alpha * entries + beta * math.sqrt(features) + nu)
    return minting.proven(
        Sensitivity(
            l1=up(l1 + entries * rounding),
            l2=up(max_records_per_person * by[relation] + rounding),
            relation=relation,
            source=f"{what}, theory E.3: N = {records}, records each {max_records_per_person}",
        )
    )
