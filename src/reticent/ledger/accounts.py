"""What the ledger answers: accounts, entries, what was spent and what is left."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from reticent.accounting import basic, zcdp
from reticent.accounting.account import STATED
from reticent.accounting.basic import Spent as Pair
from reticent.arrays import Floats
from reticent.guarantee import events, grade, rounding
from reticent.guarantee.guarantee import Guarantee
from reticent.ledger.costs import ORDERS, Costs
from reticent.ledger.errors import LedgerError
from reticent.ledger.filters import ROUNDING, Budget, gdp_epsilon
from reticent.mechanisms.profiles.conversions import rdp_to_epsilon
from reticent.validation import NotCoveredError, probability

Converter = Callable[[float, float], float]

NOT_CHOSEN_BY_ANSWERS = (
    "no release's cost was chosen by looking at earlier answers; if one was, only the budget holds"
)
FIXED_BEFOREHAND = "the budget was not set, raised or lowered by looking at answers"


@dataclass(frozen=True, kw_only=True)
class Spent:
    """The ε at δ that each sum gives for all charges together; ``epsilon`` is the smallest.

    A statement about a plan. Where the *costs* were chosen by earlier answers, the smallest ε of
    what happened to be spent is no guarantee; the budget is (``Account.promise``).
    """

    delta: float
    relation: grade.Relation
    unit: str
    epsilons: Mapping[str, float]

    @property
    def method(self) -> str | None:
        """The sum that gives the smallest ε; None if none covers every charge at this δ."""
        return min(self.epsilons, key=lambda name: self.epsilons[name], default=None)

    @property
    def epsilon(self) -> float | None:
        """The smallest ε, never below the truth."""
        return None if self.method is None else self.epsilons[self.method]

    @property
    def guarantee(self) -> Guarantee:
        """The total as a claim, declared: the events were the callers' word."""
        if self.epsilon is None:
            raise NotCoveredError(
                f"the charges must share a sum that has an epsilon at delta = {self.delta:g}, "
                "got none; give a larger delta"
            )
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            unit=self.unit,
            stated=(STATED, NOT_CHOSEN_BY_ANSWERS),
        )

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "method": self.method,
            "epsilons": dict(self.epsilons),
        }


