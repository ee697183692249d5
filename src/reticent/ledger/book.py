"""An account that is locked, with what one transaction adds to it."""

import time
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from reticent.arrays import Floats
from reticent.guarantee.grade import Relation
from reticent.ledger import errors, filters, tables
from reticent.ledger.accounts import AccountState, Charged
from reticent.ledger.asks import Ask, Kind
from reticent.ledger.costs import ORDERS, PLACES, SINGLE, Costs, sums_up
from reticent.version import INSTALLED

_SPENT = np.dtype("<f8")


@dataclass(kw_only=True)
class Book:
    """An account that is locked, with what this transaction adds to it."""

    row: Any
    state: AccountState
    seq: int
    head: bytes
    fresh: bool
    entries: list[dict[str, Any]] = field(default_factory=list)
    kinds: list[Kind] = field(default_factory=list)

    @cached_property
    def limits(self) -> list[tuple[int, float]]:
        """Places of the sums that the budget limits, and their limits."""
        budget = self.state.budget
        if budget is None:
            return []
        if budget.order is not None:
            return [(len(SINGLE) + ORDERS.index(budget.order), budget.limits["rdp"])]
        return [(SINGLE.index(name), limit) for name, limit in budget.limits.items()]

    def charge(self, ask: Ask, at: int) -> Charged:
        """Append the charge, if the budget allows it."""
        self._refuse_others(ask)
        self.admit(ask, ask.kind, answers=1, at=at)
        return Charged(state=self.state, seq=self.seq)

    def admit(self, ask: Ask, kind: Kind, *, answers: int, at: int) -> dict[str, Any]:
        """The entry of a charge that the budget allows; ``seal`` hashes it when it is complete."""
        totals = sums_up(self.state.totals, kind.costs.vector)
        if any(not totals[place] <= limit for place, limit in self.limits):
            self._refuse(kind.costs, totals)
        self.seq += 1
        entry = {
            "account": self.row.id, "seq": self.seq, "client": ask.client, "answers": answers,
            "at": at, "purpose": ask.purpose, "version": INSTALLED, "key_hmac": ask.key_hmac,
            "request_hmac": ask.request_hmac, "reply_sha256": None,
        }  # fmt: skip
        self.entries.append(entry)
        self.kinds.append(kind)
        kept = self.state
        self.state = AccountState(
            name=kept.name, relation=kept.relation, unit=kept.unit, opened=kept.opened,
            budget=kept.budget, totals=totals, charges=kept.charges + 1,
        )  # fmt: skip
        return entry

    def seal(self) -> None:
        """Chain the entries that were admitted, in their order."""
        for entry, kind in zip(self.entries, self.kinds, strict=True):
            entry["prev"] = self.head
            self.head = entry["hash"] = tables.entry_hash(self.head, kind.sha256, entry)

    def set_budget(self, budget: filters.Budget | None, note: str = "") -> dict[str, Any]:
        """The link for a new budget, or for a note; not yet in the table."""
        self.seq += 1
        change = {
            "account": self.row.id, "seq": self.seq, "at": now(), "note": note,
            "budget": None if budget is None else budget.to_json(), "version": INSTALLED,
            "prev": self.head,
        }  # fmt: skip
        self.head = change["hash"] = tables.change_hash(self.head, change)
        self.state = replace(self.state, budget=budget)
        return change

    @property
    def written(self) -> dict[str, Any]:
        """The values of the account's row that links change."""
        spent = self.state.totals.astype(_SPENT).tobytes()
        return {
            "id": self.row.id, "spent": spent, "charges": self.state.charges, "seq": self.seq,
            "head": self.head,
        }  # fmt: skip

    def _refuse_others(self, ask: Ask) -> None:
        if self.state.budget is None and not ask.open_account:
            raise errors.LedgerError(
                f"account {self.state.name!r} must have a budget to be charged, got none; set one "
                "with `reticent ledger budget`, or say --open-account"
            )
        same_terms(self.state, ask.relation, ask.unit)

    def _refuse(self, costs: Costs, totals: Floats) -> None:
        budget = self.state.budget
        assert budget is not None
        budget.require(costs, "the event")
        raise errors.BudgetExhausted(
            f"budget of {self.state.name!r} must not be exceeded, {budget}: with this charge "
            f"{budget.why_not(Costs.of_vector(totals))}; nothing was charged, release nothing"
        )


def same_terms(state: AccountState, relation: Relation, unit: str) -> None:
    """Refuse another relation or unit than the account was opened with."""
    for what, kept, given in (
        ("relation", state.relation, str(relation)),
        ("unit", state.unit, unit),
    ):
        if kept != given:
            raise errors.LedgerError(
                f"{what} of {state.name!r} must be {kept!r}, as it was opened with, got {given!r}"
            )


def state_of(row: Any) -> AccountState:
    """The account as its row says; damaged values are refused."""
    spent = row.spent if isinstance(row.spent, bytes) else b""
    totals = np.frombuffer(spent, dtype=_SPENT) if len(spent) == 8 * PLACES else None
    if totals is None or not (totals >= 0).all() or not isinstance(row.charges, int):
        raise errors.LedgerError(
            f"sums of {row.name!r} must be finite numbers >= 0, got a damaged row"
        )
    return AccountState(
        name=row.name,
        relation=row.relation,
        unit=row.unit,
        opened=row.opened,
        budget=None if row.budget is None else budget_of(row.budget),
        totals=totals.astype(np.float64),
        charges=row.charges,
    )


@lru_cache(maxsize=1024)
def budget_of(document: str) -> filters.Budget:
    """A budget as it stands in the table, read once."""
    return filters.Budget.from_json(document)


def now() -> int:
    """The time that an entry is written with: microseconds since 1970, by the system's clock."""
    return time.time_ns() // 1000
