"""Questions of a service's clients: decided, answered and charged in one transaction.

A question asks for one answer to each of its rows. Under the account's lock it is compared with
what was answered before: a key that was used, rows of the same client whose answers are kept. What
is new is held against the client's limit and the budget; only then is its noise drawn, for all
accepted questions in one call of their ``draw``. The answers go into the table with the charge, and
whoever asked gets them after the commit: no answer leaves before its charge is durable
(docs/theory.md D.7).
"""

import hashlib
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import sqlalchemy as sa

from reticent.ledger.asks import Ask, Kind
from reticent.ledger.book import Book
from reticent.ledger.errors import BudgetExhausted, KeyReused, LedgerError, ReplyGone
from reticent.ledger.filters import Budget
from reticent.ledger.known_keys import KeyedRequest, KeyedRequests
from reticent.ledger.tables import CLIENTS, REPLIES

Draw = Callable[[Sequence[tuple[Any, int]]], Sequence[bytes]]
"""Payloads of questions with the places of their rows in, an answer for each out, with its noise.

The length of an answer must not depend on the noise: whether a transaction can be written would
tell something of answers that it does not charge.
"""
_CHUNK = 500
DRAW_TICK: Final = 0.008
"""Drawing takes a whole number of these seconds. Few draws need ball arithmetic, and whether one
does depends on private values: that takes 0.3 ms longer, which no clock outside sees this way. A
draw takes 0.6 to 2.9 ms in a service, so that few of either kind reach a second tick."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Question(Ask):
    """Rows of a client that wait for their transaction; ``future`` takes a ``Reply``."""

    rows: tuple[bytes, ...]
    """An HMAC of each row, of this client's alone."""
    kinds: Sequence[Kind]
    """What k answers cost, at place k."""
    payload: Any
    draw: Draw
    budget: Budget
    """What the account must be limited by: the answers were planned for it."""
    keep: int
    """Microseconds that the reply is kept for retries."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """Answers whose charge is committed: they may leave."""

    bodies: tuple[bytes, ...]
    charged: int
    """Answers that were charged for this request: those of rows that were new."""
    seq: int | None
    """The number of the entry; None where all was kept from earlier and no key was given."""
    hash: bytes | None
    used: int
    limit: int | None
    replayed: bool


class _Slot:
    """The place of an answer that may still have to be drawn."""

    __slots__ = ("body",)

    def __init__(self, body: bytes | None = None) -> None:
        self.body = body


@dataclass
class _Client:
    account: int | None
    limit: int | None
    used: int


@dataclass
class Pending:
    """A question that was decided: its reply is known when the noise is drawn."""

    slots: list[_Slot]
    charged: int
    entry: Mapping[str, Any] | None
    client: _Client
    used: int
    replayed: bool = False

    def reply(self) -> Reply:
        """What whoever asked is given, after the commit."""
        return Reply(
            bodies=tuple(bytes(slot.body) for slot in self.slots if slot.body is not None),
            charged=self.charged,
            seq=None if self.entry is None else self.entry["seq"],
            hash=None if self.entry is None else bytes(self.entry["hash"]),
            used=self.used,
            limit=self.client.limit,
            replayed=self.replayed,
        )


@dataclass
class Questions:
    """The questions of one transaction, and what they are compared with."""

    at: int
    keys: KeyedRequests
    clients: dict[int, _Client] = field(default_factory=dict)
    kept: dict[tuple[int, bytes], _Slot] = field(default_factory=dict)
    """Answers that are kept, by client and HMAC of their row."""
    bodies: dict[tuple[int, int], list[_Slot]] = field(default_factory=dict)
    """Answers that are kept, by account and number of their entry."""
    _drawn: list[tuple[Question, int, _Slot]] = field(default_factory=list)
    _written: list[tuple[Question, dict[str, Any], list[_Slot]]] = field(default_factory=list)

    @classmethod
    def opened(
        cls, connection: sa.Connection, asks: Sequence[Ask], keys: KeyedRequests, at: int
    ) -> "Questions":
        """With what the tables hold of the clients, rows and keys that are asked about."""
        questions = [ask for ask in asks if isinstance(ask, Question)]
        opened = cls(at, keys)
        if not questions:
            return opened
        ids = sorted({one.client for one in questions})
        for row in connection.execute(CLIENTS.select().where(CLIENTS.c.id.in_(ids))).mappings():
            opened.clients[row["id"]] = _Client(row["account"], row["limit"], row["used"])
        opened._read_rows(connection, questions)
        opened._read_replies(connection, questions)
        return opened

    def decided(self, book: Book, ask: Question) -> Pending:
        """Replayed, refused, or charged for what is new of it."""
        client = self.clients.get(ask.client)
        if client is None or client.account != book.row.id:
            raise LedgerError("client must be one of the account's, got another")
        if ask.key_hmac is not None and (ask.client, ask.key_hmac) in self.keys:
            return self._replayed(ask, self.keys[ask.client, ask.key_hmac], client)
        if book.state.budget != ask.budget:
            raise LedgerError(
                f"budget of {ask.name!r} must be the one that the answers were planned for, got "
                "another; `reticent plan-answers --ledger` sets it"
            )
        slots, new = self._slots(ask)
        entry = self._charged(book, ask, client, len(new)) if new or ask.key_hmac else None
        for place in new:
            self.kept[ask.client, ask.rows[place]] = slots[place]
            self._drawn.append((ask, place, slots[place]))
        if entry is not None:
            self._written.append((ask, entry, slots))
            if ask.key_hmac is not None:
                self.keys[ask.client, ask.key_hmac] = KeyedRequest(entry)
                self.bodies[book.row.id, entry["seq"]] = slots
        return Pending(slots, len(new), entry, client, client.used)

    def draw(self) -> None:
        """Noise for all rows that were accepted: one call for each ``draw``, usually one in all.

        It takes a whole number of ticks, however long the draws took.
        """
        started = time.monotonic()
        sources = dict.fromkeys(question.draw for question, _, _ in self._drawn)
        for source in sources:
            due = [one for one in self._drawn if one[0].draw == source]
            bodies = source([(question.payload, place) for question, place, _ in due])
            for (_, _, slot), body in zip(due, bodies, strict=True):
                slot.body = body
        if sources:
            time.sleep(until_tick(time.monotonic() - started, DRAW_TICK))
        for _, entry, slots in self._written:
            entry["reply_sha256"] = replies_hash(slot.body for slot in slots)

    def write(self, connection: sa.Connection) -> None:
        """Put down the replies, and what the clients have used."""
        used: dict[int, int] = {}
        rows = []
        for ask, entry, slots in self._written:
            used[ask.client] = used.get(ask.client, 0) + entry["answers"]
            rows += [
                {
                    "account": entry["account"], "seq": entry["seq"], "place": place,
                    "client": ask.client, "row_hmac": ask.rows[place], "body": slot.body,
                    "expires": self.at + ask.keep,
                }
                for place, slot in enumerate(slots)
            ]  # fmt: skip
        if rows:
            connection.execute(REPLIES.insert(), rows)
            connection.execute(
                _USE, [{"_id": key, "_n": n} for key, n in used.items() if n or rows]
            )

    def _charged(self, book: Book, ask: Question, client: _Client, answers: int) -> dict[str, Any]:
        if client.limit is not None and not client.used + answers <= client.limit:
            raise BudgetExhausted(
                f"answers must be at most {client.limit} in all for this client, got {answers} "
                f"more after {client.used}; nothing was charged"
            )
        entry = book.admit(ask, ask.kinds[answers], answers=answers, at=self.at)
        client.used += answers
        return entry

    def _slots(self, ask: Question) -> tuple[list[_Slot], list[int]]:
        """The place of each row's answer, and which rows are new."""
        slots: list[_Slot] = []
        first: dict[bytes, _Slot] = {}
        new = []
        for place, row in enumerate(ask.rows):
            slot = self.kept.get((ask.client, row)) or first.get(row)
            if slot is None:
                slot = first[row] = _Slot()
                new.append(place)
            slots.append(slot)
        return slots, new

    def _replayed(self, ask: Question, earlier: KeyedRequest, client: _Client) -> Pending:
        if earlier.request_hmac != ask.request_hmac:
            raise KeyReused("key must be used for one request, got it for another")
        slots = self.bodies.get((earlier.account, earlier.seq))
        if slots is None or len(slots) != len(ask.rows):
            raise ReplyGone("reply must be kept to be given again, got one that is not any more")
        return Pending(slots, 0, earlier.entry, client, client.used, replayed=True)

    def _read_rows(self, connection: sa.Connection, questions: Sequence[Question]) -> None:
        wanted = sorted({row for one in questions for row in one.rows})
        for some in _chunks(wanted):
            query = sa.select(REPLIES.c.client, REPLIES.c.row_hmac, REPLIES.c.body).where(
                REPLIES.c.row_hmac.in_(some), REPLIES.c.expires > self.at
            )
            for client, row, body in connection.execute(query):
                self.kept[client, bytes(row)] = _Slot(bytes(body))

    def _read_replies(self, connection: sa.Connection, questions: Sequence[Question]) -> None:
        """Of the keys that were used before."""
        retried = [
            self.keys[one.client, one.key_hmac]
            for one in questions
            if one.key_hmac is not None and (one.client, one.key_hmac) in self.keys
        ]
        for some in _chunks([(one.account, one.seq) for one in retried]):
            query = (
                sa.select(REPLIES.c.account, REPLIES.c.seq, REPLIES.c.body)
                .where(
                    REPLIES.c.account.in_({account for account, _ in some}),
                    REPLIES.c.seq.in_({seq for _, seq in some}),
                    REPLIES.c.expires > self.at,
                )
                .order_by(REPLIES.c.account, REPLIES.c.seq, REPLIES.c.place)
            )
            for account, seq, body in connection.execute(query):
                self.bodies.setdefault((account, seq), []).append(_Slot(bytes(body)))


_USE = (
    CLIENTS.update()
    .where(CLIENTS.c.id == sa.bindparam("_id"))
    .values(used=CLIENTS.c.used + sa.bindparam("_n"))
)


def replies_hash(bodies: Iterable[bytes | None]) -> bytes:
    """What the entry of a request keeps of its reply; all bodies of a request are of one length."""
    digest = hashlib.sha256()
    for body in bodies:
        assert body is not None  # all were drawn
        digest.update(len(body).to_bytes(8, "big") + body)
    return digest.digest()


def until_tick(elapsed: float, tick: float) -> float:
    """Seconds from ``elapsed`` to the next whole tick, at least the first.

    >>> [round(until_tick(seconds, 0.001), 6) for seconds in (0.0, 0.0004, 0.00101)]
    [0.001, 0.0006, 0.00099]
    """
    return max(math.ceil(elapsed / tick), 1) * tick - elapsed


def _chunks(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]
