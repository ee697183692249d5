"""Budgets: limits that are tight, true, and fixed by ε and δ alone."""

import json
import math

import pytest

from reticent.accounting import account
from reticent.guarantee import (
    ApproximateEvent,
    GaussianEvent,
    LaplaceEvent,
    PoissonSampled,
    PureEvent,
    Relation,
    Repeated,
    Sensitivity,
)
from reticent.ledger import Budget, Costs, FilterKind, LedgerError
from reticent.ledger.costs import costs_of
from reticent.ledger.filters import ROUNDING
from reticent.mechanisms import Gaussian, Laplace
from reticent.validation import InputError, NotCoveredError

ADD_REMOVE = Relation.ADD_REMOVE
SAMPLED = PoissonSampled(event=GaussianEvent(noise_multiplier=1.5), rate=0.1)


def fitting(budget, event):
    """The most charges of one kind that fit."""
    cost, total, count = costs_of(event, ADD_REMOVE), Costs(), 0
    while budget.holds(total := total.plus(cost)):
        count += 1
    return count


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0])
@pytest.mark.parametrize(
    ("kind", "event"),
    [
        ("basic", LaplaceEvent(noise_multiplier=70.0)),
        ("zcdp", GaussianEvent(noise_multiplier=60.0)),
        ("rdp", GaussianEvent(noise_multiplier=60.0)),
        ("gdp", GaussianEvent(noise_multiplier=60.0)),
    ],
)
def test_a_filter_stops_at_the_budget_and_not_far_below(kind, event, epsilon):
    event = type(event)(noise_multiplier=event.noise_multiplier / epsilon**0.9)
    budget = Budget.fixed(epsilon=epsilon, delta=1e-6, filter=kind)
    count = fitting(budget, event)

    def spent(times):
        plan = Repeated(event=event, count=times)
        return account(plan, relation=ADD_REMOVE, delta=1e-6, methods=[kind]).epsilon

    assert count >= 15
    assert spent(count) <= epsilon * (1 + ROUNDING)
    # Of Rényi DP one order is used and not the best of many.
    assert spent(math.ceil((count + 1) * (1.03 if kind == "rdp" else 1))) > epsilon


def test_a_plan_gives_sampled_releases_a_better_order():
    plan = costs_of(Repeated(event=SAMPLED, count=20), ADD_REMOVE)
    plain = Budget.fixed(epsilon=2.0, delta=1e-6)
    planned = Budget.fixed(epsilon=2.0, delta=1e-6, plan=plan)
    assert planned.order < plain.order
    assert fitting(planned, SAMPLED) > 2 * fitting(plain, SAMPLED)
    spent = Repeated(event=SAMPLED, count=fitting(planned, SAMPLED))
    assert account(spent, relation=ADD_REMOVE, delta=1e-6, methods=["rdp"]).epsilon <= 2.0


def test_ten_charges_of_a_tenth_fit_and_no_eleventh():
    for kind in ("basic", "rdp"):
        budget = Budget.fixed(epsilon=1.0, delta=0.0, filter=kind)
        assert fitting(budget, PureEvent(epsilon=0.1)) == 10
    deltas = Budget.fixed(epsilon=100.0, delta=1e-5, filter="basic")
    assert fitting(deltas, ApproximateEvent(epsilon=0.1, delta=1e-6)) == 10


def test_the_allowance_for_rounding_is_not_left():
    budget = Budget.fixed(epsilon=0.5, delta=0.0, filter="basic")
    assert budget.left(costs_of(PureEvent(epsilon=0.5), ADD_REMOVE)) == {"epsilon": 0, "delta": 0}
    assert 0.25 <= budget.left(costs_of(PureEvent(epsilon=0.25), ADD_REMOVE))["epsilon"] < 0.2501


