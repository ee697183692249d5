"""The ledger: charge first, release after, in one transaction.

A charge reads what was spent, adds, and is either committed or refused and leaves nothing. A crash
between charge and release leaves the charge: over-counting is safe. What is added, and which sum a
budget limits, is in ``filters``.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import sqlalchemy as sa

from reticent.guarantee.events import Event
from reticent.guarantee.grade import Relation, as_relation
from reticent.guarantee.guarantee import ONE_RECORD
from reticent.ledger.accounts import (
    Account,
    BudgetChange,
    Charged,
    Entry,
    Spent,
    no_budget_warning,
)
from reticent.ledger.costs import Costs, costs_of
from reticent.ledger.errors import BudgetExhausted, LedgerError
from reticent.ledger.filters import Budget, FilterKind, as_filter
from reticent.ledger.storage import (
    ACCOUNTS,
    BUDGET_CHANGES,
    ENTRIES,
    Storage,
    add_account,
    locked,
)
from reticent.validation import InputError, describe, line
from reticent.version import INSTALLED

MOST_CHARACTERS = 1000


class Ledger:
    """Accounts of data sets in one database; safe to use from many threads and processes.

    >>> from reticent.guarantee import LaplaceEvent
    >>> folder = getfixture("tmp_path")
    >>> ledger = Ledger.open(folder / "ledger.sqlite", create=True)
    >>> ledger.set_budget("survey", epsilon=1.0, delta=0.0, relation="add-remove").charges
    0
    >>> release = LaplaceEvent(noise_multiplier=2.0)
    >>> done = ledger.charge("survey", release, relation="add-remove", purpose="mean age")
    >>> round(done.spent.epsilon, 6)
    0.5
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    @classmethod
    def open(cls, where: str | Path, *, create: bool = False) -> Ledger:
        """The ledger in a file, or in a PostgreSQL database given by its URL.

        With ``create`` one is made where there is none. Without, a wrong path is refused: a new
        ledger would have no budgets.
        """
        if not isinstance(where, (str, Path)) or not str(where):
            raise InputError(f"ledger must be a path or a URL, got {describe(where)}")
        return cls(Storage.open(where, create=create))

    def close(self) -> None:
        """Let go of the database."""
        self._storage.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def set_budget(  # noqa: PLR0913 - each is part of what a budget is
        self,
        name: str,
        *,
        epsilon: float,
        delta: float,
        relation: Relation | str,
        unit: str = ONE_RECORD,
        filter: FilterKind | str | None = None,
        plan: Event | None = None,
    ) -> Account:
        """Open the account if needed and fix its budget; earlier charges count.

        A budget below what was spent is allowed, and nothing more can be charged. The filter stays
        as it is if none is named; for a new budget it is "basic", which takes every release with an
        (ε, δ). ``plan`` says what the filter "rdp" should be tight for: without one, for Gaussian
        noise. Every change is kept: a budget that is raised
        because of what the answers were is none.
        """
        name, relation, unit = _named(name), _neighbours(relation), line("unit", unit)
        kind = None if filter is None else as_filter(filter)
        planned = None if plan is None else costs_of(_an_event(plan), relation)
        with self._storage.writing() as connection:
            row = _opened(connection, name, relation, unit)
            account = _account(row)
            kept = FilterKind.BASIC if account.budget is None else account.budget.filter
            budget = Budget.fixed(epsilon=epsilon, delta=delta, filter=kind or kept, plan=planned)
            budget.require(account.totals, f"what was charged to {name!r}")
            _update(connection, row, budget=budget.to_json())
            connection.execute(
                BUDGET_CHANGES.insert().values(
                    account=row.id, at=_now(), budget=budget.to_json(), version=INSTALLED
                )
            )
            return _account(_locked(connection, name))

    def charge(
        self,
        name: str,
        event: Event,
        *,
        relation: Relation | str,
        unit: str = ONE_RECORD,
        purpose: str,
        claim: tuple[float, float] | None = None,
    ) -> Charged:
        """Charge what a release is about to cost; BudgetExhausted means: do not release.

        The filter "basic" adds up ε and δ. Noise such as Gaussian has an ε at every δ: ``claim`` is
        the (ε, δ) that is known of this release (``claim_at`` computes one).
        ``purpose`` is a public line; no private value belongs in it. An unknown account is opened
        without a budget, and the answer carries a warning.
        """
        name, relation, unit = _named(name), _neighbours(relation), line("unit", unit)
        purpose = _short("purpose", purpose)
        costs = costs_of(_an_event(event), relation, claim=claim)  # a while, so before the lock
        with self._storage.writing() as connection:
            row = _opened(connection, name, relation, unit)
            account = _account(row)
            totals = account.totals.plus(costs)
            if account.budget is not None:
                _check_budget(account.budget, costs, totals, account)
            connection.execute(
                ENTRIES.insert().values(
                    account=row.id,
                    at=_now(),
                    purpose=purpose,
                    event=json.dumps(event.to_dict(), ensure_ascii=False, allow_nan=False),
                    costs=costs.to_json(),
                    version=INSTALLED,
                )
            )
            _update(connection, row, totals=totals.to_json(), charges=account.charges + 1)
            charged = _account(_locked(connection, name))
        warning = no_budget_warning(charged) if charged.budget is None else None
        return Charged(account=charged, warning=warning)

    def account(self, name: str) -> Account | None:
        """The account of that name, or None."""
        with self._storage.reading() as connection:
            query = ACCOUNTS.select().where(ACCOUNTS.c.name == _named(name))
            row = connection.execute(query).one_or_none()
        return None if row is None else _account(row)

    def accounts(self) -> list[Account]:
        """All accounts of the ledger, ordered by name."""
        with self._storage.reading() as connection:
            return [_account(row) for row in connection.execute(_by_name())]

    def spent(self, name: str, *, delta: float | None = None) -> Spent:
        """The ε of all charges to an account at δ; by default at the δ of its budget, or 0."""
        account = self.account(name)
        if account is None:
            raise LedgerError(f"account must be in the ledger, got {name!r}")
        return account.spent(delta)

    def entries(self, name: str) -> list[Entry]:
        """The charges to an account, in their order."""
        return [
            Entry(
                at=row.at,
                purpose=row.purpose,
                event=_event(row.event),
                costs=Costs.from_json(row.costs),
                version=row.version,
            )
            for row in self._rows_of(name, ENTRIES)
        ]

    def budget_changes(self, name: str) -> list[BudgetChange]:
        """The budgets an account has had, in their order."""
        return [
            BudgetChange(at=row.at, budget=Budget.from_json(row.budget), version=row.version)
            for row in self._rows_of(name, BUDGET_CHANGES)
        ]

    def _rows_of(self, name: str, table: sa.Table) -> list[sa.Row[Any]]:
        query = (
            sa.select(table)
            .join(ACCOUNTS, ACCOUNTS.c.id == table.c.account)
            .where(ACCOUNTS.c.name == _named(name))
            .order_by(table.c.id)
        )
        with self._storage.reading() as connection:
            return list(connection.execute(query))


