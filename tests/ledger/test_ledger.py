"""The ledger in one process: charges, refusals, budgets, and files that are not ledgers."""

import math
import sqlite3
import subprocess
import sys

import pytest

from reticent.guarantee import (
    Composed,
    GaussianEvent,
    LaplaceEvent,
    LogisticEvent,
    PoissonSampled,
    Relation,
    Sensitivity,
)
from reticent.ledger import BudgetExhausted, Ledger, LedgerError, claim_at
from reticent.mechanisms import Gaussian
from reticent.validation import InputError, NotCoveredError

GAUSSIAN = GaussianEvent(noise_multiplier=10.0)
LAPLACE = LaplaceEvent(noise_multiplier=4.0)
LOGISTIC = LogisticEvent(noise_multiplier=4.0)
SAMPLED = PoissonSampled(event=GAUSSIAN, rate=0.1)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger #1?.sqlite"


@pytest.fixture
def ledger(path):
    with Ledger.open(path, create=True) as ledger:
        yield ledger


def charge(ledger, event=LAPLACE, name="survey", **options):
    return ledger.charge(name, event, **({"relation": "add-remove", "purpose": "a mean"} | options))


def budget(ledger, name="survey", **options):
    values = {"epsilon": 1.0, "delta": 1e-6, "relation": "add-remove"} | options
    return ledger.set_budget(name, **values)


def test_a_charge_is_kept_with_time_purpose_event_costs_and_version(ledger, path):
    for event in (GAUSSIAN, LAPLACE, LOGISTIC, SAMPLED):
        charge(ledger, event, purpose=f"a {type(event).__name__}")
    with Ledger.open(path) as again:
        entries = again.entries("survey")
    assert [entry.event for entry in entries] == [GAUSSIAN, LAPLACE, LOGISTIC, SAMPLED]
    assert entries[1].purpose == "a LaplaceEvent"
    assert all(entry.at.endswith("+00:00") and entry.version for entry in entries)
    assert entries[1].costs.epsilon == 0.25


def test_without_a_budget_the_caller_gets_a_warning(ledger):
    first = charge(ledger)
    assert first.warning == (
        "no budget is set for 'survey'; spent so far, in 1 charge: ε ≤ 0.25, δ ≤ 0"
    )
    assert first.left is None
    assert "in 2 charges: ρ ≤ " in charge(ledger, GAUSSIAN).warning
    assert "ask for it at a delta" in charge(ledger, SAMPLED).warning
    budget(ledger, epsilon=9.0, filter="rdp")
    assert charge(ledger).warning is None


@pytest.mark.parametrize("kind", ["basic", "zcdp", "rdp", "gdp"])
def test_a_refusal_leaves_everything_as_it_was(ledger, kind):
    budget(ledger, filter=kind)
    event = LaplaceEvent(noise_multiplier=15.0)
    before = charge(ledger, event).account
    while before.budget.holds(before.totals.plus(ledger.entries("survey")[0].costs)):
        before = charge(ledger, event).account
    with pytest.raises(BudgetExhausted, match="nothing was charged, release nothing"):
        charge(ledger, event)
    assert ledger.account("survey") == before
    assert len(ledger.entries("survey")) == before.charges > 1
    assert before.promise.epsilon == pytest.approx(1.0, rel=1e-11)


def test_a_first_charge_that_is_refused_opens_no_account(ledger):
    with pytest.raises(NotCoveredError):
        charge(ledger, Composed(events=(GAUSSIAN, LAPLACE, *_approximate())))
    with pytest.raises(InputError, match="Poisson"):
        charge(ledger, SAMPLED, relation="replace-one")
    assert ledger.accounts() == []


def _approximate():
    from reticent.guarantee import ApproximateEvent

    return (ApproximateEvent(epsilon=0.1, delta=1e-9),)


