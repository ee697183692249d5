"""Budgets as filters: one number per account, fixed with the budget, that a sum must not exceed.

Why one filter, and why it holds although each release is chosen after seeing the earlier answers.
Let cost be one of: the pair (ε, δ); ρ; the Rényi divergence at **one** order α; μ². Claim: a
process that keeps Σ cost ≤ b has cost b as a whole. By induction on the number of releases: the
first release costs c ≤ b; whatever it answers, the rest is a process that keeps its sum ≤ b − c and
so, by induction, costs b − c for *every* answer; ordinary adaptive composition of two steps with
the fixed costs c and b − c gives b. (Rogers et al. 2016 for (ε, δ); Feldman & Zrnic 2021 for Rényi
DP at a fixed order; Whitehouse et al. 2023 for zCDP; Smith & Thakurta 2022 for Gaussian DP.)

The induction needs one b. "At least one of several sums is within its limit" leaves for the rest a
condition that no single number describes, and which sum ends within its limit may depend on the
answers; the same is true of "at least one Rényi order". So the kind of filter, its order and its
limit are fixed as functions of the budget (ε, δ) alone. The other sums are kept for reports.

The limit belongs to ε·(1 + 2⁻⁴⁰) and δ·(1 + 2⁻⁴⁰), which is what is promised: costs are rounded up,
and ten charges of 0.1 must fit into 1.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from reticent.accounting.gdp import GDP
from reticent.accounting.zcdp import ZCDP
from reticent.guarantee.rounding import lower_text, up, upper_text
from reticent.ledger.costs import ORDERS, Costs
from reticent.ledger.errors import LedgerError
from reticent.mechanisms.profiles.conversions import largest_below, rdp_to_epsilon
from reticent.strict_json import parsed
from reticent.validation import InputError, NotCoveredError, positive, probability

ROUNDING = 2.0**-40
SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "rdp": "Rényi divergence", "mu_squared": "μ²"}


class FilterKind(StrEnum):
    """Which sum a budget limits."""

    BASIC = "basic"
    """ε and δ; takes every release that has an (ε, δ), or has one at the δ it is charged at."""
    ZCDP = "zcdp"
    """ρ; every release but sampled ones and those of which only (ε, δ) is known."""
    RDP = "rdp"
    """The Rényi divergence at one order; every release but those of which only (ε, δ) is known."""
    GDP = "gdp"
    """μ²; exact for Gaussian noise, wasteful for pure releases."""


def as_filter(value: object) -> FilterKind:
    """A FilterKind from itself or its name."""
    if isinstance(value, str) and value in set(FilterKind):
        return FilterKind(value)
    raise InputError(f"filter must be one of {', '.join(FilterKind)}, got {value!r}")


@dataclass(frozen=True, kw_only=True)
class Budget:
    """ε at δ, the filter that keeps it, and the limits that were fixed with it."""

    epsilon: float
    delta: float
    filter: FilterKind
    order: float | None
    limits: Mapping[str, float]

    @staticmethod
    def fixed(
        *,
        epsilon: float,
        delta: float,
        filter: FilterKind | str = FilterKind.RDP,
        plan: Costs | None = None,
    ) -> Budget:
        """The budget with its limits, from ε, δ, the kind of filter and at most a plan.

        A plan says what is likely to be charged, and gives the Rényi order that is best for that.
        By default the order is the best one for Gaussian noise; sampled releases need a smaller.

        >>> Budget.fixed(epsilon=1.0, delta=1e-6).order
        22.0
        """
        epsilon, delta = positive("epsilon", epsilon), probability("delta", delta)
        kind = as_filter(filter)
        enough = epsilon * (1 + ROUNDING)
        order = _best_order(enough, delta, plan) if kind is FilterKind.RDP else None
        if kind is FilterKind.BASIC:
            limits = {"epsilon": enough, "delta": delta * (1 + ROUNDING)}
        elif order is not None:
            limits = {"rdp": _largest(lambda total: rdp_epsilon(order, total, delta), enough)}
        else:
            limits = {_NAMES[kind]: _one_limit(kind, enough, delta)}
        if not all(limit > 0 for name, limit in limits.items() if name != "delta"):
            raise InputError(
                f"epsilon must be large enough for the filter {kind} at delta = {delta:g}, "
                f"got {epsilon:g}; take basic or zcdp"
            )
        return Budget(epsilon=epsilon, delta=delta, filter=kind, order=order, limits=limits)

    def amounts(self, costs: Costs) -> dict[str, float | None]:
        """The part of the costs that this budget limits."""
        if self.order is not None:
            return {"rdp": costs.rdp_at(self.order)}
        return {name: getattr(costs, name) for name in self.limits}

    def require(self, costs: Costs, what: str) -> None:
        """Refuse costs that the filter has no finite value for."""
        if None not in self.amounts(costs).values():
            return
        able = [str(kind) for kind in FilterKind if _can_take(kind, costs)]
        raise NotCoveredError(
            f"{what} must be covered by the filter of the budget, {self}; "
            f"the filters that could take it: {', '.join(able) or 'none'}"
        )

    def holds(self, totals: Costs) -> bool:
        """Whether every limited amount is within its limit."""
        return not self.exceeded(totals)

    def exceeded(self, totals: Costs) -> list[str]:
        """The names of the amounts that are above their limits, or have no finite value."""
        return [
            name
            for name, amount in self.amounts(totals).items()
            if amount is None or not amount <= self.limits[name]
        ]

    def left(self, totals: Costs) -> dict[str, float]:
        """What may still be spent of each limited amount, rounded down; zero below zero.

        What is left of the allowance for rounding counts as nothing.
        """
        return {
            name: 0.0 if amount is None else _minus_down(self.limits[name], amount)
            for name, amount in self.amounts(totals).items()
        }

    def why_not(self, totals: Costs) -> str:
        """Which limit these totals break."""
        name = self.exceeded(totals)[0]
        amount = self.amounts(totals)[name]
        amount_text = "infinity" if amount is None else upper_text(amount)
        return f"{SYMBOLS[name]} would be {amount_text} of {lower_text(self.limits[name])}"

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file; the order ∞ is the text "inf"."""
        order = "inf" if self.order == math.inf else self.order
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "filter": str(self.filter),
            "order": order,
            "limits": dict(self.limits),
        }

    def to_json(self) -> str:
        """The budget as one JSON object, for the tables."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @staticmethod
    def from_json(document: str) -> Budget:
        """A budget as it stands in the file; anything else is refused."""
        try:
            values = parsed(document, source="budget in the ledger")
            order = None if values["order"] is None else float(values["order"])
            limits = {str(name): float(limit) for name, limit in values["limits"].items()}
            budget = Budget(
                epsilon=positive("epsilon", values["epsilon"]),
                delta=probability("delta", values["delta"]),
                filter=as_filter(values["filter"]),
                order=order,
                limits=limits,
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            raise LedgerError(
                "budget in the ledger must be as written, got a damaged text"
            ) from None
        return budget._checked()

    def _checked(self) -> Budget:
        """Refuse limits that do not belong to the filter: they would let everything pass."""
        expected = (
            {"epsilon", "delta"} if self.filter is FilterKind.BASIC else {_NAMES[self.filter]}
        )
        order_fits = self.order in ORDERS if self.filter is FilterKind.RDP else self.order is None
        finite = all(0 <= limit < math.inf for limit in self.limits.values())
        if set(self.limits) != expected or not order_fits or not finite:
            raise LedgerError("budget in the ledger must have its filter's limits, got others")
        return self

    def __str__(self) -> str:
        """One line."""
        at = "" if self.order is None else f" at order {self.order:g}"
        return f"ε ≤ {upper_text(self.epsilon)} at δ ≤ {upper_text(self.delta)} ({self.filter}{at})"


_NAMES = {FilterKind.ZCDP: "rho", FilterKind.RDP: "rdp", FilterKind.GDP: "mu_squared"}


def rdp_epsilon(order: float, total: float, delta: float) -> float:
    """The ε of a Rényi divergence at one order."""
    return up(rdp_to_epsilon([order], [total], delta)[0])


def gdp_epsilon(mu_squared: float, delta: float) -> float:
    """The ε of a total μ²."""
    return GDP.epsilon(up(math.sqrt(mu_squared)), delta)


def _one_limit(kind: FilterKind, epsilon: float, delta: float) -> float:
    if delta == 0:
        raise InputError(f"delta must be > 0 for the filter {kind}, got 0; take basic or rdp")
    convert = ZCDP.epsilon if kind is FilterKind.ZCDP else gdp_epsilon
    return _largest(lambda total: convert(total, delta), epsilon)


def _largest(epsilon_of: Callable[[float], float], epsilon: float) -> float:
    """The largest total whose ε was seen to be at most ``epsilon``."""
    too_much = 1.0
    while epsilon_of(too_much) <= epsilon:
        too_much *= 2
    return largest_below(lambda total: epsilon_of(total) <= epsilon, 0.0, too_much)


def _best_order(epsilon: float, delta: float, plan: Costs | None) -> float:
    """The order that gives a plan its smallest ε; without one, at which most ρ fits; ∞ at δ = 0.

    Any order is valid for any release; these are the best for the plan, and for Gaussian noise.
    """
    if delta == 0:
        return math.inf
    if plan is not None and None not in plan.rdp[:1]:
        return rdp_to_epsilon(ORDERS[:-1], plan.rdp_values[:-1], delta)[1]

    def rho(order: float) -> float:
        # Any divergence would do: the conversion adds to it what depends on α and δ alone.
        added = rdp_to_epsilon([order], [100.0], delta)[0] - 100.0
        return (epsilon - added) / order

    return max(ORDERS[:-1], key=rho)


def _can_take(kind: FilterKind, costs: Costs) -> bool:
    if kind is FilterKind.RDP:
        return any(value is not None for value in costs.rdp)
    name = "epsilon" if kind is FilterKind.BASIC else _NAMES[kind]
    return getattr(costs, name) is not None


def _minus_down(limit: float, amount: float) -> float:
    exact = Fraction(limit) - Fraction(amount)
    if exact <= 4 * ROUNDING * limit:
        return 0.0
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0.0)
