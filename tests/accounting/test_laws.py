"""What must hold for every kind of event and every accountant that covers it."""

import math

import pytest

from reticent.accounting import ACCOUNTANTS, account
from reticent.accounting.account import theorem_line
from reticent.guarantee import (
    Composed,
    GaussianEvent,
    Grade,
    Mixture,
    Parallel,
    PoissonSampled,
    PostProcessed,
    PureEvent,
    Relation,
    Repeated,
    SampledWithoutReplacement,
)
from reticent.guarantee.events import EVENT_TYPES
from reticent.mechanisms.profiles import gaussian
from tests.accounting.events import FAMILIES, RELEASES, Family
from tests.accounting.events import gaussian as gaussian_event

DELTA = 1e-5


def accounts(family: Family, noise: float, wrap=lambda event: event):
    return account(wrap(family.event(noise)), relation=family.relation, delta=DELTA)


def test_every_event_type_is_among_the_families():
    seen = set()

    def visit(event):
        seen.add(type(event))
        for part in (*getattr(event, "events", ()), getattr(event, "event", None)):
            if part is not None:
                visit(part)

    for family in FAMILIES:
        visit(family.event(1.0))
    assert seen == set(EVENT_TYPES.values())


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_composing_k_times_equals_repeating_k(family):
    composed = accounts(family, 2.0, lambda event: Composed(events=(event,) * 5))
    repeated = accounts(family, 2.0, lambda event: Repeated(event=event, count=5))
    nested = accounts(
        family,
        2.0,
        lambda event: Composed(events=(Repeated(event=event, count=2), event, event, event)),
    )
    assert composed.epsilons == repeated.epsilons
    assert composed.epsilons == pytest.approx(nested.epsilons, rel=1e-9)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_more_releases_cost_more_and_more_noise_costs_less(family):
    base = accounts(family, 2.0)
    for name, epsilon in accounts(
        family, 2.0, lambda event: Repeated(event=event, count=3)
    ).epsilons.items():
        assert epsilon > base.epsilons[name]
    for name, epsilon in accounts(family, 3.0).epsilons.items():
        assert epsilon < base.epsilons[name] or epsilon == 0


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_the_best_is_at_most_each_and_is_what_is_claimed(family):
    found = accounts(family, 1.0)
    assert found.epsilon == min(found.epsilons.values()) == found.epsilons[found.method]
    assert set(found.epsilons) | set(found.refusals) == set(ACCOUNTANTS)
    assert all("\n" not in reason for reason in found.refusals.values())
    claim = found.guarantee(unit="one image")
    assert claim.epsilon == found.epsilon
    assert claim.grade is Grade.DECLARED
    assert claim.relation is found.relation
    assert claim.checked == (theorem_line(found.method),)
    assert claim.stated == ("noise multipliers and sensitivities as given by the caller",)


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_post_processing_and_equal_mixtures_are_free(family):
    base = accounts(family, 1.0).epsilons
    assert accounts(family, 1.0, lambda event: PostProcessed(event=event)).epsilons == base
    assert accounts(family, 1.0, lambda event: Mixture(events=(event, event))).epsilons == base


@pytest.mark.parametrize("family", RELEASES, ids=str)
def test_sampling_costs_less_and_all_records_are_no_sampling(family):
    event = family.event(1.0)
    for whole, part, relation in (
        (
            PoissonSampled(event=event, rate=1.0),
            PoissonSampled(event=event, rate=0.1),
            Relation.ADD_REMOVE,
        ),
        (
            SampledWithoutReplacement(event=event, size=50, population=50),
            SampledWithoutReplacement(event=event, size=5, population=50),
            Relation.REPLACE_ONE,
        ),
    ):
        plain = account(event, relation=relation, delta=DELTA)
        assert account(whole, relation=relation, delta=DELTA).epsilons == plain.epsilons
        for count in (1, 30):
            sampled = account(Repeated(event=part, count=count), relation=relation, delta=DELTA)
            unsampled = account(Repeated(event=event, count=count), relation=relation, delta=DELTA)
            for name, epsilon in sampled.epsilons.items():
                assert epsilon <= unsampled.epsilons[name] * (1 + 1e-6)


@pytest.mark.parametrize("family", RELEASES, ids=str)
def test_the_rate_one_limit_is_approached_from_below(family):
    event = Repeated(event=PoissonSampled(event=family.event(1.0), rate=1 - 1e-9), count=3)
    sampled = account(event, relation="add-remove", delta=DELTA)
    plain = account(Repeated(event=family.event(1.0), count=3), relation="add-remove", delta=DELTA)
    for name in {"basic", "pld"} & set(sampled.epsilons):
        assert sampled.epsilons[name] == pytest.approx(plain.epsilons[name], rel=1e-3)


