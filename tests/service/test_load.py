"""Many clients, two processes, one budget; processes that are killed in the middle of it."""

import pytest

from tools.service_kills import Load, run_load


@pytest.mark.slow
def test_exactly_the_budget_is_answered(where):
    """64 clients ask 10,000 questions of two workers, with a budget for 5,000."""
    found = run_load(where, Load(clients=64, queries=10_000, budget=5_000))
    assert (found.asked, found.answered, found.exhausted) == (10_000, 5_000, 5_000)
    assert (found.charged, found.uncharged, found.double, found.problems) == (5_000, 0, 0, 0)


@pytest.mark.slow
def test_killed_workers_deliver_nothing_uncharged(where, request):
    """20 random kill -9 of workers, and one crash of the PostgreSQL server."""
    server = request.getfixturevalue("server").address if "://" in where else ""
    load = Load(clients=16, queries=1_200, budget=5_000, kills=20, server=server)
    found = run_load(where, load)
    assert (found.kills, found.asked, found.answered) == (20, 1_200, 1_200)
    assert (found.charged, found.uncharged, found.double, found.problems) == (1_200, 0, 0, 0)
    assert found.retried > 0
