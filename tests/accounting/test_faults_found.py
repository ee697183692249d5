"""Faults that planted mutants showed no other test to find (``make mutants``)."""

from reticent.accounting.account import account
from reticent.guarantee import PureEvent


def test_nothing_costs_nothing():
    cost = account(PureEvent(epsilon=0.0), relation="add-remove", delta=1e-6)
    assert cost.epsilons["pld"] == 0.0