@dataclass(frozen=True, kw_only=True)
class Account:
    """One data set, by the name its owner gave it; never by its content."""

    name: str
    relation: grade.Relation
    unit: str
    opened: str
    budget: Budget | None
    totals: Costs
    charges: int

    def spent(self, delta: float | None = None) -> Spent:
        """The ε of all charges at δ; by default at the δ of the budget, or 0 without one."""
        if delta is None:
            delta = 0.0 if self.budget is None else self.budget.delta
        delta = probability("delta", delta)
        return Spent(
            delta=delta,
            relation=self.relation,
            unit=self.unit,
            epsilons=_epsilons(self.totals, delta),
        )

    @property
    def left(self) -> dict[str, float] | None:
        """What may still be charged, in the terms of the budget's filter; None without a budget."""
        return None if self.budget is None else self.budget.left(self.totals)

    @property
    def promise(self) -> Guarantee | None:
        """What holds for everything charged so far and to come, however it is chosen: the budget.

        None without a budget, and where a budget was set below what had been spent.
        """
        if self.budget is None or not self.budget.holds(self.totals):
            return None
        return Guarantee(
            epsilon=self.budget.epsilon * (1 + ROUNDING),
            delta=self.budget.delta * (1 + ROUNDING),
            relation=self.relation,
            unit=self.unit,
            stated=(STATED, FIXED_BEFOREHAND),
        )

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return {
            "name": self.name,
            "relation": str(self.relation),
            "unit": self.unit,
            "opened": self.opened,
            "budget": None if self.budget is None else self.budget.to_dict(),
            "left": self.left,
            "charges": self.charges,
            "totals": self.totals.to_dict(),
        }


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One charge as it stands in the ledger; nothing in it is private.

    ``seq`` is its number among the charges and budgets of the account.
    """

    seq: int
    at: str
    purpose: str
    event: events.Event
    costs: Costs
    version: str

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return {
            "seq": self.seq,
            "at": self.at,
            "purpose": self.purpose,
            "event": self.event.to_dict(),
            "costs": self.costs.to_dict(),
            "version": self.version,
        }


@dataclass(frozen=True, kw_only=True)
class BudgetChange:
    """A budget that was set, and when; ``note`` says where it stands for something else.

    A restored copy of a ledger that was accepted leaves such a note, with the budget as it was.
    """

    seq: int
    at: str
    budget: Budget | None
    note: str
    version: str

    def to_dict(self) -> dict[str, object]:
        """Plain values, as they stand in a JSON file."""
        return {
            "seq": self.seq,
            "at": self.at,
            "budget": None if self.budget is None else self.budget.to_dict(),
            "note": self.note,
            "version": self.version,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class AccountState:
    """An account as its row says: cheap to keep with a charge, an ``Account`` when it is read."""

    name: str
    relation: str
    unit: str
    opened: int
    budget: Budget | None
    totals: Floats
    charges: int

    @cached_property
    def account(self) -> Account:
        """The account with its sums as numbers."""
        return Account(
            name=self.name,
            relation=grade.as_relation(self.relation),
            unit=self.unit,
            opened=utc_text(self.opened),
            budget=self.budget,
            totals=Costs.of_vector(self.totals),
            charges=self.charges,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Charged:
    """A charge that was made: the release may follow.

    ``seq`` is its number among the charges and budgets of the account. ``replayed`` says that the
    key was charged before, and nothing was charged now; the account is then as it is now.
    """

    state: AccountState
    seq: int
    replayed: bool = False

    @property
    def account(self) -> Account:
        """The account right after the charge."""
        return self.state.account

    @property
    def warning(self) -> str | None:
        """A line for the user where no budget is set."""
        return no_budget_warning(self.account) if self.state.budget is None else None

    @property
    def spent(self) -> Spent:
        """The ε of all charges, at the δ of the budget, or 0 without one."""
        return self.account.spent()

    @property
    def left(self) -> dict[str, float] | None:
        """What may still be charged; None without a budget."""
        return self.account.left


def utc_text(microseconds: int) -> str:
    """A time that the ledger keeps as microseconds since 1970, as ISO 8601 in UTC."""
    try:
        moment = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds)
    except OverflowError:
        raise LedgerError("time in the ledger must be as written, got a damaged one") from None
    return moment.isoformat(timespec="microseconds")


def no_budget_warning(account: Account) -> str:
    """What to say after a charge that no budget limits."""
    totals = account.totals
    if totals.epsilon is not None and totals.delta is not None:
        sofar = (
            f"ε ≤ {rounding.upper_text(totals.epsilon)}, δ ≤ {rounding.upper_text(totals.delta)}"
        )
    elif totals.rho is not None:
        sofar = f"ρ ≤ {rounding.upper_text(totals.rho)}"
    else:
        sofar = "ask for it at a delta"
    return (
        f"no budget is set for {account.name!r}; spent so far, in {account.charges} "
        f"{'charge' if account.charges == 1 else 'charges'}: {sofar}"
    )


def _epsilons(totals: Costs, delta: float) -> dict[str, float]:
    """The ε at δ by each sum that covers every charge and has a finite answer."""
    epsilons = {
        "basic": _basic(totals, delta),
        "zcdp": _converted(totals.rho, delta, zcdp.ZCDP.epsilon),
        "rdp": _rdp(totals, delta),
        "gdp": _converted(totals.mu_squared, delta, gdp_epsilon),
    }
    return {name: epsilon for name, epsilon in epsilons.items() if math.isfinite(epsilon)}


def _basic(totals: Costs, delta: float) -> float:
    if totals.epsilon is None or totals.delta is None or totals.delta > delta:
        return math.inf
    return basic.BASIC.epsilon(Pair(totals.epsilon, totals.delta), delta)


def _converted(total: float | None, delta: float, epsilon: Converter) -> float:
    if total is None or (delta == 0 and total > 0):
        return math.inf
    return epsilon(total, delta)


def _rdp(totals: Costs, delta: float) -> float:
    """The smallest over the orders: for a plan each of them holds."""
    return rounding.up(rdp_to_epsilon(ORDERS, totals.rdp_values, delta)[0])
