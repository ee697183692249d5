"""Answers of one account over a ledger: questions in, replies out, each charged in its transaction.

It is what a service of protected answers keeps: HMACs of keys, requests and rows under the ledger's
secret, what k answers cost, whether the account is still the one that was seen.
"""

import hashlib
import hmac
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from reticent.guarantee import Event, PureEvent, Relation, Repeated
from reticent.ledger import accounts, asks, book, clients, errors, filters, names, questions
from reticent.ledger.ledger import Ledger
from reticent.ledger.tables import ACCOUNTS, ENTRIES, REPLIES
from reticent.validation import count

HOUR: Final = 3_600_000_000
DAY: Final = 24 * HOUR
"""How long replies are kept, in microseconds."""


@dataclass(frozen=True, kw_only=True)
class AnswerTerms:
    """What is charged for answers, and to whom: of a plan, in the ledger's words."""

    account: str
    relation: Relation
    unit: str
    event: Event
    budget: filters.Budget
    most_rows: int


class AnswerBook:
    """Where answers of one data set are asked for and charged."""

    def __init__(self, ledger: Ledger, terms: AnswerTerms, *, keep: int = DAY) -> None:
        self._ledger = ledger
        self._terms = terms
        self._name = names.account_name(terms.account)
        self._unit = names.short_line("unit", terms.unit)
        self._keep = count("keep", keep)
        self._secret = bytes.fromhex(ledger._storage.about["secret"])
        nothing = PureEvent(epsilon=0.0)
        events = [nothing, terms.event] + [
            Repeated(event=terms.event, count=answers) for answers in range(2, terms.most_rows + 1)
        ]
        self._kinds = [asks.kind_of(event, terms.relation, None) for event in events]
        self.clients = clients.Clients(ledger._storage)
        self.require_current()

    def ask(
        self,
        client: int,
        rows: Sequence[bytes],
        *,
        payload: Any,
        draw: questions.Draw,
        key: str | None,
    ) -> Future[questions.Reply]:
        """One answer for each row; the future takes the reply when its charge is durable.

        It takes BudgetExhausted, KeyReused or ReplyGone where there is none. After any other error
        the charge may have been made: a retry with the same key decides.
        """
        hmacs: dict[str, Any] = {}
        if key is not None:
            hmacs = {
                "key_hmac": self._hmac(b"key", client, key.encode()),
                "request_hmac": self._hmac(b"request", client, b"".join(map(_framed, rows))),
            }
        question = questions.Question(
            name=self._name, relation=self._terms.relation, unit=self._unit, kind=self._kinds[1],
            purpose="answers", open_account=False, client=client,
            rows=tuple(self._hmac(b"row", client, row) for row in rows), kinds=self._kinds,
            payload=payload, draw=draw, budget=self._terms.budget, keep=self._keep, **hmacs,
        )  # fmt: skip
        self._ledger._committer.put(question)
        return question.future

    @property
    def waiting(self) -> int:
        """About how many questions wait for their transaction."""
        return self._ledger._committer.waiting

    def require_current(self) -> accounts.Account:
        """The account, if it is not older than what was seen of it and has the plan's budget."""
        ledger = self._ledger
        known = dict(ledger._known.seen)  # first: the database is never behind it
        with ledger._storage.reading() as connection:
            query = ACCOUNTS.select().where(ACCOUNTS.c.name == self._name)
            row = connection.execute(query).one_or_none()
            if row is None:
                raise errors.LedgerError(
                    f"account must be in the ledger, got {self._name!r}; "
                    "`reticent plan-answers --ledger` opens it"
                )
            seen, state = known.get(row.id), book.state_of(row)
        if seen is not None and (row.seq, bytes(row.head)) != seen and not row.seq > seen[0]:
            raise errors.LedgerError(
                f"account {self._name!r} must hold what it held before, got older"
            )
        if state.budget != self._terms.budget:
            raise errors.LedgerError(
                f"budget of {self._name!r} must be that of the plan, {self._terms.budget}, got "
                f"{state.budget}"
            )
        return state.account

    def fits(self, account: accounts.Account, answers: int) -> bool:
        """Whether the account's budget takes so many more answers."""
        event = self._terms.event
        kind = asks.kind_of(
            event if answers == 1 else Repeated(event=event, count=answers),
            self._terms.relation,
            None,
        )
        return self._terms.budget.holds(account.totals.plus(kind.costs))

    def purge(self) -> int:
        """Remove replies whose time is over; their keys stay known."""
        with self._ledger._storage.writing() as connection:
            gone = connection.execute(REPLIES.delete().where(REPLIES.c.expires <= book.now()))
            return int(gone.rowcount)

    def own_clients(self) -> list[clients.Client]:
        """The clients of this account, with what they used."""
        return [one for one in self.clients.all() if one.account == self._name]

    def by_hour(self) -> list[tuple[int, int]]:
        """Answers that were charged in each hour that has any: its start in microseconds."""
        hour = ENTRIES.c.at.op("/")(
            sa.literal_column(str(HOUR))
        )  # whole numbers divide to whole numbers
        query = (
            sa.select(hour.label("hour"), sa.func.sum(ENTRIES.c.answers))
            .join(ACCOUNTS, ACCOUNTS.c.id == ENTRIES.c.account)
            .where(ACCOUNTS.c.name == self._name)
            .group_by(sa.text("hour"))
            .order_by(sa.text("hour"))
        )
        with self._ledger._storage.reading() as connection:
            return [(int(at) * HOUR, int(answers)) for at, answers in connection.execute(query)]

    def _hmac(self, what: bytes, client: int, value: bytes) -> bytes:
        text = b"".join(map(_framed, (what, self._name.encode(), str(client).encode(), value)))
        return hmac.digest(self._secret, text, hashlib.sha256)


def _framed(part: bytes) -> bytes:
    return len(part).to_bytes(8, "big") + part
