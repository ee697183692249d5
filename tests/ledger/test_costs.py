"""Costs: rounded up, added up, never below what the accountants say of the composed event."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.accounting import account
from reticent.accounting.rdp import RDP
from reticent.guarantee import (
    ApproximateEvent,
    BoundedRangeEvent,
    Composed,
    GaussianEvent,
    LaplaceEvent,
    LogisticEvent,
    PoissonSampled,
    PureEvent,
    Relation,
    Repeated,
    ZcdpEvent,
)
from reticent.ledger import Account, Costs, LedgerError
from reticent.ledger.costs import ORDERS, costs_of
from reticent.validation import InputError, NotCoveredError

ADD_REMOVE = Relation.ADD_REMOVE
GAUSSIAN = GaussianEvent(noise_multiplier=3.0)
EVENTS = [
    GAUSSIAN,
    LaplaceEvent(noise_multiplier=4.0),
    LaplaceEvent(noise_multiplier=4.0, norm="l2"),
    LogisticEvent(noise_multiplier=2.5),
    LogisticEvent(noise_multiplier=2.5, norm="l2"),
    PureEvent(epsilon=0.1),
    BoundedRangeEvent(epsilon=0.3),
    ApproximateEvent(epsilon=0.2, delta=1e-8),
    ZcdpEvent(rho=0.01),
    PoissonSampled(event=GAUSSIAN, rate=0.05),
    PoissonSampled(event=LaplaceEvent(noise_multiplier=2.0), rate=0.2),
    Repeated(event=GAUSSIAN, count=7),
]


def account_of(totals):
    return Account(
        name="a", relation=ADD_REMOVE, unit="one record", opened="", budget=None, totals=totals,
        charges=0,
    )  # fmt: skip


def rdp_curve(event):
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return RDP.value(event, ADD_REMOVE).bound(np.array(ORDERS)).tolist()
    except NotCoveredError:
        return [math.inf] * len(ORDERS)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
@given(events=st.lists(st.sampled_from(EVENTS), min_size=1, max_size=6))
@settings(max_examples=25)
def test_totals_never_fall_below_the_accountants_on_the_composed_event(events, delta):
    totals = Costs()
    for event in events:
        totals = totals.plus(costs_of(event, ADD_REMOVE))
    spent = account_of(totals).spent(delta)
    for name, epsilon in spent.epsilons.items():
        known = account(
            Composed(events=tuple(events)), relation=ADD_REMOVE, delta=delta, methods=[name]
        ).epsilon
        # Rényi orders differ a little, so either may be smaller; the curves are compared below.
        # The accountants round up once more after a composition.
        assert epsilon >= known * (1 - (0.01 if name == "rdp" else 2.0**-40))
        assert epsilon <= known * (1 + (0.02 if name == "rdp" else 1e-9)) + 1e-12
    curve = rdp_curve(Composed(events=tuple(events)))
    assert all(kept is None or kept >= value for kept, value in zip(totals.rdp, curve, strict=True))


def test_a_sum_counts_only_if_every_entry_supports_it():
    sums = {
        "laplace": LaplaceEvent(noise_multiplier=4.0),
        "gaussian": GAUSSIAN,
        "sampled": PoissonSampled(event=GAUSSIAN, rate=0.1),
    }
    total, covered = Costs(), []
    for event in sums.values():
        total = total.plus(costs_of(event, ADD_REMOVE))
        covered.append(set(account_of(total).spent(1e-6).epsilons))
    assert covered == [{"basic", "zcdp", "rdp", "gdp"}, {"zcdp", "rdp", "gdp"}, {"rdp"}]


def test_nothing_in_common_has_no_epsilon():
    both = costs_of(GAUSSIAN, ADD_REMOVE).plus(costs_of(EVENTS[7], ADD_REMOVE))
    spent = account_of(both).spent(1e-5)
    assert spent.epsilon is None
    with pytest.raises(NotCoveredError, match="must share a sum"):
        _ = spent.guarantee


def test_pure_totals_have_an_epsilon_at_delta_zero():
    ten = Costs()
    for _ in range(10):
        ten = ten.plus(costs_of(PureEvent(epsilon=0.1), ADD_REMOVE))
    spent = account_of(ten).spent()
    assert spent.epsilons.keys() == {"basic", "rdp"}
    assert 1.0 < spent.epsilon <= 1.0 + 1e-12
    assert spent.guarantee.grade == "declared"


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_costs_read_back_as_the_same_floats(event):
    costs = costs_of(event, ADD_REMOVE)
    assert Costs.from_json(costs.to_json()) == costs


def test_a_gaussian_costs_what_it_costs():
    costs = costs_of(GAUSSIAN, ADD_REMOVE)
    assert costs.epsilon is None
    assert costs.rho == pytest.approx(1 / 18, rel=1e-12)
    assert costs.rho > 1 / 18
    assert costs.mu_squared == pytest.approx(1 / 9, rel=1e-12)
    assert costs.mu_squared > 1 / 9
    assert costs.rdp_at(2.0) == pytest.approx(1 / 9, rel=1e-12)
    assert costs.rdp_at(math.inf) is None


def test_an_event_for_the_other_neighbours_is_refused():
    with pytest.raises(InputError, match="relation must be add-remove for Poisson sampling"):
        costs_of(PoissonSampled(event=GAUSSIAN, rate=0.1), Relation.REPLACE_ONE)


def test_an_event_that_no_sum_covers_is_refused():
    neither = Composed(events=(GAUSSIAN, ApproximateEvent(epsilon=0.1, delta=1e-9)))
    with pytest.raises(NotCoveredError, match="charge its"):
        costs_of(neither, ADD_REMOVE)


@pytest.mark.parametrize(
    "change",
    [
        {"rho": -1.0}, {"rho": float("nan")}, {"epsilon": float("inf")}, {"delta": "0"},
        {"rdp": [0.0]}, {"other": 1.0}, {"rho": True}, {"rdp": None},
    ],
)  # fmt: skip
def test_damaged_costs_are_refused(change):
    document = json.dumps(Costs().to_dict() | change)
    with pytest.raises(LedgerError, match="costs"):
        Costs.from_json(document)


def test_the_orders_are_part_of_the_format():
    assert len(ORDERS) == 155
    assert ORDERS[:2] == (1.007812, 1.009291)
    assert set(range(2, 65)) < set(ORDERS)
    assert ORDERS[-2:] == (131073.0, math.inf)
    assert list(ORDERS) == sorted(set(ORDERS))
