"""How far one record can move sums that learners release, as computed in floats (theory E).

A record that is added or removed adds or takes away its own term, of norm at most ``bound``. Beside
that, floats of the other terms may move: a product of matrices rounds a row differently in another
place, and the sum rounds differently. Both are bounded for up to 2N records, N the public
normaliser.
"""

import math
from typing import Final

from reticent.guarantee import Relation, Sensitivity, grade, minting
from reticent.guarantee.rounding import up
from reticent.validation import InputError, count, non_negative, positive

_UNIT = 2.0**-53
_LEAST_CLIP: Final = 1e-200
"""Of gradients: no factor of clipping is subnormal then, whose rounding would not be relative."""
ROOM = 2
"""A data set has at most this many times N records."""


def rounded_sum(  # noqa: PLR0913 - one argument for each public number of the theorem
    what: str,
    *,
    bound: float,
    size: int,
    records: int,
    relation: Relation | str,
    term_error: float = 0.0,
    max_records_per_person: int = 1,
) -> Sensitivity:
    """Δ₂ = k·m·bound + 2·2N·(γ_{2N}·bound + term error), and √size times that in L1.

    ``term_error`` bounds ‖computed term − exact term‖ of one record.

    >>> moved = rounded_sum("a sum", bound=1.0, size=10, records=1000, relation="add-remove")
    >>> moved.l2 - 1.0 < 1e-9
    True
    """
    relation = grade.as_relation(relation)
    if relation is Relation.AS_DECLARED:
        raise InputError("relation must be add-remove or replace-one, got neither")
    bound, most = positive("bound", bound), ROOM * count("records", records)
    each = count("max_records_per_person", max_records_per_person)
    touched = (1 if relation is Relation.ADD_REMOVE else 2) * each
    gamma = most * _UNIT / (1 - most * _UNIT)
    rounding = 2 * most * (gamma * bound + non_negative("term_error", term_error))
    l2 = up(touched * bound + rounding)
    return minting.proven(
        Sensitivity(
            l1=up(math.sqrt(count("size", size)) * l2),
            l2=l2,
            relation=relation,
            source=f"{what}, theory E: terms of norm {bound}, N = {records}, records each {each}",
        )
    )


def clipped_gradients(
    *,
    clip: float,
    size: int,
    records: int,
    relation: Relation | str,
    exact: bool = True,
    max_records_per_person: int = 1,
) -> Sensitivity:
    """Δ₂ of a sum of per-example gradients, each clipped to norm ``clip`` (theory E.5).

    With ``exact`` norms and sums are kept in float64: a float64 sum of n clipped gradients of p
    entries is off by at most γ_{2n+4p+200}·n·clip, n ≤ 2N, in any order of the additions in the sum
    and in the norms. Without, nothing is added for the rounding of float32, and the bound is
    declared.

    >>> clipped_gradients(clip=0.1, size=10, records=60000, relation="add-remove").l2 < 0.100002
    True
    """
    relation = grade.as_relation(relation)
    if relation is Relation.AS_DECLARED:
        raise InputError("relation must be add-remove or replace-one, got neither")
    clip, most = positive("clip", clip), ROOM * count("records", records)
    if not _LEAST_CLIP <= clip <= 1 / _LEAST_CLIP:
        raise InputError(f"clip must be between {_LEAST_CLIP} and {1 / _LEAST_CLIP}, got {clip}")
    each = count("max_records_per_person", max_records_per_person)
    touched = each * (1 if relation is Relation.ADD_REMOVE else 2)
    steps = (2 * most + 4 * count("size", size) + 200) * _UNIT
    rounding = 2 * most * clip * steps / (1 - steps) if exact else 0.0
    l2 = up(touched * clip + rounding)
    sensitivity = Sensitivity(
        l1=up(math.sqrt(size) * l2),
        l2=l2,
        relation=relation,
        source=f"per-example gradients clipped to {clip}, N = {records}, records each {each}"
        + ("" if exact else ", float32 without its rounding"),
    )
    return minting.proven(sensitivity) if exact else sensitivity