def _check_budget(budget: Budget, costs: Costs, totals: Costs, account: Account) -> None:
    budget.require(costs, "the event")
    if not budget.holds(totals):
        raise BudgetExhausted(
            f"budget of {account.name!r} must not be exceeded, {budget}: with this charge "
            f"{budget.why_not(totals)}; nothing was charged, release nothing"
        )


def _opened(connection: sa.Connection, name: str, relation: Relation, unit: str) -> sa.Row[Any]:
    """The locked row of the account, which is made where there is none."""
    row = locked(connection, name)
    if row is None:
        values: dict[str, object] = {
            "name": name,
            "relation": str(relation),
            "unit": unit,
            "opened": _now(),
            "totals": Costs().to_json(),
            "charges": 0,
        }
        add_account(connection, values)
        row = _locked(connection, name)
    for what, given in (("relation", str(relation)), ("unit", unit)):
        kept = getattr(row, what)
        if kept != given:
            raise LedgerError(
                f"{what} of {name!r} must be {kept!r}, as it was opened with, got {given!r}"
            )
    return row


def _locked(connection: sa.Connection, name: str) -> sa.Row[Any]:
    row = locked(connection, name)
    if row is None:
        raise LedgerError(f"account must be in the ledger, got {name!r}")
    return row


def _update(connection: sa.Connection, row: sa.Row[Any], **values: object) -> None:
    connection.execute(ACCOUNTS.update().where(ACCOUNTS.c.id == row.id).values(values))


def _by_name() -> sa.Select[Any]:
    return ACCOUNTS.select().order_by(ACCOUNTS.c.name)


def _account(row: sa.Row[Any]) -> Account:
    return Account(
        name=row.name,
        relation=as_relation(row.relation),
        unit=row.unit,
        opened=row.opened,
        budget=None if row.budget is None else Budget.from_json(row.budget),
        totals=Costs.from_json(row.totals),
        charges=row.charges,
    )


def _an_event(value: object) -> Event:
    if not isinstance(value, Event):
        raise InputError(f"event must be an Event, got {describe(value)}")
    return value


def _event(document: str) -> Event:
    try:
        return Event.from_dict(json.loads(document))
    except ValueError:
        raise LedgerError("event in the ledger must be as written, got a damaged text") from None


def _named(name: object) -> str:
    return _short("account", name)


def _short(what: str, value: object) -> str:
    found = line(what, value)
    if len(found) > MOST_CHARACTERS or not found.isprintable():
        raise InputError(f"{what} must be at most {MOST_CHARACTERS} printable characters, got more")
    return found


def _neighbours(relation: Relation | str) -> Relation:
    """An account is under one of two relations; "as declared" cannot be compared with another."""
    found = as_relation(relation)
    if found is Relation.AS_DECLARED:
        raise InputError("relation must be add-remove or replace-one to be charged, got neither")
    return found


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
