"""Many charges at once, and processes that die in the middle of one."""

import multiprocessing
import os
import signal
import sqlite3
import sys

import pytest

from reticent.guarantee import GaussianEvent, LaplaceEvent, PoissonSampled
from reticent.ledger import Budget, BudgetExhausted, Ledger, verify_ledger
from reticent.ledger.costs import costs_of
from tests.ledger import charging
from tools.ledger_kills import kill_many

ALLOWED = 40
SPAWN = multiprocessing.get_context("spawn")
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.ledger.charging"])
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


PROCESSES, THREADS, EACH = 8, 8, 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["basic", "rdp"])
def test_exactly_the_allowed_charges_pass_from_eight_processes_of_eight_threads(
    kind, where, tmp_path
):
    event = EVENTS[kind]
    budget, allowed = budget_for(event, kind, tmp_path / "alone.sqlite")
    assert ALLOWED - 2 <= allowed <= ALLOWED < PROCESSES * THREADS * EACH
    with Ledger.open(where, create=True) as ledger:
        ledger.set_budget(
            charging.ACCOUNT, epsilon=budget.epsilon, delta=budget.delta, relation="add-remove",
            filter=kind,
        )  # fmt: skip
        gate, passed = FORKS.Barrier(PROCESSES), FORKS.Queue()
        all_of_them = [
            FORKS.Process(
                target=charging.charge_from_threads,
                args=(where, event, THREADS, EACH, gate, passed),
            )
            for _ in range(PROCESSES)
        ]
        for process in all_of_them:
            process.start()
        counts = [passed.get(timeout=120) for _ in all_of_them]
        for process in all_of_them:
            process.join()
        assert [process.exitcode for process in all_of_them] == [0] * PROCESSES
        assert sum(counts) == allowed
        account = ledger.account(charging.ACCOUNT)
        assert account.charges == len(ledger.entries(charging.ACCOUNT)) == allowed
        assert account.budget.holds(account.totals)
        with pytest.raises(BudgetExhausted):
            charge(ledger, event)
    assert verify_ledger(where) == []


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
def test_two_hundred_killed_processes_leave_a_charge_for_each_release(
    where, request, tmp_path, capsys
):
    """A hundred on each database: keyed charges, answers and released weights.

    The role on the server has synchronous_commit off, and the server crashes five times.
    """
    server = request.getfixturevalue("server").address if "://" in where else None
    found = kill_many(where, tmp_path, 100, server=server)
    with capsys.disabled():
        sys.stdout.write(f" over-count {found.over_count} of {found.charged} charges ")
    assert found.kills == 100
    assert found.released >= 50, "too few of them lived long enough to mean anything"
    assert (found.uncharged, found.double) == (0, 0)
    assert 0 <= found.over_count <= 4 * found.kills