def test_an_event_beyond_the_filter_is_refused_and_not_charged(ledger):
    budget(ledger, filter="gdp")
    with pytest.raises(NotCoveredError, match="could take it: rdp"):
        charge(ledger, SAMPLED)
    assert ledger.account("survey").charges == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relation": "replace-one"}, "relation of 'survey' must be 'add-remove', as it was"),
        ({"unit": "one person"}, "unit of 'survey' must be 'one record', as it was opened with"),
    ],
)
def test_another_relation_or_unit_is_refused(ledger, options, message):
    charge(ledger)
    with pytest.raises(LedgerError, match=message):
        charge(ledger, **options)
    with pytest.raises(LedgerError, match=message):
        budget(ledger, **options)
    account = ledger.account("survey")
    assert account.charges == 1
    assert account.budget is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"event": "gaussian"}, "event must be an Event"),
        ({"name": ""}, "account must be a non-empty text"),
        ({"name": "a\nb"}, "account must be a text of one line"),
        ({"name": "a\x1b[2Jb"}, "account must be at most 1000 printable characters"),
        ({"purpose": " "}, "purpose must be a non-empty text"),
        ({"purpose": "x" * 1001}, "purpose must be at most 1000"),
        ({"relation": "as declared with the sensitivity"}, "must be add-remove or replace-one"),
        ({"relation": "neighbours"}, "relation must be one of"),
        ({"unit": 3}, "unit must be a non-empty text"),
    ],
)
def test_bad_charges(ledger, options, message):
    with pytest.raises(InputError, match=message):
        charge(ledger, **options)
    assert ledger.accounts() == []


@pytest.mark.parametrize("values", [{"epsilon": math.nan}, {"delta": math.nan}, {"filter": "pld"}])
def test_a_bad_budget_opens_no_account(ledger, values):
    with pytest.raises(InputError):
        budget(ledger, **values)
    assert ledger.accounts() == []


def test_accounts_do_not_share(ledger):
    budget(ledger, epsilon=0.3, delta=0.0)
    charge(ledger)
    with pytest.raises(BudgetExhausted, match="'survey'"):
        charge(ledger)
    charge(ledger, name="other")
    assert [account.name for account in ledger.accounts()] == ["other", "survey"]
    assert ledger.account("nobody") is None
    with pytest.raises(LedgerError, match="account must be in the ledger, got 'nobody'"):
        ledger.spent("nobody")


def test_a_budget_lowered_below_the_spent_stops_everything_and_raised_goes_on(ledger):
    budget(ledger, delta=0.0, filter="basic")
    charge(ledger)
    lowered = budget(ledger, epsilon=0.1, delta=0.0)
    assert lowered.promise is None
    assert lowered.budget.filter == "basic"
    assert lowered.left == {"epsilon": 0.0, "delta": 0.0}
    with pytest.raises(BudgetExhausted):
        charge(ledger, LaplaceEvent(noise_multiplier=1e9))
    assert budget(ledger, epsilon=0.5, delta=0.0).promise is not None
    assert charge(ledger).spent.epsilon == 0.5
    changes = ledger.budget_changes("survey")
    assert [change.budget.epsilon for change in changes] == [1.0, 0.1, 0.5]


def test_a_filter_that_cannot_express_what_was_charged_is_refused(ledger):
    charge(ledger, GAUSSIAN)
    with pytest.raises(NotCoveredError, match=r"what was charged to 'survey' must be covered"):
        budget(ledger, filter="basic")
    assert ledger.budget_changes("survey") == []
    assert budget(ledger, filter="gdp").charges == 1


def test_spent_is_at_the_delta_of_the_budget_or_the_one_asked_for(ledger):
    budget(ledger, filter="gdp")
    for _ in range(3):
        charge(ledger, GAUSSIAN)
    assert ledger.spent("survey").delta == 1e-6
    assert ledger.spent("survey").method == "gdp"
    assert ledger.spent("survey", delta=1e-3).epsilon < ledger.spent("survey").epsilon
    assert ledger.spent("survey", delta=0.0).epsilon is None
    claim = ledger.spent("survey").guarantee
    assert (claim.grade, claim.relation, claim.unit) == ("declared", "add-remove", "one record")
    assert any("chosen by looking at earlier answers" in line for line in claim.stated)
    with pytest.raises(InputError, match="delta must be in"):
        ledger.spent("survey", delta=math.nan)


def test_a_ledger_is_made_only_where_asked(path, tmp_path):
    with pytest.raises(LedgerError, match="ledger must exist"):
        Ledger.open(path)
    assert not path.exists()
    with pytest.raises(LedgerError, match="must lie in a directory that exists"):
        Ledger.open(tmp_path / "no" / "ledger", create=True)
    with pytest.raises(LedgerError, match="must be a file, got the directory"):
        Ledger.open(tmp_path, create=True)
    with pytest.raises(InputError, match="ledger must be a path or a URL"):
        Ledger.open(3)


