"""The value: what it prints, refutes and refuses; how a risk is divided."""

import dataclasses
import json

import pytest

from reticent.audit.error_counts import clopper_pearson_epsilon, gdp_epsilon, jeffreys_epsilon
from reticent.audit.lower_bound import ErrorCounts, GuessCounts, LowerBound, divided, epsilon_of_mu
from reticent.audit.one_run import one_run_epsilon, one_run_gdp_epsilon
from reticent.mechanisms.profiles import gaussian
from reticent.validation import InputError

COUNTS = ErrorCounts(false_positives=1, runs_without=10, false_negatives=2, runs_with=20)


def made(**fields):
    given = {"epsilon": 1.0, "delta": 1e-5, "confidence": 0.95, "method": "m", "evidence": COUNTS}
    return LowerBound(**(given | fields))


class TestPrint:
    @pytest.mark.parametrize(
        ("bound", "line"),
        [
            (
                clopper_pearson_epsilon(10, 1000, 800, 1000, delta=1e-5, beta=0.05),
                "ε ≥ 2.2606 at δ = 1e-5 with 95 % confidence (many runs, Clopper–Pearson)",
            ),
            (
                gdp_epsilon(10, 1000, 800, 1000, delta=1e-5, beta=0.05),
                "ε ≥ 5.1906 at δ = 1e-5 with 95 % confidence (many runs, Clopper–Pearson; "
                "conditional on Gaussian DP)",
            ),
            (
                jeffreys_epsilon(10, 1000, 800, 1000, delta=1e-5, beta=0.05),
                "ε ≥ 2.4961 at δ = 1e-5 with 95 % credibility (many runs, Jeffreys' prior; "
                "not a confidence statement)",
            ),
            (
                one_run_epsilon(1000, 100, 90, delta=0.0, beta=0.01),
                "ε ≥ 1.4413 at δ = 0 with 99 % confidence (one run; neighbours: add-remove)",
            ),
            (
                one_run_gdp_epsilon(1000, 100, 90, delta=1e-5, beta=0.05),
                "ε ≥ 2.4564 at δ = 1e-5 with 95 % confidence (one run, f-DP; "
                "conditional on Gaussian DP; neighbours: add-remove)",
            ),
        ],
    )
    def test_each_bound_says_what_it_is(self, bound, line):
        assert str(bound) == line

    def test_everything_is_rounded_down(self):
        bound = made(epsilon=1.99999, delta=1.99999e-5, confidence=1 - 0.05 / 7)
        assert str(bound).startswith("ε ≥ 1.9999 at δ = 1.9999e-5 with 99.285 % confidence")

    @pytest.mark.parametrize("beta", [0.01, 0.021, 0.036, 0.05, 0.058, 0.069, 0.1, 1e-6])
    def test_a_round_confidence_stays_round(self, beta):
        exact = f"{100 - 100 * beta:.6f}".rstrip("0").rstrip(".")
        assert f" {exact} % " in str(made(confidence=1 - beta))

    def test_evidence_in_words(self):
        assert str(COUNTS) == (
            "1 of 10 runs without the record taken for runs with it, 2 of 20 the other way round"
        )
        guesses = GuessCounts(canaries=1000, guesses=100, correct=90)
        assert str(guesses) == "90 of 100 guesses right, 1,000 canaries"


class TestRefutes:
    def test_a_smaller_epsilon_at_no_larger_delta(self):
        bound = made(epsilon=1.0, delta=1e-5)
        assert bound.refutes(epsilon=0.99, delta=1e-5)
        assert bound.refutes(epsilon=0.99, delta=0.0)
        assert not bound.refutes(epsilon=1.0, delta=1e-5)
        assert not bound.refutes(epsilon=0.5, delta=1.1e-5)

    @pytest.mark.parametrize("weak", [{"conditional": "Gaussian DP"}, {"credible": True}])
    def test_only_a_bound_for_all_mechanisms_does(self, weak):
        assert not made(**weak).refutes(epsilon=0.5, delta=1e-5)
        assert made().holds_for_all
        assert not made(**weak).holds_for_all

    @pytest.mark.parametrize("claim", [{"epsilon": -1, "delta": 0}, {"epsilon": 1, "delta": 2}])
    def test_a_claim_that_is_none(self, claim):
        with pytest.raises(InputError):
            made().refutes(**claim)


def test_it_is_frozen_and_plain():
    bound = made(relation="add-remove", notes=["a note"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        bound.epsilon = 5.0
    plain = json.loads(json.dumps(bound.to_dict()))
    assert plain["relation"] == "add-remove"
    assert plain["notes"] == ["a note"]
    assert plain["evidence"]["runs_with"] == 20


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"epsilon": -0.1}, "epsilon must be >= 0"),
        ({"epsilon": float("nan")}, "epsilon must be >= 0"),
        ({"delta": 1.0}, "delta must be in"),
        ({"confidence": 1.0}, "confidence must be in"),
        ({"method": "two\nlines"}, "method must be a text of one line"),
        ({"conditional": ""}, "conditional must be a non-empty text"),
        ({"mu": -1.0}, "mu must be >= 0"),
        ({"relation": "cousins"}, "relation must be one of"),
        ({"notes": "one"}, "notes must be a list"),
    ],
)
def test_refusals(fields, message):
    with pytest.raises(InputError, match=message) as caught:
        made(**fields)
    assert "\n" not in str(caught.value)


class TestDivided:
    def test_the_parts_sum_to_the_risk(self):
        assert divided(0.05, 1) == 0.05
        assert 7 * divided(0.05, 7) == pytest.approx(0.05)

    @pytest.mark.parametrize("beta", [0.0, 0.5, 1.0, -0.1, 2, float("nan"), True, "0.05", None])
    def test_what_is_no_risk(self, beta):
        with pytest.raises(InputError, match="beta must be"):
            divided(beta, 2)

    @pytest.mark.parametrize("claims", [0, -1, 1.5, True])
    def test_what_is_no_number_of_claims(self, claims):
        with pytest.raises(InputError, match="claims must be"):
            divided(0.05, claims)


@pytest.mark.parametrize("mu", [0.0, 1e-6, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1])
def test_the_epsilon_of_mu_is_never_too_large(mu, delta):
    epsilon = epsilon_of_mu(mu, delta)
    assert epsilon == pytest.approx(gaussian.epsilon(mu, delta), abs=1e-10)
    assert epsilon == 0 or gaussian.delta(mu, epsilon) >= delta