@pytest.mark.parametrize("delta", [0.1, 1e-5, 1e-12, 1e-30])
@pytest.mark.parametrize("noise", [0.05, 1.0, 30.0])
def test_no_method_is_below_the_exact_gaussian(noise, delta):
    """Compositions of Gaussian noise have the exact δ(ε) of Balle & Wang 2018."""
    event = Composed(
        events=(
            Repeated(event=gaussian_event(2 * noise), count=4),
            PostProcessed(event=Repeated(event=gaussian_event(4 * noise), count=16)),
        )
    )
    exact = gaussian.epsilon(math.sqrt(2) / noise, delta)
    found = account(event, relation="as declared with the sensitivity", delta=delta)
    assert set(found.epsilons) == {"zcdp", "gdp", "rdp", "pld"}
    for epsilon in found.epsilons.values():
        assert epsilon >= exact
    assert found.epsilons["gdp"] <= exact * (1 + 1e-12)
    assert found.epsilons["pld"] <= exact * (1 + 1e-4) + 1e-12


def kov(pure: float, count: int, epsilon: float) -> float:
    """δ(ε) of the optimal composition of pure releases (Kairouz et al. 2015, Theorem 3.3)."""
    total = 0.0
    for heads in range(count + 1):
        loss = (2 * heads - count) * pure
        if loss > epsilon:
            chance = math.comb(count, heads) * math.exp(heads * pure)
            total += chance / (1 + math.exp(pure)) ** count * -math.expm1(epsilon - loss)
    return total


@pytest.mark.parametrize(("pure", "count"), [(0.1, 40), (1.0, 10), (3.0, 4), (0.5, 1)])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-10])
def test_no_method_is_below_the_optimal_composition_of_pure_releases(pure, count, delta):
    event = Repeated(event=PureEvent(epsilon=pure), count=count)
    found = account(event, relation="replace-one", delta=delta)
    assert set(found.epsilons) == set(ACCOUNTANTS)
    for epsilon in found.epsilons.values():
        assert kov(pure, count, epsilon) <= delta * (1 + 1e-9)
    tight = found.epsilons["pld"]
    assert kov(pure, count, tight * 0.999 - 1e-4) > delta or tight == 0


@pytest.mark.parametrize("method", [name for name in ACCOUNTANTS if name != "pld"])
def test_a_choice_costs_the_larger_part(method):
    if method in ("basic", "advanced"):
        cheap, dear = PureEvent(epsilon=0.5), PureEvent(epsilon=1.0)
    else:
        cheap, dear = GaussianEvent(noise_multiplier=4.0), GaussianEvent(noise_multiplier=2.0)
    alone = account(dear, relation="add-remove", delta=DELTA, methods=[method])
    for node in (Parallel, Mixture):
        both = account(
            node(events=(cheap, dear)), relation="add-remove", delta=DELTA, methods=[method]
        )
        assert both.epsilon == alone.epsilon


def test_composition_comes_before_amplification():
    """Amplifying two releases on one subsample apart gives a smaller, false number."""
    event = GaussianEvent(noise_multiplier=0.6)

    def sampled(inner):
        return PoissonSampled(event=inner, rate=0.01)

    right = sampled(Composed(events=(event, event)))
    wrong = Composed(events=(sampled(event), sampled(event)))
    one = sampled(GaussianEvent(noise_multiplier=0.6 / math.sqrt(2)))
    for method in ("rdp", "pld"):
        joint, apart, single = (
            account(
                Repeated(event=part, count=500),
                relation="add-remove",
                delta=DELTA,
                methods=[method],
            ).epsilon
            for part in (right, wrong, one)
        )
        assert joint == pytest.approx(single, rel=1e-6)
        assert apart < 0.6 * joint


def test_pure_routes_alone_answer_at_delta_zero():
    pure = account(Repeated(event=PureEvent(epsilon=0.3), count=3), relation="add-remove", delta=0)
    assert pure.epsilon == pytest.approx(0.9)
    assert set(pure.epsilons) == {"basic", "rdp"}
    sampled = PoissonSampled(event=PureEvent(epsilon=2.0), rate=0.1)
    found = account(sampled, relation="add-remove", delta=0)
    assert found.epsilons == pytest.approx(
        dict.fromkeys(("basic", "rdp"), math.log1p(0.1 * math.expm1(2.0)))
    )
