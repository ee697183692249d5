"""Files of each format as they were once written: the present one is read, early ones are refused.

From format 2 on a new format must upgrade the files of the older ones; their golden files stay.
"""

import shutil
import sqlite3
from pathlib import Path

import pytest

from reticent.guarantee import GaussianEvent, LaplaceEvent
from reticent.ledger import Ledger, LedgerError, verify_ledger
from reticent.ledger.clients import Clients, key_hash

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def golden(tmp_path, monkeypatch):
    monkeypatch.setenv("RETICENT_WITNESS", str(tmp_path / "witness"))  # each copy is another ledger

    def copy(version):
        return shutil.copyfile(GOLDEN / f"format-{version}.sqlite", tmp_path / "ledger.sqlite")

    return copy


def test_format_2_is_read_verified_and_goes_on(golden):
    path = golden(2)
    assert verify_ledger(path) == []
    with Ledger.open(path) as ledger:
        people, survey = ledger.accounts()
        assert (survey.name, survey.charges, survey.totals.epsilon) == ("survey", 3, 0.625)
        assert (survey.budget.epsilon, survey.budget.filter) == (2.0, "basic")
        assert (people.relation, people.unit) == ("replace-one", "one person")
        assert people.totals.rho == 0.005000000000000073
        assert [entry.seq for entry in ledger.entries("survey")] == [2, 3, 5]
        assert ledger.entries("people")[0].event == GaussianEvent(noise_multiplier=10.0)
        assert [change.budget.epsilon for change in ledger.budget_changes("survey")] == [1.0, 2.0]
        terms = {"relation": "add-remove", "purpose": "a mean"}
        again = ledger.charge("survey", LaplaceEvent(noise_multiplier=8.0), key="once", **terms)
        assert (again.replayed, again.seq) == (True, 3)
        assert ledger.charge("survey", LaplaceEvent(noise_multiplier=8.0), **terms).seq == 6
    assert verify_ledger(path) == []


def test_format_2_takes_clients_of_a_service(golden):
    """Early ledgers have tables for them with fewer columns, which nothing ever wrote."""
    path = golden(2)
    with Ledger.open(path) as ledger:
        clients = Clients(ledger._storage)
        assert clients.all() == []
        clients.add("alice", data_set="survey", limit=7)
        key, kept = clients.new_key("alice", scopes=("ask",), days=1)
        assert kept.sha256 == key_hash(key)
        assert ledger.account("survey").charges == 3
    assert verify_ledger(path) == []
    with Ledger.open(path) as ledger:
        assert Clients(ledger._storage).named("alice").limit == 7


def test_early_tables_with_rows_are_refused(golden):
    path = golden(2)
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO replies VALUES (1, 1, x'00', 1)")
    connection.close()
    with Ledger.open(path) as ledger, pytest.raises(LedgerError, match=r"replies .* with rows"):
        Clients(ledger._storage)


@pytest.mark.parametrize("create", [False, True])
def test_format_1_is_refused_by_name(golden, create):
    path = golden(1)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=r"of version 2, got .* version '1' \(an early one"):
        Ledger.open(path, create=create)
    assert path.read_bytes() == before
