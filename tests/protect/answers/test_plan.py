"""k answers within (ε, δ): laws for every way of answering, and the formulas beside them."""

import dataclasses
import math

import pytest

from reticent.guarantee import BoundedRangeEvent, GaussianEvent, Grade, PureEvent, Repeated
from reticent.ledger import Budget, FilterKind
from reticent.ledger.costs import costs_of
from reticent.mechanisms.profiles import conversions, gaussian
from reticent.protect.answers.answer_mechanisms import LABEL, WAYS
from reticent.validation import InputError, NotCoveredError
from tests.protect.answers.asked_head import planned

SPACED = [
    (name, space)
    for name in WAYS
    for space in (("label",) if name in LABEL else ("coordinates", "logits"))
]
PURE = [pair for pair in SPACED if pair[0] != "gaussian"]


@pytest.mark.parametrize(("mechanism", "space"), SPACED)
@pytest.mark.parametrize("queries", [1, 7, 300])
def test_the_whole_keeps_within_epsilon_and_wastes_little(mechanism, space, queries):
    plan = planned(mechanism=mechanism, space=space, queries=queries)
    assert 0.998 < plan.account.epsilon <= 1.0
    assert plan.sensitivity.grade is Grade.PROVEN
    less = dataclasses.replace(plan, scale=plan.scale * 0.99)
    assert less.account.epsilon > 1.0
    with pytest.raises(InputError, match="epsilon must be >="):
        less.require_enough()


@pytest.mark.parametrize(("mechanism", "space"), SPACED)
def test_more_answers_need_more_noise_but_never_more_than_basic_composition(mechanism, space):
    scales = [
        planned(mechanism=mechanism, space=space, queries=k).scale for k in (1, 2, 10, 100, 1000)
    ]
    assert scales == sorted(scales)
    for k, scale in zip((2, 10, 100, 1000), scales[1:], strict=True):
        assert scale <= k * scales[0] * (1 + 5e-3)
    assert scales[-1] < 150 * scales[0]  # basic composition would give 1000


@pytest.mark.parametrize(("mechanism", "space"), PURE)
def test_pure_answers_divide_epsilon(mechanism, space):
    one = planned(mechanism=mechanism, space=space, delta=0.0, queries=1)
    many = planned(mechanism=mechanism, space=space, delta=0.0, queries=40)
    assert many.scale == pytest.approx(40 * one.scale, rel=1e-9)
    assert many.method == "basic"
    bound = {
        "laplace": one.sensitivity.l1,
        "logistic": one.sensitivity.l1,
        "l2-laplace": one.sensitivity.l2,
    }.get(mechanism, one.sensitivity.range_bound)
    assert one.scale == pytest.approx(bound, rel=1e-9)  # ε = 1


@pytest.mark.parametrize("queries", [1, 30, 10**4, 10**9])
def test_gaussian_answers_are_exact(queries):
    plan = planned(mechanism="gaussian", queries=queries)
    shift = gaussian.shift(1.0, 1e-5)
    assert plan.scale == pytest.approx(math.sqrt(queries) * plan.sensitivity.l2 / shift, rel=1e-9)


@pytest.mark.parametrize("classes", [2, 3, 4, 5])
@pytest.mark.parametrize("mechanism", ["laplace", "logistic"])
def test_noise_on_all_logits_follows_the_l1_bound_of_the_theorem(classes, mechanism):
    """B√C, for odd C B√(C − 1/C); on the coordinates B√(C−1), which is less."""
    logits, inner = (
        planned(classes, mechanism=mechanism, space=space, delta=0.0, queries=1)
        for space in ("logits", "coordinates")
    )
    steepest = math.sqrt(classes if classes % 2 == 0 else classes - 1 / classes)
    moved = inner.sensitivity.l2
    assert logits.scale == pytest.approx(steepest * moved, rel=1e-8)
    assert inner.scale == pytest.approx(math.sqrt(classes - 1) * moved, rel=1e-8)
    assert inner.logit_noise < logits.logit_noise


def formulas(kind, bound, queries):
    """Scales by the formulas of the theorems, written out here a second time."""
    log, shift = math.log(1e5), {}
    shift["basic"] = 1 / queries

    def advanced(e):
        return e * math.sqrt(2 * queries * log) + queries * e * math.tanh(e / 2)

    def zcdp(e):
        rho = queries * (e * e / 8 if kind == "exponential" else e * e / 2)
        return rho + 2 * math.sqrt(rho * log)

    for name, cost in (("advanced", advanced), ("zcdp", zcdp)):
        low, high = 0.0, 1.0
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if cost(middle) <= 1 else (low, middle)
        shift[name] = low
    return {name: bound / value for name, value in shift.items()}


