"""Charges in one transaction: lock the accounts, add up, refuse or append, all for one commit.

What a charge costs was computed before (``Kind``). Under the lock remain a sum of 159 floats, one
comparison with the budget's limit and two hashes for each charge.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from reticent.guarantee.grade import Relation
from reticent.ledger import accounts, costs, storage, writing
from reticent.ledger.asks import Ask, Kind
from reticent.ledger.book import Book, now, state_of
from reticent.ledger.errors import LedgerError
from reticent.ledger.known_keys import KeyedRequest, KeyedRequests, known_keys
from reticent.ledger.names import folded, skeleton
from reticent.ledger.questions import Pending, Question, Questions, Reply
from reticent.ledger.tables import ACCOUNTS, BUDGET_CHANGES, EVENTS, first_hash
from reticent.ledger.witness import ACCEPT, Link
from reticent.validation import InputError


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
        "spent": bytes(8 * costs.PLACES), "charges": 0, "seq": 0, "head": b"",
    }  # fmt: skip
    connection.execute(storage.upsert(connection, ACCOUNTS).values(values).on_conflict_do_nothing())


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
) -> tuple[list[accounts.Charged | Reply | InputError], Written]:
    """What comes of each ask, in their order, and what is known then; not yet committed.

    All is decided first. Then the noise of the questions that were accepted is drawn in one call,
    the entries are chained, and everything is written.
    """
    wanted: dict[str, tuple[Relation, str]] = {}
    for ask in asks:
        wanted.setdefault(ask.name, (ask.relation, ask.unit))
    books = opened_books(connection, known.identity, wanted, known.seen)
    at, keys = now(), known_keys(connection, asks)
    questions = Questions.opened(connection, asks, keys, at)
    outcomes: list[accounts.Charged | Pending | InputError] = []
    for ask in asks:
        book = books[ask.name]
        try:
            if isinstance(book, LedgerError):
                raise book
            if isinstance(ask, Question):
                outcomes.append(questions.decided(book, ask))
            else:
                outcomes.append(_charged_or_replayed(book, ask, keys, at))
        except InputError as refusal:
            outcomes.append(refusal)
    questions.draw()
    open_books = [book for book in books.values() if isinstance(book, Book)]
    for book in open_books:
        book.seal()
    written = _written(connection, open_books, known.kinds)
    questions.write(connection)
    return [one.reply() if isinstance(one, Pending) else one for one in outcomes], written


def _charged_or_replayed(book: Book, ask: Ask, known: KeyedRequests, at: int) -> accounts.Charged:
    if ask.key_hmac is None or ask.request_hmac is None:
        return book.charge(ask, at)
    key = ask.client, ask.key_hmac
    if key in known:
        earlier = known[key]
        if earlier.request_hmac != ask.request_hmac:
            raise LedgerError(
                f"key must be used for one request to {ask.name!r}, got it for another; "
                "nothing was charged"
            )
        return accounts.Charged(state=book.state, seq=earlier.seq, replayed=True)
    charged = book.charge(ask, at)
    known[key] = KeyedRequest(book.entries[-1])
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
    writing.write(connection, entries, counts, [book.written for book in changed])
    return Written({book.row.id: (book.seq, book.head) for book in changed}, kinds)


def _kind_ids(connection: sa.Connection, kinds: Mapping[bytes, Kind]) -> dict[bytes, int]:
    """The numbers of the kinds, which are added where they are not there yet."""
    if not kinds:
        return {}
    query = sa.select(EVENTS.c.sha256, EVENTS.c.id).where(EVENTS.c.sha256.in_(sorted(kinds)))
    kind_ids = {bytes(sha): number for sha, number in connection.execute(query)}
    missing = sorted(set(kinds) - set(kind_ids))
    for sha in missing:
        row = {"sha256": sha, "event": kinds[sha].event, "costs": kinds[sha].costs_text}
        connection.execute(storage.upsert(connection, EVENTS).values(row).on_conflict_do_nothing())
    if missing:
        kind_ids = {bytes(sha): number for sha, number in connection.execute(query)}
    return kind_ids


def add_change(connection: sa.Connection, book: Book, change: Mapping[str, Any]) -> Link:
    """Write a change of the budget and the account's row; its last link."""
    connection.execute(BUDGET_CHANGES.insert(), [dict(change)])
    values = book.written | {"budget": change["budget"]}
    connection.execute(ACCOUNTS.update().where(ACCOUNTS.c.id == book.row.id).values(values))
    return book.seq, book.head
