"""The ledger: charge first, release after, in one transaction.

A charge reads what was spent, adds, and is either committed or refused and leaves nothing. A crash
between charge and release leaves the charge: over-counting is safe. What is added, and which sum a
budget limits, is in ``filters``; how charges share a commit in ``committer``; what finds damage,
edits and restored copies in ``checking`` and ``witness``.
"""

import hashlib
import hmac
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import sqlalchemy as sa

from reticent.guarantee.events import Event
from reticent.guarantee.grade import Relation, as_relation
from reticent.guarantee.guarantee import ONE_RECORD
from reticent.ledger import committer, errors, filters, questions
from reticent.ledger.accounts import Account, BudgetChange, Charged, Entry, Spent, utc_text
from reticent.ledger.asks import Ask, kind_of
from reticent.ledger.book import Book, budget_of, same_terms, state_of
from reticent.ledger.charging import Known, add_change, charge_all, opened_books
from reticent.ledger.checking import all_problems, older_copy, older_than_seen, quick_problems
from reticent.ledger.costs import Costs, costs_of
from reticent.ledger.names import account_name, short_line
from reticent.ledger.storage import Storage
from reticent.ledger.tables import ACCOUNTS, BUDGET_CHANGES, ENTRIES, EVENTS
from reticent.ledger.witness import Link, Witness
from reticent.strict_json import parsed
from reticent.validation import InputError, describe


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

    def __init__(self, storage: Storage, seen: dict[int, Link], *, first_seen: bool) -> None:
        self._storage = storage
        self._witness = Witness.of(storage.identity)
        self._known = Known(storage.identity, seen)
        self._committer = committer.Committer(self._commit)
        self.first_seen = first_seen
        """Whether this machine had no witness of the ledger: an older copy would not be told."""

    @classmethod
    def open(cls, where: str | Path, *, create: bool = False) -> "Ledger":
        """The ledger in a file, or in a PostgreSQL database given by its URL.

        With ``create`` one is made where there is none. Without, a wrong path is refused: a new
        ledger would have no budgets. A ledger that does not agree with itself, or lacks what this
        machine saw of it before, is refused.
        """
        storage = _opened(where, create=create)
        try:
            seen = Witness.of(storage.identity).seen()  # first: the database is never behind it
            with storage.reading() as connection:
                if older := older_than_seen(connection, seen or {}):
                    raise older_copy(storage.where, older)
                if problems := quick_problems(connection):
                    raise errors.LedgerError(
                        f"ledger {storage.where} must agree with itself, got: {problems[0]}; "
                        "`reticent ledger verify` walks through all of it"
                    )
                links = _links(connection)
            if seen is None:
                Witness.of(storage.identity).restart(links)
        except BaseException:
            storage.close()
            raise
        return cls(storage, links, first_seen=seen is None)

    def close(self) -> None:
        """Let go of the database, after what was submitted is done."""
        self._committer.close()
        self._storage.close()

    def __enter__(self) -> "Ledger":
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
        filter: filters.FilterKind | str | None = None,
        plan: Event | None = None,
    ) -> Account:
        """Open the account if needed and fix its budget; earlier charges count.

        A budget below what was spent is allowed, and nothing more can be charged. The filter stays
        as it is if none is named; for a new budget it is "basic", which takes every release with an
        (ε, δ). ``plan`` says what the filter "rdp" should be tight for: without one, for Gaussian
        noise. Every change is kept: a budget that is raised
        because of what the answers were is none.
        """
        name, relation, unit = account_name(name), _neighbours(relation), short_line("unit", unit)
        kind = None if filter is None else filters.as_filter(filter)
        planned = None if plan is None else costs_of(_an_event(plan), relation)
        with self._storage.writing() as connection:
            known, wanted = self._known, {name: (relation, unit)}
            book = opened_books(connection, known.identity, wanted, known.seen)[name]
            if not isinstance(book, Book):
                raise book
            same_terms(book.state, relation, unit)
            account = book.state.account
            kept = filters.FilterKind.BASIC if account.budget is None else account.budget.filter
            budget = filters.Budget.fixed(
                epsilon=epsilon, delta=delta, filter=kind or kept, plan=planned
            )
            budget.require(account.totals, f"what was charged to {name!r}")
            link = add_change(connection, book, book.set_budget(budget))
        self._saw({book.row.id: link})
        return book.state.account

    def charge(  # noqa: PLR0913 - what is released, from whom, for what, and how often at most
        self,
        name: str,
        event: Event,
        *,
        relation: Relation | str,
        unit: str = ONE_RECORD,
        purpose: str,
        claim: tuple[float, float] | None = None,
        key: str | None = None,
        open_account: bool = True,
    ) -> Charged:
        """Charge what a release is about to cost; BudgetExhausted means: do not release.

        Args:
            name: The account; stripped and in Unicode's form NFC. One that is not there is opened,
                unless its name looks like another's.
            event: What will be released.
            relation: "add-remove" or "replace-one", as the account was opened with.
            unit: What is protected, likewise.
            purpose: A public line; no private value belongs in it.
            claim: The (ε, δ) that is known of this release, for the filter "basic": noise such as
                Gaussian has an ε at every δ (``claim_at`` computes one). A claim below what the
                event costs at this δ is refused.
            key: Makes the charge idempotent: the same request with the same key is charged once,
                however often it is tried again; with another request the key is refused.
            open_account: Whether an account without a budget may be charged, with a warning.
        """
        return self.submit(
            name, event, relation=relation, unit=unit, purpose=purpose, claim=claim, key=key,
            open_account=open_account,
        ).result()  # fmt: skip

    def submit(  # noqa: PLR0913 - as above
        self,
        name: str,
        event: Event,
        *,
        relation: Relation | str,
        unit: str = ONE_RECORD,
        purpose: str,
        claim: tuple[float, float] | None = None,
        key: str | None = None,
        open_account: bool = True,
    ) -> Future[Charged]:
        """As ``charge``, without waiting: release nothing before the future has its result."""
        name, purpose = account_name(name), short_line("purpose", purpose)
        relation = _neighbours(relation)
        kind = kind_of(_an_event(event), relation, None if claim is None else (claim[0], claim[1]))
        hmacs: dict[str, Any] = {}
        if key is not None:
            secret = bytes.fromhex(self._storage.about["secret"])
            hmacs = {
                "key_hmac": _hmac(secret, "key", name, short_line("key", key)),
                "request_hmac": _hmac(secret, "request", name, purpose, kind.sha256.hex()),
            }
        ask = Ask(
            name=name, relation=relation, unit=short_line("unit", unit), kind=kind,
            purpose=purpose, open_account=open_account, **hmacs,
        )  # fmt: skip
        self._committer.put(ask)
        return ask.future

    def account(self, name: str) -> Account | None:
        """The account of that name, or None."""
        with self._storage.reading() as connection:
            query = ACCOUNTS.select().where(ACCOUNTS.c.name == account_name(name))
            row = connection.execute(query).one_or_none()
            return None if row is None else state_of(row).account

    def accounts(self) -> list[Account]:
        """All accounts of the ledger, ordered by name."""
        with self._storage.reading() as connection:
            rows = connection.execute(ACCOUNTS.select()).all()
            accounts = [state_of(row).account for row in rows]
        return sorted(accounts, key=lambda account: account.name)

    def spent(self, name: str, *, delta: float | None = None) -> Spent:
        """The ε of all charges to an account at δ; by default at the δ of its budget, or 0."""
        account = self.account(name)
        if account is None:
            raise errors.LedgerError(f"account must be in the ledger, got {name!r}")
        return account.spent(delta)

    def entries(self, name: str) -> list[Entry]:
        """The charges to an account, in their order."""
        query = sa.select(ENTRIES, EVENTS.c.event.label("document"), EVENTS.c.costs).join(
            EVENTS, EVENTS.c.id == ENTRIES.c.event
        )
        kinds: dict[int, tuple[Event, Costs]] = {}
        entries = []
        with self._rows_of(name, ENTRIES, query) as rows:
            for row in rows:
                if row.event not in kinds:
                    kinds[row.event] = _event(row.document), Costs.from_json(row.costs)
                event, costs = kinds[row.event]
                entries.append(
                    Entry(
                        seq=row.seq, at=utc_text(row.at), purpose=row.purpose, event=event,
                        costs=costs, version=row.version,
                    )
                )  # fmt: skip
        return entries

    def budget_changes(self, name: str) -> list[BudgetChange]:
        """The budgets an account has had, in their order."""
        with self._rows_of(name, BUDGET_CHANGES, sa.select(BUDGET_CHANGES)) as rows:
            return [
                BudgetChange(
                    seq=row.seq,
                    at=utc_text(row.at),
                    budget=None if row.budget is None else budget_of(row.budget),
                    note=row.note,
                    version=row.version,
                )
                for row in rows
            ]

    @contextmanager
    def _rows_of(
        self, name: str, table: sa.Table, query: sa.Select[Any]
    ) -> Iterator[sa.CursorResult[Any]]:
        query = (
            query.join(ACCOUNTS, ACCOUNTS.c.id == table.c.account)
            .where(ACCOUNTS.c.name == account_name(name))
            .order_by(table.c.seq)
        )
        with self._storage.reading() as connection:
            yield connection.execute(query)

    def _commit(self, asks: Sequence[Ask]) -> Sequence[Charged | questions.Reply | InputError]:
        """All that waits, in one transaction; whoever asked hears of it after the commit."""
        with self._storage.writing() as connection:
            outcomes, written = charge_all(connection, self._known, asks)
        self._known.kinds.update(written.kinds)
        self._saw(written.links)
        return outcomes

    def _saw(self, links: dict[int, Link]) -> None:
        seen = self._known.seen
        for account, link in links.items():
            if account not in seen or seen[account][0] < link[0]:
                seen[account] = link
        if links:
            self._witness.advance(links)


