"""PostgreSQL as one finds it: careless roles, crashes, locks, and servers that do not sync."""

import contextlib
import threading

import psycopg
import pytest
import sqlalchemy as sa

from reticent.guarantee import LaplaceEvent
from reticent.ledger import Ledger, LedgerError
from tools.postgres_server import crash

EVENT = LaplaceEvent(noise_multiplier=1e6)
TERMS = {"relation": "add-remove", "purpose": "a mean"}


@pytest.fixture
def where(server):
    return server.fresh()


def test_the_role_is_careless(where):
    """What the other tests rest on."""
    with psycopg.connect(where) as connection:
        found = connection.execute(
            "SELECT current_setting('synchronous_commit'), current_setting('transaction_isolation')"
        ).fetchone()
    assert found == ("off", "repeatable read")


def test_each_transaction_that_writes_is_synced_and_sees_what_was_committed(where):
    with Ledger.open(where, create=True) as ledger:
        for _ in range(3):
            with ledger._storage.writing() as connection:
                found = [
                    connection.exec_driver_sql(f"SHOW {name}").scalar()
                    for name in ("synchronous_commit", "transaction_isolation")
                ]
            assert found == ["on", "read committed"]


def test_no_charge_fails_because_another_came_first(where):
    """Under REPEATABLE READ, 100 of 120 did."""
    with Ledger.open(where, create=True) as one, Ledger.open(where) as other:
        futures = [
            ledger.submit("survey", EVENT, **TERMS) for _ in range(60) for ledger in (one, other)
        ]
        assert {future.exception() for future in futures} == {None}
        assert one.account("survey").charges == 120


@pytest.mark.slow
def test_a_crash_of_the_server_loses_no_charge(where, server):
    with Ledger.open(where, create=True) as ledger:
        charged = [ledger.charge("survey", EVENT, **TERMS).seq for _ in range(20)][-1]
        crash(server.address)
        assert ledger.account("survey").charges == charged
    Ledger.open(where).close()


def test_a_server_that_does_not_sync_is_refused(where, server):
    with Ledger.open(where, create=True) as ledger:
        server.run("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
        try:
            _wait_for(where, "off")
            with pytest.raises(LedgerError, match="a server that syncs what it commits, got fsync"):
                ledger.charge("survey", EVENT, **TERMS)
            with pytest.raises(LedgerError, match="got fsync = off"):
                ledger.set_budget("survey", epsilon=1.0, delta=0.0, relation="add-remove")
        finally:
            server.run("ALTER SYSTEM RESET fsync", "SELECT pg_reload_conf()")
            _wait_for(where, "on")
        assert ledger.accounts() == []
        assert ledger.charge("survey", EVENT, **TERMS).account.charges == 1


def _wait_for(where, value):
    for _ in range(200):
        with psycopg.connect(where) as connection:
            if connection.execute("SHOW fsync").fetchone() == (value,):
                return
        threading.Event().wait(0.05)
    pytest.fail("the server did not take its configuration")


def test_a_pool_without_a_free_connection_is_one_line(where, monkeypatch):
    monkeypatch.setattr("reticent.ledger.storage.WAIT_SECONDS", 0.2)
    with Ledger.open(where, create=True) as ledger, contextlib.ExitStack() as held:
        for _ in range(15):
            held.enter_context(ledger._storage.reading())
        with pytest.raises(LedgerError, match=r"got: no connection was free within 0\.2 s") as one:
            ledger.charge("survey", EVENT, **TERMS)
        assert "\n" not in str(one.value)


def test_a_lock_that_somebody_holds_is_one_line(where, monkeypatch):
    monkeypatch.setattr("reticent.ledger.storage.WAIT_SECONDS", 0.2)
    with Ledger.open(where, create=True) as ledger:
        ledger.charge("survey", EVENT, **TERMS)
        with psycopg.connect(where) as other:
            other.execute("SELECT * FROM accounts FOR UPDATE")
            with pytest.raises(LedgerError, match="got: canceling statement due to lock timeout"):
                ledger.charge("survey", EVENT, **TERMS)
        assert ledger.charge("survey", EVENT, **TERMS).account.charges == 2


def test_a_server_that_is_not_there_is_one_line_without_the_password():
    with pytest.raises(LedgerError, match="in the postgresql database d must be usable") as one:
        Ledger.open("postgresql://somebody:secret@127.0.0.1:1/d")
    assert "secret" not in str(one.value)
    assert "\n" not in str(one.value)


def test_two_accounts_that_look_alike_are_not_opened_at_once(where):
    """Each process would see no account yet; the table keeps their skeletons apart."""
    with Ledger.open(where, create=True) as one, Ledger.open(where) as other:
        futures = [
            ledger.submit(name, EVENT, **TERMS)
            for ledger, name in ((one, "survey"), (other, "Survey"))
        ]
        refused = [future.exception() for future in futures]
        assert sum(isinstance(found, LedgerError) for found in refused) == 1
        assert len(one.accounts()) == 1


def test_a_plain_url_takes_the_driver_of_the_extra(where):
    with Ledger.open(where, create=True) as ledger:
        assert ledger._storage._engine.url.drivername == "postgresql+psycopg"
        assert sa.make_url(where).drivername == "postgresql"
