"""What is served: a released model, which costs nothing, or a private head's protected answers."""

from __future__ import annotations

import asyncio
import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from reticent.arrays import Floats
from reticent.guarantee import Guarantee
from reticent.ledger.accounts import utc_text
from reticent.ledger.errors import BudgetExhausted, KeyReused, LedgerError, ReplyGone
from reticent.service import problems
from reticent.service.door import Caller

if TYPE_CHECKING:
    from reticent.data import Schema
    from reticent.protect import Release
    from reticent.protect.answers.served import ServedAnswers
    from reticent.service.raw import RawInputs

MOST_WAITING: Final = 1024
"""Questions of one process that wait for their transaction; more are refused at once."""

PURGE_SECONDS: Final = 60.0


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What a client is told of its rows."""

    labels: list[Any] | None
    values: list[float] | None
    logits: list[list[float]] | None
    charged: int = 0
    receipt: tuple[int, str] | None = None
    left: int | None = None
    replayed: bool = False


class Model(ABC):
    """One model behind the routes."""

    name: str
    features: int
    kind: str
    """"released" or "protected"."""
    guarantee: Guarantee
    each: Guarantee | None
    """What one answer promises by itself, where answers are what is protected."""
    gives: frozenset[str]
    """Which of labels, values and logits an answer holds."""
    certificate: dict[str, Any]
    labels: int | None = None
    """How many labels an answer says 0 or 1 of; None where it names one class."""
    raw: RawInputs | None = None
    """The encoder of raw inputs, where one is packaged."""
    schema: Schema | None = None
    """By which raw records are prepared, where the model was made by one."""

    @abstractmethod
    async def answer(
        self, caller: Caller, rows: Floats, *, key: str | None, names: list[bytes] | None = None
    ) -> Prediction:
        """The answers to some rows, which were checked.

        ``names`` tell raw inputs apart that the rows were made of.
        """

    @abstractmethod
    async def budget(self, caller: Caller, answers: int | None) -> dict[str, Any]:
        """What the caller has used and has left; whether so many answers would fit."""

    @abstractmethod
    async def overview(self) -> dict[str, Any]:
        """For the operator: what was charged, when, to whom."""

    @abstractmethod
    def refresh(self) -> None:
        """Called twice a second; LedgerError where the model cannot answer any more."""

    @abstractmethod
    def close(self) -> None:
        """Finish what waits, and let go of what is held."""


class ReleasedModel(Model):
    """A model that is public: anybody may ask anything of it, as often as it pleases."""

    kind = "released"
    each = None

    def __init__(self, release: Release, name: str) -> None:
        from reticent.protect.certificate import document_of
        from reticent.protect.released_encoder import composed_guarantee

        self._release = release
        self.name = name
        self.features = release.features
        self.guarantee = composed_guarantee(release) or release.guarantee
        self.certificate = document_of(release)
        self.schema = release.schema
        self._classifies = release.recipe.task == "classification"
        self.gives = frozenset(("labels", "logits") if self._classifies else ("values",))
        if release.recipe.to_dict().get("outputs") == "sigmoid":
            self.labels = len(release.classes_)

    async def answer(
        self, caller: Caller, rows: Floats, *, key: str | None, names: list[bytes] | None = None
    ) -> Prediction:
        """What the model says; no key is needed, since the same rows have the same answer."""
        del caller, key, names
        return await asyncio.to_thread(self._answer, rows)

    def _answer(self, rows: Floats) -> Prediction:
        if not self._classifies:
            values = self._release.predict(rows).astype(float)
            if not np.isfinite(values).all():
                raise problems.Refused(problems.WRONG_ROWS)
            return Prediction(labels=None, values=values.tolist(), logits=None)
        logits = self._release.logits(rows)
        if not np.isfinite(logits).all():  # of a network whose inputs have no bound
            raise problems.Refused(problems.WRONG_ROWS)
        labels = self._release.recipe.decided(logits, self._release.classes_)
        return Prediction(labels=labels.tolist(), values=None, logits=logits.tolist())

    async def budget(self, caller: Caller, answers: int | None) -> dict[str, Any]:
        """Nothing is limited."""
        del caller
        fits = {} if answers is None else {"fits": True}
        return {"used": 0, "limit": None, "left": None, **fits}

    async def overview(self) -> dict[str, Any]:
        """Nothing is counted."""
        return {"queries": None, "used": None, "clients": [], "over_time": []}

    def refresh(self) -> None:
        """A public model always answers."""

    def close(self) -> None:
        """Do nothing: a released model holds no file or connection."""


class ProtectedModel(Model):
    """A head that stays private: each answer has noise of its own and is charged to a ledger."""

    kind = "protected"

    def __init__(
        self,
        served: ServedAnswers,
        name: str,
        *,
        ledger: Any = None,
        schema: Schema | None = None,
    ) -> None:
        from reticent.protect.public_facts import SCHEMA, document_of_schema

        self._served = served
        self.schema = schema
        self._ledger = ledger
        self._waiting = 0
        self._purged = -math.inf
        plan = served.plan
        self.name = name
        self.features = plan.public.features
        self.guarantee, self.each = served.guarantee, served.each
        self.gives = frozenset(("labels",) if plan.space == "label" else ("labels", "logits"))
        self.certificate = {
            "answers": {
                "queries": plan.queries, "mechanism": plan.mechanism, "space": plan.space,
                "scale": plan.scale, "filter": str(plan.filter), "public": plan.public.to_dict(),
            },
            "guarantee": self.guarantee.to_dict(),
            "each": self.each.to_dict(),
            **({} if schema is None else {SCHEMA: document_of_schema(schema)}),
        }  # fmt: skip

    @property
    def book(self) -> Any:
        """The book of answers: where each one is charged before it is sent."""
        return self._served.book

    async def answer(
        self, caller: Caller, rows: Floats, *, key: str | None, names: list[bytes] | None = None
    ) -> Prediction:
        """Charged, drawn and committed, in that transaction; then rendered from what is kept."""
        if self._waiting >= MOST_WAITING:
            raise problems.Refused(problems.OVERLOADED, {"Retry-After": "1"})
        self._waiting += 1
        try:
            future = self._served.ask(caller.number, rows, key=key, names=names)
            # Whoever asked may go away: the transaction goes on, and a retry finds its reply.
            reply = await asyncio.shield(asyncio.wrap_future(future))
        except KeyReused:
            raise problems.Refused(problems.KEY_REUSED) from None
        except ReplyGone:
            raise problems.Refused(problems.REPLY_GONE) from None
        except BudgetExhausted:
            raise problems.Refused(problems.EXHAUSTED) from None
        except LedgerError:
            raise problems.Refused(problems.NOT_READY) from None
        finally:
            self._waiting -= 1
        labels, logits = self._served.labels_and_logits(reply)
        return Prediction(
            labels=labels.tolist(),
            values=None,
            logits=None if logits is None else logits.tolist(),
            charged=reply.charged,
            receipt=None
            if reply.seq is None or reply.hash is None
            else (reply.seq, reply.hash.hex()),
            left=None if reply.limit is None else max(reply.limit - reply.used, 0),
            replayed=reply.replayed,
        )

    async def budget(self, caller: Caller, answers: int | None) -> dict[str, Any]:
        """Of the caller alone; ``fits`` says whether the account, too, has room for so many."""
        try:
            return await asyncio.to_thread(self._budget, caller, answers)
        except LedgerError:
            raise problems.Refused(problems.NOT_READY) from None

    def _budget(self, caller: Caller, answers: int | None) -> dict[str, Any]:
        book = self._served.book
        client = next(one for one in book.clients.all() if one.id == caller.number)
        budget = {"used": client.used, "limit": client.limit, "left": client.left}
        if answers is None:
            return budget
        own = client.left is None or answers <= client.left
        return {**budget, "fits": own and book.fits(book.require_current(), answers)}

    async def overview(self) -> dict[str, Any]:
        """From the ledger: all processes and machines together."""
        try:
            return await asyncio.to_thread(self._overview)
        except LedgerError:
            raise problems.Refused(problems.NOT_READY) from None

    def _overview(self) -> dict[str, Any]:
        book = self._served.book
        clients = book.own_clients()
        return {
            "queries": self._served.plan.queries,
            "used": sum(one.used for one in clients),
            "clients": [
                {"name": one.name, "limit": one.limit, "used": one.used} for one in clients
            ],
            "over_time": [
                {"hour": utc_text(hour)[:13], "answers": answers}
                for hour, answers in book.by_hour()
            ],
        }

    def refresh(self) -> None:
        """Whether the account is still the one that was planned and seen."""
        self._served.book.require_current()
        if time.monotonic() - self._purged > PURGE_SECONDS:
            self._purged = time.monotonic()
            self._served.book.purge()

    def close(self) -> None:
        """Commit what waits; whoever asked hears of it."""
        if self._ledger is not None:
            self._ledger.close()
