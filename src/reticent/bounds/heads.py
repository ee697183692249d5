"""How far one record can move the optimum of a regularised linear head (docs/theory.md D).

Everything here is a public number; no data is looked at.
"""

import math

from reticent.guarantee import Relation, Sensitivity, grade, minting, rounding
from reticent.validation import InputError, count, positive

_SLACK = 1 + 2.0**-40
"""The float basis of the zero-sum space has norm at most 1 + C·2⁻⁵⁰, and the formula rounds."""


def softmax_head(  # noqa: PLR0913 - one argument for each public number of the theorem
    *,
    penalty: float,
    records: int,
    radius: float,
    tolerance: float,
    relation: Relation | str,
    largest_weight: float = 1.0,
    max_records_per_person: int = 1,
) -> Sensitivity:
    """Δ₂ = k·m·w·√2·R/(λN) + 2τ/λ, with k = 1 under add-remove and 2 under replace-one.

    λ ``penalty``, N ``records``, R ``radius``, τ ``tolerance``, w ``largest_weight``, and m
    ``max_records_per_person`` the most records that one person owns.

    >>> bound = softmax_head(
    ...     penalty=0.01, records=1000, radius=1.0, tolerance=1e-9, relation="add-remove"
    ... )
    >>> bound.grade, round(bound.l2, 6)
    (<Grade.PROVEN: 'proven'>, 0.141422)
    """
    weight = positive("weight", largest_weight)
    return _optimum_moves(
        f"softmax head, theory D: largest class weight {weight}",
        max_residual_norm=weight * math.sqrt(2),
        penalty=penalty,
        records=records,
        radius=radius,
        tolerance=tolerance,
        relation=relation,
        max_records_per_person=max_records_per_person,
    )


def sigmoid_head(  # noqa: PLR0913 - one argument for each public number of the theorem
    *,
    labels: int,
    penalty: float,
    records: int,
    radius: float,
    tolerance: float,
    relation: Relation | str,
    max_records_per_person: int = 1,
) -> Sensitivity:
    """Δ₂ = k·m·√C·R/(λN) + 2τ/λ for C ``labels``, any number of which may be true of a record.

    >>> bound = sigmoid_head(
    ...     labels=4, penalty=0.01, records=1000, radius=1.0, tolerance=1e-9, relation="add-remove"
    ... )
    >>> round(bound.l2, 6)
    0.2
    """
    outputs = count("labels", labels)
    return _optimum_moves(
        f"sigmoid head, theory D: C = {outputs}",
        max_residual_norm=math.sqrt(outputs),
        penalty=penalty,
        records=records,
        radius=radius,
        tolerance=tolerance,
        relation=relation,
        max_records_per_person=max_records_per_person,
    )


def _optimum_moves(  # noqa: PLR0913 - as above
    theorem: str,
    *,
    max_residual_norm: float,
    penalty: float,
    records: int,
    radius: float,
    tolerance: float,
    relation: Relation | str,
    max_records_per_person: int,
) -> Sensitivity:
    """A record's gradient has norm at most steepness·R/N, and J is λ-strongly convex."""
    relation = grade.as_relation(relation)
    if relation is Relation.AS_DECLARED:
        raise InputError("relation must be add-remove or replace-one, got neither")
    penalty, radius = _within_range("penalty", penalty), _within_range("radius", radius)
    tolerance = positive("tolerance", tolerance)
    records, each = (
        _countable("records", records),
        _countable("max_records_per_person", max_records_per_person),
    )
    touched = (1 if relation is Relation.ADD_REMOVE else 2) * each
    shift = touched * max_residual_norm * radius / (penalty * records) * _SLACK
    return minting.proven(
        Sensitivity(
            l2=rounding.up(shift + 2 * tolerance / penalty),
            relation=relation,
            source=(
                f"{theorem}, λ = {penalty}, N = {records}, R = {radius}, τ = {tolerance}, "
                f"records each {each}"
            ),
        )
    )


def _within_range(name: str, value: float) -> float:
    """Products of such numbers neither overflow nor vanish."""
    number = positive(name, value)
    if not 1e-80 < number < 1e80:
        raise InputError(f"{name} must be within 1e-80 and 1e80, got {number}")
    return number


def _countable(name: str, value: int) -> int:
    number = count(name, value)
    if number > 2**53:
        raise InputError(f"{name} must be <= 2**53, got a larger number")
    return number