@pytest.mark.parametrize("create", [True, False])
def test_another_database_is_refused_and_left_alone(path, create):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="must be a ledger, got a database without one"):
        Ledger.open(path, create=create)
    assert path.read_bytes() == before


@pytest.mark.parametrize("create", [True, False])
def test_a_file_that_is_no_database_is_refused(path, create):
    path.write_bytes(b"name,age\n" * 200)
    with pytest.raises(LedgerError, match="file is not a database"):
        Ledger.open(path, create=create)
    assert path.read_bytes() == b"name,age\n" * 200


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("version", "3", "must be a reticent ledger of version 2, got format"),
        ("format", "x", "must be a reticent ledger of version 2, got format"),
        ("orders", "2 3", "must be as written, got damage in table about"),
        ("identity", "00", "must be as written, got damage in table about"),
    ],
)
def test_another_format_is_refused(ledger, path, key, value, message):
    ledger.close()
    edit(path, "UPDATE about SET value = ? WHERE key = ?", value, key)
    with pytest.raises(LedgerError, match=message):
        Ledger.open(path)


def edit(path, statement, *values):
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def test_a_cut_file_is_refused(ledger, path):
    for _ in range(20):
        charge(ledger)
    ledger.close()
    path.write_bytes(path.read_bytes()[:9000])
    with pytest.raises(LedgerError, match=r"damaged|malformed"):
        Ledger.open(path)


def test_damaged_totals_are_refused_and_nothing_is_charged(ledger, path):
    charge(ledger)
    edit(path, "UPDATE accounts SET spent = zeroblob(8)")
    with pytest.raises(LedgerError, match="must be finite numbers >= 0, got a damaged row"):
        charge(ledger)
    assert len(ledger.entries("survey")) == 1


def test_a_file_that_cannot_be_written_can_be_read(ledger, path):
    charge(ledger)
    ledger.close()
    content = bytearray(path.read_bytes())
    content[18] = 3  # a later write version: SQLite must not write, whoever asks, root included
    path.write_bytes(content)
    with Ledger.open(path) as again:
        assert again.account("survey").charges == 1
        with pytest.raises(LedgerError, match="readonly database"):
            charge(again)
        assert again.account("survey").charges == 1


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("mysql://user:secret@host/db", "must be a file or a postgresql URL, got one of mysql"),
        ("postgresql+nodriver://user:secret@host/db", "needs a driver for postgresql.nodriver"),
        ("://", "must be a file or a URL of a database, got neither"),
    ],
)
def test_bad_addresses(address, message):
    with pytest.raises(LedgerError, match=message) as caught:
        Ledger.open(address)
    assert "secret" not in str(caught.value)


