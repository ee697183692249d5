"""Many charges at once, and processes that die in the middle of one."""

import multiprocessing
import os
import signal
import sqlite3
import time

import pytest

from reticent.guarantee import GaussianEvent, LaplaceEvent, PoissonSampled
from reticent.ledger import Budget, BudgetExhausted, Ledger
from reticent.ledger.costs import costs_of
from tests.ledger import charging

ALLOWED = 17
SPAWN = multiprocessing.get_context("spawn")
GAUSSIAN = GaussianEvent(noise_multiplier=12.0)
EVENTS = {
    "basic": LaplaceEvent(noise_multiplier=8.0),
    "rdp": PoissonSampled(event=GAUSSIAN, rate=0.1),
}


def charge(ledger, event):
    return ledger.charge(charging.ACCOUNT, event, relation=charging.RELATION, purpose="alone")


def budget_for(event, kind, path):
    """The ε at which about ALLOWED charges fit; how many do is found by charging one by one."""
    with Ledger.open(path, create=True) as ledger:
        for _ in range(ALLOWED):
            charge(ledger, event)
        delta = 0.0 if kind == "basic" else 1e-6
        epsilon = ledger.spent(charging.ACCOUNT, delta=delta).epsilons[kind] * 1.001
    cost = costs_of(event, charging.RELATION)
    budget, total, allowed = Budget.fixed(epsilon=epsilon, delta=delta, filter=kind), cost, 0
    while budget.holds(total):
        total, allowed = total.plus(cost), allowed + 1
    return budget, allowed


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["basic", "rdp"])
def test_exactly_the_allowed_charges_pass_from_many_threads_of_two_processes(kind, tmp_path):
    event, path = EVENTS[kind], tmp_path / "ledger.sqlite"
    budget, allowed = budget_for(event, kind, tmp_path / "alone.sqlite")
    assert ALLOWED - 2 <= allowed <= ALLOWED
    with Ledger.open(path, create=True) as ledger:
        ledger.set_budget(
            charging.ACCOUNT, epsilon=budget.epsilon, delta=budget.delta, relation="add-remove",
            filter=kind,
        )  # fmt: skip
        gate, passed = SPAWN.Barrier(2), SPAWN.Queue()
        both = [
            SPAWN.Process(
                target=charging.charge_from_threads, args=(path, event, 8, 3, gate, passed)
            )
            for _ in range(2)
        ]
        for process in both:
            process.start()
        counts = [passed.get(timeout=120) for _ in both]
        for process in both:
            process.join()
        assert [process.exitcode for process in both] == [0, 0]
        assert sum(counts) == allowed
        account = ledger.account(charging.ACCOUNT)
        assert account.charges == len(ledger.entries(charging.ACCOUNT)) == allowed
        assert account.budget.holds(account.totals)
        with pytest.raises(BudgetExhausted):
            charge(ledger, event)


def killed(process):
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL


def intact(path):
    connection = sqlite3.connect(path)
    verdict = connection.execute("PRAGMA integrity_check").fetchone()
    connection.close()
    return verdict == ("ok",)


@pytest.mark.slow
def test_killed_before_the_commit_nothing_was_charged_and_the_ledger_goes_on(tmp_path):
    event, path = GAUSSIAN, tmp_path / "ledger.sqlite"
    with Ledger.open(path, create=True) as ledger:
        before = charge(ledger, event).account
    reached = SPAWN.Event()
    process = SPAWN.Process(target=charging.stop_at_the_commit, args=(path, event, reached))
    process.start()
    assert reached.wait(timeout=120)
    killed(process)
    with Ledger.open(path) as ledger:
        assert ledger.account(charging.ACCOUNT) == before
        assert intact(path)
        assert charge(ledger, event).account.charges == 2
        assert len(ledger.entries(charging.ACCOUNT)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("releases_before", [1, 12])
def test_killed_at_any_moment_there_is_a_charge_for_each_release(tmp_path, releases_before):
    event, path, releases = GAUSSIAN, tmp_path / "ledger.sqlite", tmp_path / "releases"
    Ledger.open(path, create=True).close()
    releases.touch()
    process = SPAWN.Process(target=charging.charge_and_release, args=(path, event, releases))
    process.start()
    while releases.stat().st_size < releases_before:
        assert process.is_alive()
        time.sleep(0.0005)
    killed(process)
    released = releases.stat().st_size
    assert intact(path)
    with Ledger.open(path) as ledger:
        entries = len(ledger.entries(charging.ACCOUNT))
        assert ledger.account(charging.ACCOUNT).charges == entries
        assert released <= entries <= released + 1