@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip", "l2-laplace"])
@pytest.mark.parametrize("queries", [1, 3, 20, 1000])
def test_no_textbook_composition_needs_less(mechanism, queries):
    plan = planned(mechanism=mechanism, queries=queries)
    part = plan.sensitivity.l2 if mechanism == "l2-laplace" else plan.sensitivity.range_bound
    for name, scale in formulas(mechanism, part, queries).items():
        assert plan.scale <= scale * (1 + 2e-4), name


def test_permute_and_flip_is_not_composed_as_bounded_range():
    """Its ρ is that of any ε-DP release; ε²/8 is for the exponential mechanism alone."""
    flip, chosen = (planned(mechanism=m, queries=50) for m in ("permute-and-flip", "exponential"))
    assert isinstance(flip.event, PureEvent)
    assert isinstance(chosen.event, BoundedRangeEvent)
    e = flip.event.epsilon
    rho = conversions.zcdp_to_epsilon(50 * e * math.tanh(e / 2), 1e-5)
    assert flip.account.epsilons["zcdp"] == pytest.approx(rho, rel=1e-9)
    assert flip.account.epsilons["zcdp"] > conversions.zcdp_to_epsilon(50 * e * e / 8, 1e-5) * 1.9
    e = chosen.event.epsilon
    rho = conversions.zcdp_to_epsilon(50 * e * e / 8, 1e-5)
    assert chosen.account.epsilons["zcdp"] == pytest.approx(rho, rel=1e-9)


def test_logistic_answers_use_the_l2_bound_where_it_composes_better():
    """ρ = B²/(6s²), whatever the number of classes; at δ = 0 the L1 bound is all there is."""
    many = planned(mechanism="logistic", queries=1000)
    assert many.event.norm == "l2"
    rho = conversions.zcdp_for(1.0, 1e-5) / 1000
    assert many.scale == pytest.approx(many.sensitivity.l2 / math.sqrt(6 * rho), rel=1e-3)
    assert planned(mechanism="logistic", queries=1000, delta=0.0).event.norm == "l1"


@pytest.mark.parametrize(("mechanism", "space"), SPACED)
@pytest.mark.parametrize("kind", list(FilterKind))
def test_a_budget_with_the_filter_takes_exactly_so_many_charges(mechanism, space, kind):
    """Charged one by one, as the ledger adds them up."""
    pure = kind is FilterKind.BASIC
    asked = {"mechanism": mechanism, "space": space, "queries": 23, "filter": kind}
    if pure and mechanism == "gaussian":
        with pytest.raises(NotCoveredError, match="must be covered by the filter"):
            planned(**asked)
        return
    plan = planned(**asked, delta=0.0 if pure else 1e-5)
    budget = Budget.fixed(
        epsilon=1.0, delta=plan.delta, filter=kind, plan=costs_of(plan.whole, plan.relation)
    )
    cost = costs_of(plan.event, plan.relation)
    total, taken = cost, 0
    while budget.holds(total):
        total, taken = total.plus(cost), taken + 1
    assert taken == 23
    assert plan.method == kind
    assert plan.account.epsilon <= 1.0


def test_what_was_released_before_is_paid_for():
    before = GaussianEvent(noise_multiplier=5.0)
    free = planned(mechanism="gaussian", queries=9)
    plan = planned(mechanism="gaussian", queries=9, before=before)
    left = gaussian.shift(1.0, 1e-5) ** 2 - 1 / 25
    assert plan.scale == pytest.approx(3 * plan.sensitivity.l2 / math.sqrt(left), rel=2e-4)
    assert plan.scale > free.scale
    assert plan.whole.events == (before, Repeated(event=plan.event, count=9))


def test_persons_and_replaced_records_need_more_noise():
    alone = planned()
    assert planned(relation="replace-one").scale == pytest.approx(2 * alone.scale, rel=3e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mechanism": "uniform"}, "mechanism must be one of gaussian"),
        ({"mechanism": "exponential", "space": "logits"}, "space must be 'label'"),
        ({"space": "label"}, "space must be 'coordinates' or 'logits'"),
        ({"queries": 0}, "queries must be >= 1"),
        ({"queries": 2.5}, "queries must be a whole number"),
        ({"epsilon": float("nan")}, "epsilon must be > 0"),
        ({"delta": 0.0}, "delta must be > 0 for gaussian"),
        ({"delta": float("nan")}, "delta must be in"),
        ({"filter": "pld"}, "filter must be one of"),
        ({"relation": "as declared with the sensitivity"}, "relation must be add-remove or"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(InputError, match=message) as caught:
        planned(**change)
    assert "\n" not in str(caught.value)
