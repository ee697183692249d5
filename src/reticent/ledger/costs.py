"""What one charge costs in each of the sums that the ledger keeps.

Only sums that hold when each release is chosen after seeing the answers to the earlier ones: ε and
δ, ρ, Rényi DP at fixed orders, μ². Privacy loss distributions and advanced composition are tighter
for a plan that is fixed beforehand, and are not used here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np

from reticent.accounting import basic, gdp, zcdp
from reticent.accounting.account import account
from reticent.accounting.rdp import RDP
from reticent.arrays import Floats
from reticent.guarantee import events, grade, rounding
from reticent.ledger.errors import LedgerError
from reticent.strict_json import parsed
from reticent.validation import InputError, NotCoveredError, non_negative, probability

Value = TypeVar("Value")

ORDERS: tuple[float, ...] = (
    *sorted({round(1 + 2.0 ** (k / 4), 6) for k in range(-28, 69)} | set(map(float, range(2, 65)))),
    math.inf,
)
"""Part of the file format. Four to an octave of α − 1, for budgets of ε from 10⁻³ to 10⁵: the best
order of a budget is within 10 % of one of them, which costs at most 0.4 % of its ε. Whole orders,
because those of sampled releases are the sharpest."""

SINGLE = ("epsilon", "delta", "rho", "mu_squared")
"""The sums of one number, in their places before those of ORDERS in a vector of costs."""
PLACES = len(SINGLE) + len(ORDERS)
CLAIM_ROUNDING = 2.0**-40
"""Relative. A claim that is below the accountants' ε by no more is raised to it; further below, it
is refused."""


@dataclass(frozen=True, kw_only=True)
class Costs:
    """A charge, or a total, in each sum; None where a sum has no finite value for it.

    ``rdp`` holds one value for each of ORDERS. Every number is rounded up.
    """

    epsilon: float | None = 0.0
    delta: float | None = 0.0
    rho: float | None = 0.0
    rdp: tuple[float | None, ...] = (0.0,) * len(ORDERS)
    mu_squared: float | None = 0.0

    def __post_init__(self) -> None:
        """Refuse what no cost can be: a file may have been damaged."""
        if len(self.rdp) != len(ORDERS):
            raise LedgerError(f"costs must have {len(ORDERS)} Rényi orders, got {len(self.rdp)}")
        for value in (self.epsilon, self.delta, self.rho, *self.rdp, self.mu_squared):
            if value is not None and not (type(value) is float and 0 <= value < math.inf):
                raise LedgerError("costs must be finite numbers >= 0, got something else")

    def plus(self, other: Costs) -> Costs:
        """The sums; a part without a value leaves the sum without one."""
        return Costs.of_vector(sums_up(self.vector, other.vector))

    @cached_property
    def vector(self) -> Floats:
        """SINGLE, then the Rényi divergences at ORDERS; infinite where there is no finite value."""
        values = (*(getattr(self, name) for name in SINGLE), *self.rdp)
        vector = np.array([math.inf if value is None else value for value in values])
        vector.flags.writeable = False
        return vector

    @staticmethod
    def of_vector(vector: Floats) -> Costs:
        """The costs whose ``vector`` this is."""
        values = [value if value < math.inf else None for value in vector.tolist()]
        return Costs(rdp=tuple(values[len(SINGLE) :]), **dict(zip(SINGLE, values, strict=False)))

    def rdp_at(self, order: float) -> float | None:
        """The Rényi divergence at one of ORDERS."""
        return self.rdp[ORDERS.index(order)]

    @property
    def rdp_values(self) -> list[float]:
        """The Rényi divergences at ORDERS, infinite where there is no finite one."""
        return [math.inf if value is None else value for value in self.rdp]

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in the file."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def to_json(self) -> str:
        """One JSON object; Python writes a float so that it reads back as the same float."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @staticmethod
    def from_json(document: str) -> Costs:
        """Costs as they stand in the file; anything else is refused."""
        try:
            values = parsed(document, source="costs in the ledger")
            return Costs(**(values | {"rdp": tuple(values["rdp"])}))
        except (ValueError, TypeError, KeyError):
            raise LedgerError(
                "costs in the ledger must be as written, got a damaged text"
            ) from None


def claim_at(event: events.Event, relation: grade.Relation, delta: float) -> tuple[float, float]:
    """The (ε, δ) of one event alone at this δ: noise without one of its own has one at every δ."""
    return account(event, relation=relation, delta=delta).epsilon, delta


@lru_cache(maxsize=4096)
def costs_of(
    event: events.Event, relation: grade.Relation, *, claim: tuple[float, float] | None = None
) -> Costs:
    """What the event costs in each sum; an event that none of them covers is refused.

    ``claim`` is the (ε, δ) that the release is known to have, for the sums of ε and δ. It is
    refused below the ε that the accountants give the event at this δ.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite becomes None
        pair = _covered(lambda: basic.BASIC.value(event, relation))
        if claim is not None:
            pair = _claimed(event, relation, *claim)
        rho = _covered(lambda: zcdp.ZCDP.value(event, relation))
        curve = _covered(lambda: RDP.value(event, relation).bound(np.array(ORDERS)))
        mu = _covered(lambda: gdp.GDP.value(event, relation))
    costs = Costs(
        epsilon=None if pair is None else _finite(pair.epsilon),
        delta=None if pair is None else _finite(pair.delta),
        rho=None if rho is None else _finite(rho),
        rdp=(None,) * len(ORDERS)
        if curve is None
        else tuple(_finite(rounding.up(v)) for v in curve.tolist()),
        mu_squared=None if mu is None else _finite(rounding.up(mu * mu)),
    )
    if all(value is None for value in (costs.epsilon, costs.rho, *costs.rdp, costs.mu_squared)):
        raise NotCoveredError(
            f"{type(event).__name__} must be covered by basic, zcdp, rdp or gdp to be charged; "
            "charge its (ε, δ) as an Approximate event instead"
        )
    return costs


def sums_up(one: Floats, other: Floats) -> Floats:
    """Sums of floats >= 0, place by place: exact where a float can hold one, rounded up where not.

    Møller and Knuth's error-free sum: s = fl(a + b) and its error are computed exactly in floats,
    so a positive error says that s lies below a + b, and the next float above it does not.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # infinite stays infinite
        total = one + other
        part = total - one
        error = (one - (total - part)) + (other - part)
        np.nextafter(total, math.inf, out=total, where=error > 0)
        return total


def _claimed(
    event: events.Event, relation: grade.Relation, epsilon: float, delta: float
) -> basic.Spent:
    """The claimed pair, which must not be below what the event costs."""
    epsilon, delta = non_negative("epsilon", epsilon), probability("delta", delta)
    needed = _covered(lambda: claim_at(event, relation, delta)[0])
    if needed is None or not epsilon >= needed * (1 - CLAIM_ROUNDING):
        least = "no finite ε" if needed is None else f"ε = {rounding.upper_text(needed)}"
        raise InputError(
            f"claim must be at least what the event costs, {least} at δ = {delta:g}, "
            f"got ε = {epsilon:g}"
        )
    return basic.Spent(max(epsilon, needed), delta)


def _covered(value: Callable[[], Value]) -> Value | None:
    try:
        return value()
    except NotCoveredError:
        return None


def _finite(value: float) -> float | None:
    """The value as a float; infinite costs are kept as None, because JSON has no infinity."""
    return float(value) if 0 <= value < math.inf else None
