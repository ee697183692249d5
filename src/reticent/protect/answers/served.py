"""Answers of a private head to the clients of a service, each charged in the transaction it is of.

``private_answers`` charges first and draws after. Here the charge, the answer and the client's
share are one transaction: the noise is drawn inside it, and what was drawn leaves after its commit
or not at all (docs/theory.md D.7).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from reticent.arrays import Array, Floats
from reticent.guarantee import Grade, Guarantee
from reticent.guarantee.guarantee import checked_by
from reticent.ledger.answer_book import AnswerBook, AnswerTerms
from reticent.protect.answers.answers import COUNTED, STATED, PrivateAnswers
from reticent.protect.answers.plan import AnswerPlan
from reticent.protect.noisy_query import is_minted, minted, noisy_rows
from reticent.validation import InputError, float_rows

if TYPE_CHECKING:
    from reticent.ledger import Budget, Ledger, questions

MOST_ROWS = 64
"""Of one request."""
CHARGED = checked_by(
    "no answer leaves before its charge is durable: it is drawn in the transaction that charges "
    "it, and comes out of it after the commit",
    "ledger.answer_book.AnswerBook.ask",
)
SERVED_STATED = (
    "releases on the same data that are not charged to this account of the ledger add up",
    "a client sees the bytes of its answers: how long they took, and what others see of the "
    "machine and of the database, is not covered",
)


class ServedAnswers:
    """A private head behind a ledger: rows of clients in, replies out when they are paid for.

    It can neither be copied nor pickled, and ``answers``, which it takes over, gives none by itself
    any more.
    """

    __slots__ = ("_answers", "_draw", "_each", "_guarantee", "book")

    def __init__(self, answers: PrivateAnswers, ledger: Ledger, *, account: str) -> None:
        if type(answers) is not PrivateAnswers:
            raise InputError("answers must be PrivateAnswers themselves, got others")
        plan = answers.plan
        self.book = AnswerBook(ledger, terms_of(plan, account))
        answers._counter.take(answers.left)  # from now on the ledger counts
        self._answers = answers
        self._each, self._guarantee = (
            _served(claim) for claim in (answers.each, answers.guarantee)
        )
        context = copy_context()  # of an audit that gives the noise: nothing was minted then

        def draw(due: Sequence[tuple[Floats, int]]) -> list[bytes]:
            """In the ledger's thread; one object, by which questions are drawn together."""
            return context.run(self._drawn, due)

        self._draw = draw

    @property
    def plan(self) -> AnswerPlan:
        """The public plan by which queries are answered."""
        return self._answers.plan

    @property
    def each(self) -> Guarantee:
        """What one answer promises by itself."""
        return self._each

    @property
    def guarantee(self) -> Guarantee:
        """What all answers promise together, to all clients."""
        return self._guarantee

    @property
    def classes_(self) -> Array:
        """The classes in the order of the logits."""
        return self._answers.classes_

    def ask(
        self,
        client: int,
        rows: Floats,
        *,
        key: str | None = None,
        names: Sequence[bytes] | None = None,
    ) -> Future[questions.Reply]:
        """One answer for each row of a client, all or none of them; read by ``said``.

        The rows are checked from the request and public numbers alone. By ``names`` rows are known
        again, by default by themselves: of raw inputs, whose features machines may round otherwise.
        """
        rows = float_rows("rows", rows)
        features = self.plan.public.features
        if not 1 <= len(rows) <= MOST_ROWS or rows.shape[1] != features:
            raise InputError(
                f"rows must be 1 to {MOST_ROWS} of {features} features, got {rows.shape}"
            )
        rows = np.ascontiguousarray(rows, dtype="<f8")
        known = [row.tobytes() for row in rows] if names is None else list(names)
        if len(known) != len(rows):
            raise InputError(f"names must be one for each of {len(rows)} rows, got {len(known)}")
        return self.book.ask(client, known, payload=rows, draw=self._draw, key=key)

    def labels_and_logits(self, reply: questions.Reply) -> tuple[Array, Floats | None]:
        """Labels of a reply, and logits where they are released.

        A function of its bytes alone, each row by itself: the same whenever it is given.
        """
        kind, width = self._format
        released = np.frombuffer(b"".join(reply.bodies), dtype=kind)
        if self.plan.space != "label":
            released = released.reshape(-1, width)
        return self._answers._said(released)

    def _drawn(self, due: Sequence[tuple[Floats, int]]) -> list[bytes]:
        """Noisy answers to these rows, each of one length."""
        values = self._answers._values(np.stack([rows[place] for rows, place in due]))
        released = noisy_rows(self.plan.noise, values).astype(self._format[0])
        return [one.tobytes() for one in released]

    @property
    def _format(self) -> tuple[str, int]:
        if self.plan.space == "label":
            return "<i8", 1
        classes = len(self.classes_)
        return "<f8", classes - 1 if self.plan.space == "coordinates" else classes

    def __repr__(self) -> str:
        """No private number."""
        return f"ServedAnswers({self.plan.mechanism}, {self._guarantee})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("ServedAnswers must not be copied or pickled")


def terms_of(plan: AnswerPlan, account: str) -> AnswerTerms:
    """What a ledger is told of a plan's answers."""
    return AnswerTerms(
        account=account,
        relation=plan.relation,
        unit=plan.public.unit,
        event=plan.event,
        budget=budget_of(plan),
        most_rows=MOST_ROWS,
    )


def budget_of(plan: AnswerPlan) -> Budget:
    """The budget that takes exactly ``plan.queries`` answers."""
    from reticent.ledger import Budget, costs

    if plan.filter is None:
        raise InputError("plan must be made for a filter to be charged answer by answer, got None")
    return Budget.fixed(
        epsilon=plan.epsilon,
        delta=plan.delta,
        filter=plan.filter,
        plan=costs.costs_of(plan.whole, plan.relation),
    )


def _served(claim: Guarantee) -> Guarantee:
    """The same claim with what holds of a service; minted where it was."""
    ours = {COUNTED: CHARGED}
    changed: dict[str, Any] = {
        "checked": tuple(ours.get(line, line) for line in claim.checked),
        "stated": (*(ours.get(line, line) for line in claim.stated if line != STATED[-1]),
                   *SERVED_STATED),
    }  # fmt: skip
    declared = dataclasses.replace(claim, grade=Grade.DECLARED, **changed)
    return minted(declared) if is_minted(claim) else declared
