"""All accountants side by side: each bound holds, and DP-SGD's figures are what they should be."""

import math

import pytest

from reticent.accounting import ACCOUNTANTS, account, side_by_side
from reticent.accounting.comparison import SPLIT, UNSAMPLED
from reticent.guarantee import (
    Composed,
    GaussianEvent,
    LogisticEvent,
    PoissonSampled,
    PureEvent,
    Repeated,
    SampledWithoutReplacement,
)
from reticent.mechanisms.profiles import gaussian
from reticent.studies import dp_sgd

DELTA = 1e-5


def dp_sgd_event(step, rate=0.01, steps=500):
    return Repeated(event=PoissonSampled(event=step, rate=rate), count=steps)


def compared(event, relation="add-remove"):
    return side_by_side(event, relation=relation, delta=DELTA)


@pytest.mark.parametrize("noise", [0.6, 1.0, 4.0])
@pytest.mark.parametrize("rate", [0.001, 0.2])
def test_every_accountant_bounds_what_the_tight_one_finds(noise, rate):
    found = compared(dp_sgd_event(GaussianEvent(noise_multiplier=noise), rate))
    assert set(found) == set(ACCOUNTANTS)
    tight = found["pld"].epsilon
    for name, one in found.items():
        assert one.epsilon is not None, name
        assert one.epsilon >= tight * (1 - 1e-9), name
    assert found["zcdp"].note == found["gdp"].note == UNSAMPLED
    assert found["basic"].note.startswith(SPLIT)


def test_naive_composition_by_hand():
    """Steps of (ε₀, δ₀) with q·T·δ₀ = δ, amplified one by one, added up."""
    rate, steps, noise = 0.01, 500, 1.5
    alone = gaussian.epsilon(1 / noise, DELTA / (rate * steps))
    by_hand = steps * math.log1p(rate * math.expm1(alone))
    found = compared(dp_sgd_event(GaussianEvent(noise_multiplier=noise), rate, steps))
    assert found["basic"].epsilon == pytest.approx(by_hand, rel=1e-6)
    assert found["basic"].epsilon >= by_hand * (1 - 1e-12)


def test_advanced_composition_helps_where_steps_are_cheap():
    found = compared(dp_sgd_event(GaussianEvent(noise_multiplier=20.0), 0.01, 10_000))
    assert found["advanced"].epsilon < found["basic"].epsilon / 5


def test_without_samples_nothing_is_said_of_amplification():
    step = GaussianEvent(noise_multiplier=5.0)
    found = compared(Repeated(event=step, count=50))
    assert found["zcdp"].note == ""
    assert found["basic"].note == SPLIT
    mixed = Composed(events=(step, PureEvent(epsilon=0.1)))
    alone = gaussian.epsilon(1 / 5.0, DELTA)  # the other one needs no share of δ
    assert compared(mixed)["basic"].epsilon == pytest.approx(alone + 0.1, rel=1e-6)


def test_samples_of_a_fixed_size_and_refusals_keep_their_reason():
    inner = LogisticEvent(noise_multiplier=5.0, norm="l2")
    event = SampledWithoutReplacement(event=inner, size=10, population=100)
    found = compared(event, "replace-one")
    assert found["zcdp"].note == UNSAMPLED
    assert found["pld"].epsilon is None
    assert "no pair is known to dominate it" in found["pld"].note


@pytest.mark.parametrize("delta", [1e-4, 1e-6])
@pytest.mark.parametrize("rate", [0.004, 0.1, 1.0])
@pytest.mark.parametrize("steps", [1, 30, 3000])
@pytest.mark.parametrize("noise", [0.3, 1.0, 3.0])
def test_logistic_dp_sgd_is_never_below_its_loss_distribution(noise, steps, rate, delta):
    """One coordinate: L1 = L2, and the pair of logistic noise is the worst there is."""

    def epsilon(norm, methods=None):
        event = dp_sgd_event(LogisticEvent(noise_multiplier=noise, norm=norm), rate, steps)
        return account(event, relation="add-remove", delta=delta, methods=methods).epsilon

    assert epsilon("l2") >= epsilon("l1", ("pld",)) * (1 - 1e-9)


def test_the_table_of_accountants_claims_the_tightest():
    table = dp_sgd.accountants()
    assert [row[0] for row in table.rows[:2]] == ["PLD", "RDP"]
    assert {row[0] for row in table.rows[2:]} == {"GDP", "zCDP", "advanced", "naive"}
    claimed = [[row[0] for row in table.rows if row[column].endswith("*")] for column in (1, 2)]
    assert claimed == [["PLD"], ["RDP"]]
    gaussians = [float(row[1].rstrip("*")) for row in table.rows]
    assert gaussians == sorted(gaussians)


@pytest.mark.slow
def test_logistic_noise_costs_more_against_the_tight_accountant():
    for row in dp_sgd.logistic_noise().rows:
        by_rdp, by_pld = (float(cell.rstrip(" %")) for cell in row[-2:])
        assert by_rdp == pytest.approx(100 * (math.pi**2 / 9 - 1), abs=0.1)
        assert by_pld > 2 * by_rdp