def test_a_release_calibrated_to_the_budget_fits_once():
    count = Sensitivity(l1=1.0, l2=1.0, relation="add-remove")
    laplace = Laplace.calibrate(count, epsilon=0.7, delta=0.0).event()
    gaussian = Gaussian.calibrate(count, epsilon=0.7, delta=1e-6).event()
    assert fitting(Budget.fixed(epsilon=0.7, delta=0.0, filter="basic"), laplace) == 1
    assert fitting(Budget.fixed(epsilon=0.7, delta=0.0), laplace) == 1
    assert fitting(Budget.fixed(epsilon=0.7, delta=1e-6, filter="gdp"), gaussian) == 1


@pytest.mark.parametrize("kind", FilterKind)
def test_what_is_left_reaches_zero_and_stays(kind):
    budget = Budget.fixed(epsilon=1.0, delta=1e-6, filter=kind)
    event = LaplaceEvent(noise_multiplier=5.0)
    total, before = Costs(), None
    for _ in range(40):
        left = budget.left(total)
        assert left.keys() == budget.limits.keys()
        assert before is None or all(left[name] <= before[name] for name in left)
        total, before = total.plus(costs_of(event, ADD_REMOVE)), left
    assert not budget.holds(total)
    assert {value for name, value in left.items() if name != "delta"} == {0.0}


@pytest.mark.parametrize(
    ("kind", "event", "able"),
    [
        ("basic", GaussianEvent(noise_multiplier=1.0), "zcdp, rdp, gdp"),
        ("zcdp", SAMPLED, "rdp"),
        ("gdp", LaplaceEvent(noise_multiplier=1.0, norm="l2"), "zcdp, rdp"),
        ("rdp", ApproximateEvent(epsilon=0.1, delta=1e-7), "basic"),
    ],
)
def test_an_event_that_the_filter_cannot_express_names_those_that_can(kind, event, able):
    budget = Budget.fixed(epsilon=1.0, delta=1e-6, filter=kind)
    with pytest.raises(NotCoveredError, match=f"could take it: {able}$"):
        budget.require(costs_of(event, ADD_REMOVE), "the event")


def test_a_pure_budget_takes_no_gaussian():
    budget = Budget.fixed(epsilon=1.0, delta=0.0)
    assert budget.order == math.inf
    with pytest.raises(NotCoveredError, match="at order inf"):
        budget.require(costs_of(GaussianEvent(noise_multiplier=9.0), ADD_REMOVE), "the event")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": math.nan}, "epsilon must be > 0 and finite, got nan"),
        ({"epsilon": 0.0}, "epsilon must be > 0"),
        ({"epsilon": math.inf}, "epsilon must be > 0 and finite, got inf"),
        ({"delta": math.nan}, r"delta must be in \[0, 1\), got nan"),
        ({"delta": 1.0}, "delta must be in"),
        ({"filter": "pld"}, "filter must be one of basic, zcdp, rdp, gdp, got 'pld'"),
        ({"filter": "gdp", "delta": 0.0}, "delta must be > 0 for the filter gdp"),
        ({"filter": "zcdp", "delta": 0.0}, "delta must be > 0 for the filter zcdp"),
        ({"epsilon": 1e-7}, "epsilon must be large enough for the filter rdp"),
    ],
)
def test_bad_budgets(change, message):
    with pytest.raises(InputError, match=message):
        Budget.fixed(**({"epsilon": 1.0, "delta": 1e-6} | change))


@pytest.mark.parametrize("kind", FilterKind)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_budgets_read_back(kind, delta):
    if delta == 0 and kind in ("zcdp", "gdp"):
        return
    budget = Budget.fixed(epsilon=0.3, delta=delta, filter=kind)
    assert Budget.from_json(budget.to_json()) == budget


@pytest.mark.parametrize(
    "change",
    [
        {"limits": {}}, {"limits": {"rho": 1.0}}, {"order": 1.2345}, {"order": None},
        {"filter": "gdp"}, {"epsilon": -1}, {"limits": {"rdp": "nan"}}, {"limits": {"rdp": "inf"}},
        {"limits": 3},
    ],
)  # fmt: skip
def test_damaged_budgets_are_refused(change):
    values = Budget.fixed(epsilon=1.0, delta=1e-6).to_dict() | change
    with pytest.raises(LedgerError, match="budget in the ledger must"):
        Budget.from_json(json.dumps(values))