def verify_ledger(where: str | Path, *, accept_restored: bool = False) -> list[str]:
    """What is wrong with a ledger, walking all of it; empty where nothing is.

    ``accept_restored`` takes a copy that is sound in itself but lacks what this machine saw before,
    and leaves a note in each account that lost something. What was charged since the copy was made
    is not counted any more: whoever accepts one should lower its budgets.
    """
    storage = _opened(where, create=False)
    try:
        witness = Witness.of(storage.identity)
        seen, damage = _seen(witness)
        with storage.reading() as connection:
            older = older_than_seen(connection, seen)
            problems = [*all_problems(connection, storage.identity)]
        if problems or not accept_restored:
            lacking = [str(older_copy(storage.where, older))] if older else []
            return [*dict.fromkeys(problems), *lacking, *damage]
        with storage.writing() as connection:
            for number, _, links, was in older:
                _note_restored(connection, storage.identity, number, f"{links} links of {was}")
        with storage.reading() as connection:
            witness.restart(_links(connection))
        return []
    finally:
        storage.close()


def _opened(where: str | Path, *, create: bool) -> Storage:
    if not isinstance(where, (str, Path)) or not str(where):
        raise InputError(f"ledger must be a path or a URL, got {describe(where)}")
    return Storage.open(where, create=create)


