"""What one record does to the minimum of a loss with a random linear term (docs/theory.md I.2).

F(V) = Σ CE(U V h, y) + (Λ/2)‖V‖² + ⟨b, V⟩ over all records, ‖h‖ ≤ R, Λ = λN and b Gaussian. The
minimum V has the density φ(b(V))·|det ∇b(V)|, b(V) = −Σ∇CE − ΛV. A record moves b(V) by one
gradient and the determinant by one Hessian; both are bounded by public numbers.
"""

import math

from reticent.guarantee import Relation, Sensitivity, grade, minting
from reticent.guarantee.rounding import up
from reticent.validation import InputError, count, positive

_SLACK = 1 + 2.0**-40
"""The float basis of the zero-sum space has norm at most 1 + C·2⁻⁵⁰, and the formula rounds."""


def touched_records(relation: Relation | str, max_records_per_person: int) -> int:
    """m records of a unit that comes or goes, 2m of one that is replaced."""
    relation = grade.as_relation(relation)
    if relation is Relation.AS_DECLARED:
        raise InputError("relation must be add-remove or replace-one, got neither")
    each = count("max_records_per_person", max_records_per_person)
    return (1 if relation is Relation.ADD_REMOVE else 2) * each


def perturbed_gradient(
    *,
    classes: int,
    features: int,
    radius: float,
    rounding: float,
    relation: Relation | str,
    max_records_per_person: int = 1,
) -> Sensitivity:
    """Δ₂ of b(V) at any V: k·m·√2·R, and ``rounding`` for the sum as an audit computes it.

    >>> moved = perturbed_gradient(
    ...     classes=2, features=3, radius=1.0, rounding=0.0, relation="replace-one"
    ... )
    >>> round(moved.l2, 6)
    2.828427
    """
    touched = touched_records(relation, max_records_per_person)
    l2 = up(touched * math.sqrt(2) * positive("radius", radius) * _SLACK + rounding)
    size = (count("classes", classes, at_least=2) - 1) * count("features", features)
    return minting.proven(
        Sensitivity(
            l1=up(math.sqrt(size) * l2),
            l2=l2,
            relation=grade.as_relation(relation),
            source=f"perturbed softmax loss, theory I.2: R = {radius}, records touched {touched}",
        )
    )


def determinant_ratio(
    *, classes: int, radius: float, total_penalty: float, max_records_per_person: int = 1
) -> float:
    """κ = m·(C−1)·ln(1 + R²/(C·Λ)): no unit changes ln|det ∇b| by more, under either relation.

    >>> round(determinant_ratio(classes=2, radius=1.0, total_penalty=0.5), 6)
    0.693147
    """
    share = positive("radius", radius) ** 2 / (classes * positive("total_penalty", total_penalty))
    each = count("max_records_per_person", max_records_per_person)
    return up(each * (classes - 1) * math.log1p(share * _SLACK))


def approximate_minimum(
    *, penalty: float, tolerance: float, size: int, relation: Relation | str
) -> Sensitivity:
    """Δ₂ = 3τ/λ between two computed minima of losses that have one exact minimum in common.

    Each is within τ/λ of it by its certificate (λ-strong convexity), and the linear term as rounded
    is within τ/8 of the exact one; what is left of 3 is for the float −b/(λN).
    """
    l2 = up(3 * positive("tolerance", tolerance) / positive("penalty", penalty))
    return minting.proven(
        Sensitivity(
            l1=up(math.sqrt(count("size", size)) * l2),
            l2=l2,
            relation=grade.as_relation(relation),
            source=f"approximate minimum, theory I.2: λ = {penalty}, τ = {tolerance}",
        )
    )
