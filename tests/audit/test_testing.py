"""The line for other people's test suites."""

import math

import pytest

from reticent.audit.mechanism import assert_private
from reticent.randomness import seeded
from reticent.validation import InputError


def response(keep):
    rng = seeded("response")
    return lambda answer: answer if rng.random() < keep else not answer


def test_a_true_claim_passes_and_its_audit_comes_back():
    audit = assert_private(response(0.75), True, False, epsilon=math.log(3), delta=0.0, runs=4_000)
    assert audit.verdict == "not refuted"
    assert audit.bound.confidence == 1 - 1e-6


def test_a_false_claim_fails_in_one_line():
    with pytest.raises(AssertionError, match=r"not private as claimed: ε ≤ 0\.5, δ ≤ 0 ") as caught:
        assert_private(response(0.75), True, False, epsilon=0.5, delta=0.0, runs=4_000)
    assert "\n" not in str(caught.value)


def test_options_are_passed_on():
    audit = assert_private(response(0.75), True, False, epsilon=2.0, delta=0.0, runs=300, beta=0.05)
    assert (audit.runs, audit.bound.confidence) == (300, 0.95)
    with pytest.raises(InputError, match="runs must be >= 100"):
        assert_private(response(0.75), True, False, epsilon=2.0, delta=0.0, runs=3)
