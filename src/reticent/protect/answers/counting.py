"""Answers are counted before they are given: in this process, and in a ledger where one is kept."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from reticent.guarantee import Event, Repeated
from reticent.ledger import BudgetExhausted
from reticent.protect.answers.plan import AnswerPlan
from reticent.protect.release import Charge
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.ledger import Account, Ledger


class AnswerCounter:
    """So many answers and no more, from any number of threads of one process."""

    __slots__ = ("_charge", "_event", "_lock", "_most", "_process", "_taken")

    def __init__(self, event: Event, *, most: int, charge: Charge | None) -> None:
        self._event: Final = event
        self._most: Final = most
        self._charge: Final = charge
        self._process: Final = os.getpid()
        self._lock: Final = threading.Lock()
        self._taken = 0

    @property
    def left(self) -> int:
        """How many may still be given, as far as this process knows."""
        return self._most - self._taken

    def take(self, answers: int) -> None:
        """Count these answers, all or none of them, and charge them: only then may they be given.

        A charge that fails in whatever way leaves nothing counted here and nothing answered.
        """
        if os.getpid() != self._process:  # a copy of the count would allow every answer twice
            raise InputError("answers must be asked in the process that opened them, got a fork")
        with self._lock:
            if not answers <= self.left:
                raise BudgetExhausted(
                    f"answers must be at most {self._most} in all, got {answers} more after "
                    f"{self._taken}; nothing was charged, nothing is answered"
                )
            if self._charge is not None:
                self._charge(_times(self._event, answers))
            self._taken += answers


def set_answer_budget(ledger: Ledger, name: str, plan: AnswerPlan) -> Account:
    """Open the account of a data set with the budget of a plan that was made for a ledger.

    It takes exactly ``plan.queries`` answers, from however many processes, if nothing else is
    charged to it but what the plan was told was ``before`` them.
    """
    if plan.filter is None:
        raise InputError("plan must be made for a filter to be charged answer by answer, got None")
    return ledger.set_budget(
        name,
        epsilon=plan.epsilon,
        delta=plan.delta,
        relation=plan.relation,
        unit=plan.public.unit,
        filter=plan.filter,
        plan=plan.whole,
    )


def charge_answers(
    ledger: Ledger, name: str, plan: AnswerPlan, *, purpose: str = "answers"
) -> Callable[[Event], object]:
    """What charges an account before each answer; BudgetExhausted means that there is none."""

    def charge(event: Event) -> object:
        return ledger.charge(
            name, event, relation=plan.relation, unit=plan.public.unit, purpose=purpose
        )

    return charge


def _times(event: Event, answers: int) -> Event:
    return event if answers == 1 else Repeated(event=event, count=answers)
