"""Exactly the allowed answers are given: by threads, by processes, with a ledger and without."""

import multiprocessing
import os
import threading

import pytest

from reticent.guarantee import Repeated
from reticent.ledger import BudgetExhausted, Ledger
from reticent.protect.answers import charge_answers, private_answers, set_answer_budget
from reticent.protect.answers.answer_mechanisms import WAYS
from reticent.protect.answers.counting import AnswerCounter
from reticent.validation import InputError
from tests.protect.answers import asked_head
from tests.protect.answers.asked_head import ACCOUNT, fitted, planned, records

SPAWN = multiprocessing.get_context("spawn")
QUERY = records()[0][:1]


@pytest.mark.parametrize("mechanism", WAYS)
def test_so_many_answers_and_then_a_clear_refusal(mechanism):
    answers = private_answers(fitted(), planned(mechanism=mechanism, queries=3))
    for left in (2, 1, 0):
        answers.ask(QUERY)
        assert answers.left == left
    for _ in range(2):
        with pytest.raises(BudgetExhausted, match="at most 3 in all, got 1 more after 3") as caught:
            answers.ask(QUERY)
        assert "\n" not in str(caught.value)


def test_several_rows_are_answered_together_or_not_at_all():
    answers = private_answers(fitted(), planned(queries=5))
    assert len(answers.ask(records()[0][:3]).labels) == 3
    with pytest.raises(BudgetExhausted):
        answers.ask(records()[0][:3])
    assert answers.left == 2
    assert len(answers.ask(records()[0][:2]).labels) == 2


def test_threads_share_one_count():
    """Eight threads ask for ever; the answers stop at the allowed number."""
    answers = private_answers(fitted(), planned(queries=101))
    given, gate = [], threading.Barrier(8)

    def work():
        gate.wait()
        while True:
            try:
                given.append(answers.ask(QUERY))
            except BudgetExhausted:
                return

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(given) == 101
    assert answers.left == 0


def test_a_thread_that_pauses_between_look_and_count_lets_no_other_by():
    """The first charge is held up; the other threads wait for it instead of taking its place."""
    inside, go_on, passed = threading.Event(), threading.Event(), []

    def charge(event):
        inside.set()
        assert go_on.wait(timeout=60)

    counter = AnswerCounter(planned().event, most=1, charge=charge)

    def work():
        try:
            counter.take(1)
        except BudgetExhausted:
            return
        passed.append(1)

    first, second = (threading.Thread(target=work) for _ in range(2))
    first.start()
    assert inside.wait(timeout=60)
    second.start()
    second.join(timeout=0.2)
    go_on.set()
    first.join()
    second.join()
    assert passed == [1]


def test_charged_before_the_noise_is_drawn_and_nothing_follows_a_refusal(monkeypatch):
    order = []
    plan = planned(queries=4)
    kind = type(plan.noise)
    release = kind.release
    monkeypatch.setattr(kind, "release", lambda *a: order.append("noise") or release(*a))

    def charge(event):
        order.append(event)
        if len(order) > 3:
            raise BudgetExhausted("the budget is spent")

    answers = private_answers(fitted(), plan, charge=charge)
    answers.ask(records()[0][:2])
    assert order == [Repeated(event=plan.event, count=2), "noise"]
    answers.ask(QUERY)
    assert order[2:] == [plan.event, "noise"]
    with pytest.raises(BudgetExhausted, match="the budget is spent"):
        answers.ask(QUERY)
    assert order[4:] == [plan.event]
    assert answers.left == 1


def test_a_fork_gets_no_answers_of_its_own(monkeypatch):
    answers = private_answers(fitted(), planned())
    mine = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: mine + 1)
    with pytest.raises(InputError, match="in the process that opened them, got a fork"):
        answers.ask(QUERY)


@pytest.mark.parametrize("mechanism", ["gaussian", "exponential", "permute-and-flip"])
@pytest.mark.parametrize("kind", ["zcdp", "rdp"])
def test_a_ledger_takes_the_planned_number_and_no_more(mechanism, kind, tmp_path):
    plan = planned(mechanism=mechanism, queries=6, filter=kind)
    with Ledger.open(tmp_path / "ledger.sqlite", create=True) as ledger:
        set_answer_budget(ledger, ACCOUNT, plan)
        charge = charge_answers(ledger, ACCOUNT, plan, purpose="the service")
        both = [private_answers(fitted(), plan, charge=charge) for _ in range(2)]
        both[0].ask(records()[0][:4])
        for _ in range(2):
            both[1].ask(QUERY)
        for answers in both:  # each of them alone would have some left
            assert answers.left > 0
            with pytest.raises(BudgetExhausted, match=f"budget of '{ACCOUNT}' must not be"):
                answers.ask(QUERY)
        account = ledger.account(ACCOUNT)
        assert account.charges == 3
        assert account.budget.holds(account.totals)
        assert [entry.purpose for entry in ledger.entries(ACCOUNT)] == ["the service"] * 3


def test_a_ledger_needs_a_plan_that_was_made_for_a_filter(tmp_path):
    with (
        Ledger.open(tmp_path / "ledger.sqlite", create=True) as ledger,
        pytest.raises(InputError, match="plan must be made for a filter"),
    ):
        set_answer_budget(ledger, ACCOUNT, planned())


@pytest.mark.slow
def test_two_processes_of_two_threads_get_exactly_the_allowed_answers(tmp_path):
    asked = {"mechanism": "gaussian", "queries": 17, "filter": "gdp"}
    path, plan = tmp_path / "ledger.sqlite", planned(**asked)
    with Ledger.open(path, create=True) as ledger:
        set_answer_budget(ledger, ACCOUNT, plan)
        gate, passed = SPAWN.Barrier(2), SPAWN.Queue()
        both = [
            SPAWN.Process(
                target=asked_head.ask_from_threads, args=(path, asked, 2, 8, gate, passed)
            )
            for _ in range(2)
        ]
        for process in both:
            process.start()
        counts = [passed.get(timeout=240) for _ in both]
        for process in both:
            process.join()
        assert [process.exitcode for process in both] == [0, 0]
        assert sum(answered for answered, _ in counts) == 17
        assert sum(refused for _, refused in counts) == 2 * 2 * 8 - 17
        account = ledger.account(ACCOUNT)
        assert account.charges == len(ledger.entries(ACCOUNT)) == 17
        assert account.budget.holds(account.totals)
