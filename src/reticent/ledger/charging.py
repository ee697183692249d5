"""Charges in one transaction: lock the accounts, add up, refuse or append, all for one commit.

What a charge costs was computed before (``Kind``). Under the lock remain a sum of 159 floats, one
comparison with the budget's limit and two hashes for each charge.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import sqlalchemy as sa

from reticent.arrays import Floats
from reticent.guarantee.grade import Relation
from reticent.ledger.accounts import AccountState, Charged
from reticent.ledger.asks import Ask, Kind
from reticent.ledger.costs import ORDERS, PLACES, SINGLE, Costs, sums_up
from reticent.ledger.errors import BudgetExhausted, LedgerError
from reticent.ledger.filters import Budget
from reticent.ledger.names import folded, skeleton
from reticent.ledger.storage import upsert
from reticent.ledger.tables import (
    ACCOUNTS,
    BUDGET_CHANGES,
    ENTRIES,
    EVENTS,
    LIBRARY,
    change_hash,
    entry_hash,
    first_hash,
)
from reticent.ledger.witness import ACCEPT, Link
from reticent.ledger.writing import write
from reticent.validation import InputError
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
        cost = ask.kind.costs.vector
        totals = sums_up(self.state.totals, cost)
        if any(not totals[place] <= limit for place, limit in self.limits):
            self._refuse(ask.kind.costs, totals)
        self.seq += 1
        entry = {
            "account": self.row.id, "seq": self.seq, "client": LIBRARY, "answers": 1, "at": at,
            "purpose": ask.purpose, "version": INSTALLED, "key_hmac": ask.key_hmac,
            "request_hmac": ask.request_hmac, "reply_sha256": None, "prev": self.head,
        }  # fmt: skip
        self.head = entry["hash"] = entry_hash(self.head, ask.kind.sha256, entry)
        self.entries.append(entry)
        self.kinds.append(ask.kind)
        kept = self.state
        self.state = AccountState(
            name=kept.name, relation=kept.relation, unit=kept.unit, opened=kept.opened,
            budget=kept.budget, totals=totals, charges=kept.charges + 1,
        )  # fmt: skip
        return Charged(state=self.state, seq=self.seq)

    def set_budget(self, budget: Budget | None, note: str = "") -> dict[str, Any]:
        """The link for a new budget, or for a note; not yet in the table."""
        self.seq += 1
        change = {
            "account": self.row.id, "seq": self.seq, "at": now(), "note": note,
            "budget": None if budget is None else budget.to_json(), "version": INSTALLED,
            "prev": self.head,
        }  # fmt: skip
        self.head = change["hash"] = change_hash(self.head, change)
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
            raise LedgerError(
                f"account {self.state.name!r} must have a budget to be charged, got none; set one "
                "with `reticent ledger budget`, or say --open-account"
            )
        same_terms(self.state, ask.relation, ask.unit)

    def _refuse(self, costs: Costs, totals: Floats) -> None:
        budget = self.state.budget
        assert budget is not None
        budget.require(costs, "the event")
        raise BudgetExhausted(
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
            raise LedgerError(
                f"{what} of {state.name!r} must be {kept!r}, as it was opened with, got {given!r}"
            )


def state_of(row: Any) -> AccountState:
    """The account as its row says; damaged values are refused."""
    spent = row.spent if isinstance(row.spent, bytes) else b""
    totals = np.frombuffer(spent, dtype=_SPENT) if len(spent) == 8 * PLACES else None
    if totals is None or not (totals >= 0).all() or not isinstance(row.charges, int):
        raise LedgerError(f"sums of {row.name!r} must be finite numbers >= 0, got a damaged row")
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
def budget_of(document: str) -> Budget:
    """A budget as it stands in the table, read once."""
    return Budget.from_json(document)


def opened_books(
    connection: sa.Connection,
    identity: str,
    wanted: Mapping[str, tuple[Relation, str]],
    seen: Mapping[int, Link],
) -> dict[str, Book | LedgerError]:
    """The locked accounts of these names, made where there are none; or why one cannot be had.

    Names are locked in their order, so that two transactions never wait for each other.
    """
    books: dict[str, Book | LedgerError] = {}
    rows = _locked(connection, wanted)
    for name in sorted(set(wanted) - set(rows)):
        _insert(connection, name, *wanted[name])
    fresh = _locked(connection, set(wanted) - set(rows)) if len(rows) < len(wanted) else {}
    for name in wanted:
        row = rows.get(name) or fresh.get(name)
        try:
            if row is None:
                raise _near(connection, name)
            _refuse_older(row, seen.get(row.id))
            is_new = row.seq == 0
            head = first_hash(identity, row) if is_new else row.head
            books[name] = Book(row=row, state=state_of(row), seq=row.seq, head=head, fresh=is_new)
        except LedgerError as refusal:
            books[name] = refusal
    return books


def _locked(connection: sa.Connection, names: Iterable[str]) -> dict[str, Any]:
    query = (
        ACCOUNTS.select()
        .where(ACCOUNTS.c.name.in_(sorted(names)))
        .order_by(ACCOUNTS.c.name)
        .with_for_update()
    )
    return {row.name: row for row in connection.execute(query)}


def _insert(connection: sa.Connection, name: str, relation: Relation, unit: str) -> None:
    """A new account, unless another transaction was faster or a name looks like it."""
    values = {
        "name": name, "skeleton": skeleton(name), "folded": folded(name),
        "relation": str(relation), "unit": unit, "opened": now(),
        "spent": bytes(8 * PLACES), "charges": 0, "seq": 0, "head": b"",
    }  # fmt: skip
    connection.execute(upsert(connection, ACCOUNTS).values(values).on_conflict_do_nothing())


def _near(connection: sa.Connection, name: str) -> LedgerError:
    query = sa.select(ACCOUNTS.c.name).where(
        (ACCOUNTS.c.skeleton == skeleton(name)) | (ACCOUNTS.c.folded == folded(name))
    )
    near = connection.execute(query.limit(1)).scalar()
    return LedgerError(
        f"account must not look like another one, got {name!r} beside {near!r}; "
        "take the existing name or one that differs more"
    )


def _refuse_older(row: Any, last: Link | None) -> None:
    if last is None or row.seq > last[0] or (row.seq, bytes(row.head)) == last:
        return
    raise LedgerError(
        f"account {row.name!r} must hold what it held before, got an older copy with "
        f"{row.seq} links of {last[0]}; {ACCEPT} takes it, and what was charged since is lost"
    )


@dataclass(frozen=True)
class Known:
    """What a process knows of a ledger from what it committed or saw committed."""

    identity: str
    seen: dict[int, Link]
    """The last link of each account."""
    kinds: dict[bytes, int] = field(default_factory=dict)
    """The numbers of kinds by their SHA-256; rows of kinds never change."""


@dataclass(frozen=True)
class Written:
    """What a transaction adds to what is known, once it is committed."""

    links: dict[int, Link] = field(default_factory=dict)
    kinds: dict[bytes, int] = field(default_factory=dict)


def charge_all(
    connection: sa.Connection, known: Known, asks: Sequence[Ask]
) -> tuple[list[Charged | InputError], Written]:
    """What comes of each ask, in their order, and what is known then; not yet committed."""
    wanted: dict[str, tuple[Relation, str]] = {}
    for ask in asks:
        wanted.setdefault(ask.name, (ask.relation, ask.unit))
    books = opened_books(connection, known.identity, wanted, known.seen)
    keys = _known_keys(connection, asks)
    outcomes: list[Charged | InputError] = []
    at = now()
    for ask in asks:
        book = books[ask.name]
        try:
            if isinstance(book, LedgerError):
                raise book
            outcomes.append(_charged_or_replayed(book, ask, keys, at))
        except InputError as refusal:
            outcomes.append(refusal)
    open_books = [book for book in books.values() if isinstance(book, Book)]
    return outcomes, _written(connection, open_books, known.kinds)


def _known_keys(connection: sa.Connection, asks: Sequence[Ask]) -> dict[bytes, tuple[bytes, int]]:
    """For keys that were charged before: of which request, and its number."""
    keys = [ask.key_hmac for ask in asks if ask.key_hmac is not None]
    if not keys:
        return {}
    query = sa.select(ENTRIES.c.key_hmac, ENTRIES.c.request_hmac, ENTRIES.c.seq).where(
        ENTRIES.c.client == LIBRARY, ENTRIES.c.key_hmac.in_(keys)
    )
    return {bytes(row[0]): (bytes(row[1]), row[2]) for row in connection.execute(query)}


def _charged_or_replayed(
    book: Book, ask: Ask, known: dict[bytes, tuple[bytes, int]], at: int
) -> Charged:
    if ask.key_hmac is None or ask.request_hmac is None:
        return book.charge(ask, at)
    if ask.key_hmac in known:
        request, seq = known[ask.key_hmac]
        if request != ask.request_hmac:
            raise LedgerError(
                f"key must be used for one request to {ask.name!r}, got it for another; "
                "nothing was charged"
            )
        return Charged(state=book.state, seq=seq, replayed=True)
    charged = book.charge(ask, at)
    known[ask.key_hmac] = ask.request_hmac, charged.seq
    return charged


def _written(
    connection: sa.Connection, books: Sequence[Book], known: Mapping[bytes, int]
) -> Written:
    """Put down what was added; an account that was opened for nothing goes again."""
    charged = {kind.sha256: kind for book in books for kind in book.kinds}
    kinds = {sha: known[sha] for sha in charged if sha in known}
    kinds |= _kind_ids(connection, {sha: charged[sha] for sha in charged if sha not in kinds})
    entries: list[dict[str, Any]] = []
    counts: Counter[tuple[int, int]] = Counter()
    for book in books:
        if book.fresh and not book.entries:
            connection.execute(ACCOUNTS.delete().where(ACCOUNTS.c.id == book.row.id))
        for entry, kind in zip(book.entries, book.kinds, strict=True):
            entry["event"] = kinds[kind.sha256]
            entries.append(entry)
            counts[book.row.id, kinds[kind.sha256]] += 1
    if not entries:
        return Written()
    changed = [book for book in books if book.entries]
    write(connection, entries, counts, [book.written for book in changed])
    return Written({book.row.id: (book.seq, book.head) for book in changed}, kinds)


def _kind_ids(connection: sa.Connection, kinds: Mapping[bytes, Kind]) -> dict[bytes, int]:
    """The numbers of the kinds, which are added where they are not there yet."""
    if not kinds:
        return {}
    query = sa.select(EVENTS.c.sha256, EVENTS.c.id).where(EVENTS.c.sha256.in_(sorted(kinds)))
    found = {bytes(sha): number for sha, number in connection.execute(query)}
    missing = sorted(set(kinds) - set(found))
    for sha in missing:
        row = {"sha256": sha, "event": kinds[sha].event, "costs": kinds[sha].costs_text}
        connection.execute(upsert(connection, EVENTS).values(row).on_conflict_do_nothing())
    if missing:
        found = {bytes(sha): number for sha, number in connection.execute(query)}
    return found


def add_change(connection: sa.Connection, book: Book, change: Mapping[str, Any]) -> Link:
    """Write a change of the budget and the account's row; its last link."""
    connection.execute(BUDGET_CHANGES.insert(), [dict(change)])
    values = book.written | {"budget": change["budget"]}
    connection.execute(ACCOUNTS.update().where(ACCOUNTS.c.id == book.row.id).values(values))
    return book.seq, book.head


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000
