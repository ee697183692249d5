"""How guarantees combine: the weakest grade, the sum of γ, one relation and one unit.

These are the rules that need nothing but the (ε, δ) of the parts. Tighter totals for known
noise come from ``reticent.accounting``.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import TypeVar

from reticent.guarantee.grade import Grade, Relation, weakest
from reticent.guarantee.guarantee import Guarantee
from reticent.guarantee.minting import proven
from reticent.guarantee.rounding import product_up, sum_up, up
from reticent.validation import InputError, count

Item = TypeVar("Item", bound=str)


def composed(parts: Sequence[Guarantee]) -> Guarantee:
    """All of the releases together, chosen adaptively or not: ε and δ add up."""
    parts = _guarantees(parts)
    epsilon = sum_up(part.epsilon for part in parts)
    delta = sum_up(part.delta for part in parts)
    return _combined(parts, epsilon, delta)


def parallel(parts: Sequence[Guarantee]) -> Guarantee:
    """Releases on disjoint parts of one data set: the largest ε and δ.

    Valid under add-remove only: replacing a record may move it from one part to another and so
    touches two of them. That the parts are disjoint is your word: at most declared.
    """
    parts = _guarantees(parts)
    for part in parts:
        if part.relation is not Relation.ADD_REMOVE:
            raise InputError(
                f"parallel composition must be under add-remove, got {part.relation}; "
                "compose sequentially instead"
            )
    return _largest(parts, "the releases saw disjoint parts of the data set")


def mixture(parts: Sequence[Guarantee]) -> Guarantee:
    """One of the releases, chosen by a coin that does not look at the data (convexity).

    That the others were never made is your word, so the result is at most declared.
    """
    return _largest(
        _guarantees(parts), "one of the releases was made, chosen without looking at the data"
    )


def group(guarantee: Guarantee, size: int, *, unit: str) -> Guarantee:
    """Group privacy: the guarantee for ``size`` records at once, (jε, δ·(e^{jε} − 1)/(e^ε − 1)).

    That a ``unit`` (a person, a hospital) has no more records is the caller's word: it stands
    among what is stated.
    """
    size = count("size", size)
    epsilon = product_up(guarantee.epsilon, size)
    delta = guarantee.delta
    if size > 1 and delta > 0:
        delta = up(delta * _geometric_sum(guarantee.epsilon, size))
    if not delta < 1:
        raise InputError(f"size must leave delta < 1, got {size}, which makes delta {delta}")
    word = f"{unit} has at most {size} {'record' if size == 1 else 'records'} of the data set"
    return _combined((guarantee,), epsilon, delta, unit=unit, word=word)


def _geometric_sum(epsilon: float, size: int) -> float:
    """1 + e^ε + … + e^{(size−1)ε}."""
    if epsilon == 0:
        return float(size)
    if size * epsilon > 700:
        return math.inf
    return math.expm1(size * epsilon) / math.expm1(epsilon)


def _guarantees(parts: Sequence[Guarantee]) -> tuple[Guarantee, ...]:
    guarantees = tuple(parts)
    if not guarantees:
        raise InputError("composition must have at least one guarantee, got none")
    if any(type(part) is not Guarantee for part in guarantees):
        raise InputError("composition must be of guarantees, got something else")
    return guarantees


def _largest(parts: Sequence[Guarantee], word: str) -> Guarantee:
    epsilon = max((part.epsilon for part in parts), default=0.0)
    delta = max((part.delta for part in parts), default=0.0)
    result = _combined(parts, epsilon, delta, word=word)
    return dataclasses.replace(result, grade=weakest((Grade.DECLARED, result.grade)))


def _combined(
    parts: Sequence[Guarantee],
    epsilon: float,
    delta: float,
    *,
    unit: str | None = None,
    word: str | None = None,
) -> Guarantee:
    grade = weakest(part.grade for part in parts)
    gammas = [part.gamma for part in parts if part.gamma is not None]
    result = Guarantee(
        epsilon=epsilon,
        delta=delta,
        grade=Grade.DECLARED if grade is Grade.PROVEN else grade,
        relation=_only("relation", [part.relation for part in parts]),
        unit=unit if unit is not None else _only("unit", [part.unit for part in parts]),
        checked=_union([part.checked for part in parts]),
        stated=_union([*(part.stated for part in parts), () if word is None else (word,)]),
        gamma=sum_up(gammas) if gammas else None,
        composed_of=tuple(parts),
    )
    return proven(result) if grade is Grade.PROVEN else result


def _only(name: str, values: list[Item]) -> Item:
    if len(set(values)) > 1:
        raise InputError(
            f"{name} must be the same in all parts, got {', '.join(sorted(set(values)))}"
        )
    return values[0]


def _union(lists: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for lines in lists for line in lines))
