"""What has no theorem is refused in one line; what is no number is refused too."""

import math
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.accounting import ACCOUNTANTS, PrivacyCost, account, calibrate_noise, gdp, zcdp
from reticent.guarantee import (
    Composed,
    Event,
    GaussianEvent,
    LaplaceEvent,
    LogisticEvent,
    Mixture,
    Parallel,
    PoissonSampled,
    PureEvent,
    Relation,
    Repeated,
    SampledWithoutReplacement,
    ZcdpEvent,
)
from reticent.validation import InputError, NotCoveredError

PURE = PureEvent(epsilon=1.0)
GAUSSIAN = GaussianEvent(noise_multiplier=1.0)


@dataclass(frozen=True)
class StrangeEvent(Event):
    """An event that nobody has a theorem for."""


@pytest.mark.parametrize("name", ACCOUNTANTS)
@pytest.mark.parametrize(
    "wrap",
    [
        lambda event: event,
        lambda event: Composed(events=(PURE, event)),
        lambda event: Repeated(event=event, count=2),
        lambda event: PoissonSampled(event=event, rate=0.5),
    ],
)
def test_an_unknown_event_is_refused_wherever_it_stands(name, wrap):
    with pytest.raises(NotCoveredError, match="StrangeEvent") as caught:
        ACCOUNTANTS[name].value(wrap(StrangeEvent()), Relation.ADD_REMOVE)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ACCOUNTANTS)
@pytest.mark.parametrize(
    ("event", "right"),
    [
        (Parallel(events=(PURE, PURE)), Relation.ADD_REMOVE),
        (PoissonSampled(event=PURE, rate=0.5), Relation.ADD_REMOVE),
        (PoissonSampled(event=PURE, rate=1.0), Relation.ADD_REMOVE),
        (SampledWithoutReplacement(event=PURE, size=1, population=9), Relation.REPLACE_ONE),
        (SampledWithoutReplacement(event=PURE, size=9, population=9), Relation.REPLACE_ONE),
    ],
)
def test_sampling_and_partitions_hold_under_one_relation_only(name, event, right):
    for relation in set(Relation) - {right}:
        with pytest.raises(InputError, match=f"relation must be {right}"):
            ACCOUNTANTS[name].value(Repeated(event=event, count=2), relation)


@pytest.mark.parametrize(
    ("method", "event", "reason"),
    [
        ("basic", GAUSSIAN, "GaussianEvent"),
        ("advanced", ZcdpEvent(rho=0.1), "ZcdpEvent"),
        ("basic", LogisticEvent(noise_multiplier=1.0, norm="l2"), "norm l2"),
        ("gdp", LaplaceEvent(noise_multiplier=1.0, norm="l2"), "norm l2"),
        ("pld", LaplaceEvent(noise_multiplier=1.0, norm="l2"), "norm l2"),
        ("pld", LogisticEvent(noise_multiplier=1.0, norm="l2"), "norm l2"),
        ("pld", ZcdpEvent(rho=0.1), "ZcdpEvent"),
        ("zcdp", PoissonSampled(event=GAUSSIAN, rate=0.1), "sampled"),
        ("gdp", PoissonSampled(event=GAUSSIAN, rate=0.1), "sampled"),
        ("pld", Mixture(events=(GAUSSIAN, PURE)), "different"),
        ("pld", PoissonSampled(event=Composed(events=(GAUSSIAN, PURE)), rate=0.1), "several"),
        ("pld", GaussianEvent(noise_multiplier=1e-9), "at most 1000"),
    ],
)
def test_a_method_says_why_it_does_not_cover(method, event, reason):
    with pytest.raises(NotCoveredError, match=reason):
        account(event, relation="add-remove", delta=1e-5, methods=[method])


def test_where_no_method_covers_all_reasons_are_given():
    with pytest.raises(NotCoveredError, match=r"no method covers the event: .*gdp .*; rdp "):
        account(GAUSSIAN, relation="add-remove", delta=0.0)


def test_bad_arguments_are_refused():
    for wrong in ("event", None, {"type": "Gaussian"}):
        with pytest.raises(InputError, match="event must be an Event"):
            account(wrong, relation="add-remove", delta=1e-5)
    with pytest.raises(InputError, match="relation must be one of"):
        account(GAUSSIAN, relation="neighbours", delta=1e-5)
    with pytest.raises(InputError, match="method must be one of"):
        account(GAUSSIAN, relation="add-remove", delta=1e-5, methods=["prv"])


def test_proven_cannot_be_claimed_for_an_account():
    with pytest.raises(InputError, match="at most declared"):
        account(GAUSSIAN, relation="add-remove", delta=1e-5).guarantee(grade="proven")


not_a_positive_number = st.one_of(
    st.just(math.nan), st.just(math.inf), st.floats(max_value=0.0), st.none(), st.booleans()
)


@given(value=not_a_positive_number)
def test_no_calibration_for_an_epsilon_that_is_none(value):
    with pytest.raises(InputError, match="epsilon must be"):
        calibrate_noise(
            lambda noise: GaussianEvent(noise_multiplier=noise),
            epsilon=value,
            delta=1e-5,
            relation="add-remove",
        )


@given(value=st.one_of(st.just(math.nan), st.floats(min_value=1.0), st.floats(max_value=-1e-300)))
def test_no_account_for_a_delta_that_is_none(value):
    with pytest.raises(InputError, match="delta must be"):
        account(GAUSSIAN, relation="add-remove", delta=value)
    with pytest.raises(InputError, match="delta must be"):
        calibrate_noise(
            lambda noise: GaussianEvent(noise_multiplier=noise),
            epsilon=1.0,
            delta=value,
            relation="add-remove",
        )


@given(value=not_a_positive_number)
def test_group_sizes_and_parameters_are_checked(value):
    if isinstance(value, float) and value == 0:
        value = -1.0
    for group in (gdp.group, zcdp.group):
        with pytest.raises(InputError):
            group(value, 2)
        with pytest.raises(InputError):
            group(1.0, value)


def test_groups():
    assert gdp.group(0.5, 3) == pytest.approx(1.5)
    assert zcdp.group(0.5, 3) == pytest.approx(4.5)


noises = st.floats(min_value=1e-300, max_value=1e300)


@settings(max_examples=40)
@pytest.mark.slow
@given(
    noise=noises,
    kind=st.sampled_from([GaussianEvent, LaplaceEvent, LogisticEvent]),
    count=st.integers(1, 10**9),
    rate=st.floats(min_value=1e-300, max_value=1.0),
    delta=st.floats(min_value=1e-100, max_value=0.5),
)
def test_every_valid_event_has_a_true_answer_or_a_reason(noise, kind, count, rate, delta):
    event = Repeated(
        event=PoissonSampled(event=kind(noise_multiplier=noise), rate=rate), count=count
    )
    try:
        found = account(event, relation="add-remove", delta=delta)
    except NotCoveredError:
        return
    assert isinstance(found, PrivacyCost)
    assert all(0 <= epsilon < math.inf for epsilon in found.epsilons.values())
