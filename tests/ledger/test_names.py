"""Names: one spelling, and none that a reader could take for another account's."""

import pytest

from reticent.guarantee import LaplaceEvent
from reticent.ledger import BudgetExhausted, Ledger, LedgerError
from reticent.ledger.names import folded, skeleton

EVENT = LaplaceEvent(noise_multiplier=4.0)
TERMS = {"relation": "add-remove", "purpose": "a mean"}


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "ledger.sqlite", create=True) as ledger:
        ledger.set_budget("Patients 10 cafés", epsilon=0.1, delta=0.0, relation="add-remove")
        yield ledger


@pytest.mark.parametrize(
    "name",
    ["Patients 10 cafés ", "\tPatients 10 cafés", "Patients 10 cafe\u0301s"],
    ids=["space behind", "tab before", "decomposed"],
)
def test_another_spelling_is_the_same_account(ledger, name):
    with pytest.raises(BudgetExhausted, match="'Patients 10 cafés'"):
        ledger.charge(name, EVENT, **TERMS)
    assert ledger.account(name).charges == 0
    assert len(ledger.accounts()) == 1


@pytest.mark.parametrize(
    "name",
    [
        "patients 10 cafés",
        "PATIENTS 10 CAFÉS",
        "P\u0430tients 10 cafés",  # Cyrillic
        "\u03a1atients 10 cafés",  # Greek capital rho
        "Ｐatients 10 cafés",  # full width
        "Patients 1O cafés",
        "Patients l0 cafés",
        "Patients  10 cafés",
        "𝐏atients 10 cafés",
    ],
)
def test_a_name_that_looks_like_another_is_refused_with_that_one(ledger, name):
    message = "must not look like another one, got .* beside 'Patients 10 cafés'"
    with pytest.raises(LedgerError, match=message):
        ledger.charge(name, EVENT, **TERMS)
    with pytest.raises(LedgerError, match=message):
        ledger.set_budget(name, epsilon=50.0, delta=0.0, relation="add-remove")
    assert [account.name for account in ledger.accounts()] == ["Patients 10 cafés"]


@pytest.mark.parametrize("name", ["Patients 11 cafés", "Patients 10 cafes", "Impatients", "患者"])
def test_names_that_differ_are_taken(ledger, name):
    assert ledger.charge(name, EVENT, **TERMS).account.name == name


def test_skeletons():
    assert skeleton("barn") == skeleton("bam")
    assert skeleton("Il1|") == "llll"
    assert folded("ΣΊΣΥΦΟΣ") == folded("σίσυφος")
    assert folded("STRASSE") == folded("straße")
    for one, other in (("mail", "mall"), ("2024", "2025"), ("train", "test"), ("a-b", "a_b")):
        assert folded(one) != folded(other)
        assert skeleton(one) != skeleton(other)


def test_folding_and_looking_alike_come_to_rest():
    numbers = (*range(0x20, 0x2000), *range(0xFF00, 0xFFF0), *range(0x1D400, 0x1D800))
    for letter in map(chr, numbers):
        if letter.isprintable():
            assert folded(folded(letter)) == folded(letter)
            assert skeleton(skeleton(letter)) == skeleton(letter), hex(ord(letter))


def test_an_account_without_a_budget_is_refused_where_that_is_asked_for(ledger):
    message = "account 'new' must have a budget to be charged, got none; .* --open-account"
    with pytest.raises(LedgerError, match=message):
        ledger.charge("new", EVENT, open_account=False, **TERMS)
    assert ledger.account("new") is None
    ledger.set_budget("new", epsilon=1.0, delta=0.0, relation="add-remove")
    assert ledger.charge("new", EVENT, open_account=False, **TERMS).account.charges == 1
