"""What is charged to one account is in no other: entries, budgets and what they have left."""

import pytest

from reticent.guarantee import GaussianEvent, LaplaceEvent
from reticent.ledger import Ledger

NAMES = ("census", "survey", "a third")
RELEASE = LaplaceEvent(noise_multiplier=8.0)


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite", create=True) as ledger:
        yield ledger


def charge(ledger, name, event=RELEASE):
    return ledger.charge(name, event, relation="add-remove", purpose=f"of {name}")


def test_entries_and_budgets_are_those_of_their_account(ledger):
    for number, name in enumerate(NAMES, start=1):
        for epsilon in range(1, number + 1):
            ledger.set_budget(name, epsilon=10.0 * epsilon, delta=0.0, relation="add-remove")
        for _ in range(4 - number):
            charge(ledger, name)
    for number, name in enumerate(NAMES, start=1):
        entries, changes = ledger.entries(name), ledger.budget_changes(name)
        assert [entry.purpose for entry in entries] == [f"of {name}"] * (4 - number)
        assert [change.budget.epsilon for change in changes] == [
            10.0 * epsilon for epsilon in range(1, number + 1)
        ]
        account = ledger.account(name)
        assert account.charges == 4 - number
        assert account.totals.epsilon == pytest.approx((4 - number) / 8)
        assert account.left["epsilon"] == pytest.approx(10.0 * number - (4 - number) / 8)
    assert [account.name for account in ledger.accounts()] == sorted(NAMES)
    assert ledger.account("nobody") is None
    assert ledger.entries("nobody") == []


def test_a_full_account_leaves_the_others_open(ledger):
    for name in NAMES:
        ledger.set_budget(name, epsilon=0.25, delta=0.0, relation="add-remove")
    for _ in range(2):
        charge(ledger, "survey")
    with pytest.raises(ValueError, match="budget of 'survey' must not be exceeded"):
        charge(ledger, "survey")
    for name in ("census", "a third"):
        assert charge(ledger, name).left == {"epsilon": pytest.approx(0.125), "delta": 0.0}


def test_spent_is_at_the_delta_that_is_asked_for(ledger):
    charge(ledger, "survey", GaussianEvent(noise_multiplier=5.0))
    early, late = (ledger.spent("survey", delta=delta) for delta in (1e-9, 1e-3))
    assert set(early.epsilons) == set(late.epsilons) == {"zcdp", "rdp", "gdp"}
    assert early.epsilon > late.epsilon > 0
    assert ledger.spent("survey").epsilons == {}, "without a budget at δ = 0"
    assert ledger.spent("survey", delta=1e-3).guarantee.epsilon == late.epsilon