def _seen(witness: Witness) -> tuple[dict[int, Link], list[str]]:
    try:
        return witness.seen() or {}, []
    except errors.LedgerError as damage:
        return {}, [str(damage)]


def _note_restored(connection: sa.Connection, identity: str, account: int, kept: str) -> None:
    row = connection.execute(ACCOUNTS.select().where(ACCOUNTS.c.id == account)).one_or_none()
    if row is None:
        return
    wanted = {row.name: (as_relation(row.relation), row.unit)}
    book = opened_books(connection, identity, wanted, {})[row.name]
    assert isinstance(book, Book)
    note = f"a restored copy was accepted: {kept} that were seen"
    add_change(connection, book, book.set_budget(book.state.budget, note))


def _links(connection: sa.Connection) -> dict[int, Link]:
    query = sa.select(ACCOUNTS.c.id, ACCOUNTS.c.seq, ACCOUNTS.c.head)
    return {number: (seq, bytes(head)) for number, seq, head in connection.execute(query)}


def _hmac(secret: bytes, *parts: str) -> bytes:
    return hmac.digest(secret, json.dumps(parts).encode(), hashlib.sha256)


def _an_event(value: object) -> Event:
    if not isinstance(value, Event):
        raise InputError(f"event must be an Event, got {describe(value)}")
    return value


def _event(document: str) -> Event:
    try:
        return Event.from_dict(parsed(document, source="event in the ledger"))
    except (ValueError, TypeError):
        raise errors.LedgerError(
            "event in the ledger must be as written, got a damaged text"
        ) from None


def _neighbours(relation: Relation | str) -> Relation:
    """An account is under one of two relations; "as declared" cannot be compared with another."""
    adjacency = as_relation(relation)
    if adjacency is Relation.AS_DECLARED:
        raise InputError("relation must be add-remove or replace-one to be charged, got neither")
    return adjacency