@pytest.mark.slow
def test_sql_is_loaded_with_the_ledger_and_not_before():
    code = (
        "import sys, reticent.cli.app, reticent.ledger as l\n"
        "print('sqlalchemy' in sys.modules)\n"
        "l.Ledger\n"
        "print('sqlalchemy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_every_public_name_can_be_reached():
    import reticent.ledger as package

    for name in package.__all__:
        assert getattr(package, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Books'"):
        _ = package.Books


def test_a_release_calibrated_to_the_whole_budget_fits_once(tmp_path):
    """By default ε and δ are added up, each Gaussian release at the δ that it was made for."""
    noise = Gaussian.calibrate(Sensitivity(l2=1.0), epsilon=1.0, delta=1e-5).event()
    with Ledger.open(tmp_path / "ledger.sqlite", create=True) as ledger:
        ledger.set_budget("survey", epsilon=1.0, delta=1e-5, relation="add-remove")
        terms = {"relation": "add-remove", "purpose": "weights"}
        with pytest.raises(NotCoveredError, match="must be covered by the filter"):
            ledger.charge("survey", noise, **terms)
        claim = claim_at(noise, Relation.ADD_REMOVE, 1e-5)
        done = ledger.charge("survey", noise, claim=claim, **terms)
        assert done.spent.epsilon == pytest.approx(1.0, abs=1e-9)
        with pytest.raises(BudgetExhausted):
            ledger.charge("survey", noise, claim=claim, **terms)


@pytest.mark.parametrize("claim", [(0.1, 1e-6), (1.0, 0.0), (0.3968, 1e-6)])
def test_a_claim_below_what_the_event_costs_is_refused(ledger, claim):
    with pytest.raises(InputError, match="claim must be at least what the event costs"):
        charge(ledger, GAUSSIAN, claim=claim)
    assert ledger.accounts() == []


def test_a_claim_that_is_short_by_rounding_is_raised(ledger):
    epsilon, delta = claim_at(GAUSSIAN, Relation.ADD_REMOVE, 1e-6)
    charged = charge(ledger, GAUSSIAN, claim=(epsilon * (1 - 2**-45), delta))
    assert charged.account.totals.epsilon == epsilon
    assert charge(ledger, GAUSSIAN, claim=(2.0, delta)).account.totals.epsilon > epsilon + 1.9


def test_a_key_is_charged_once(ledger):
    first = charge(ledger, key="a request")
    again = charge(ledger, key=" a request")
    assert (first.replayed, again.replayed, again.seq) == (False, True, first.seq)
    assert again.account.charges == len(ledger.entries("survey")) == 1
    with pytest.raises(LedgerError, match="key must be used for one request to 'survey'"):
        charge(ledger, GAUSSIAN, key="a request")
    with pytest.raises(LedgerError, match="key must be used for one request"):
        charge(ledger, purpose="another", key="a request")
    assert not charge(ledger, name="other", key="a request").replayed
    assert not charge(ledger).replayed
    assert not charge(ledger).replayed
    assert [ledger.account(name).charges for name in ("survey", "other")] == [3, 1]


def test_a_key_is_charged_once_within_a_group(ledger):
    terms = {"relation": "add-remove", "purpose": "a mean", "key": "same"}
    futures = [ledger.submit("survey", LAPLACE, **terms) for _ in range(20)]
    done = [future.result() for future in futures]
    assert [one.replayed for one in done].count(False) == 1
    assert {one.seq for one in done} == {1}
    assert ledger.account("survey").charges == 1


def test_a_key_beyond_the_budget_is_refused_each_time(ledger):
    budget(ledger, epsilon=0.3, delta=0.0)
    assert not charge(ledger, key="one").replayed
    for _ in range(2):
        with pytest.raises(BudgetExhausted):
            charge(ledger, key="two")
    assert charge(ledger, key="one").replayed


def test_one_bad_charge_of_a_group_leaves_the_others(ledger):
    budget(ledger, epsilon=0.75, delta=0.0)
    asked = {"survey": [LAPLACE, GAUSSIAN, LAPLACE, LAPLACE, LAPLACE], "Survey": [LAPLACE]}
    futures = [
        (name, ledger.submit(name, event, relation="add-remove", purpose="x"))
        for name, events in asked.items()
        for event in events
    ]
    kinds = [type(future.exception()).__name__ for _, future in futures]
    assert kinds == ["NoneType", "NotCoveredError", "NoneType", "NoneType", "BudgetExhausted",
                     "LedgerError"]  # fmt: skip
    assert ledger.account("survey").charges == 3


def test_charges_and_budgets_share_one_numbering(ledger):
    budget(ledger)
    charge(ledger)
    budget(ledger, epsilon=2.0)
    charge(ledger)
    assert [entry.seq for entry in ledger.entries("survey")] == [2, 4]
    assert [change.seq for change in ledger.budget_changes("survey")] == [1, 3]


def test_a_fork_charges_by_itself(ledger, path):
    """The thread that commits and the connections stay with the parent."""
    import os

    charge(ledger)
    child = os.fork()
    if child == 0:
        try:
            charge(ledger, purpose="from the child")
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    charge(ledger)
    purposes = [entry.purpose for entry in ledger.entries("survey")]
    assert purposes == ["a mean", "from the child", "a mean"]


def test_a_ledger_goes_on_after_it_was_idle_or_closed(ledger, monkeypatch):
    import time

    monkeypatch.setattr("reticent.ledger.committer.IDLE_SECONDS", 0.01)
    for _ in range(3):
        charge(ledger)
        time.sleep(0.05)
    ledger.close()
    assert charge(ledger).account.charges == 4
