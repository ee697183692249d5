"""The lowest bits of floats, and the whole numbers that samplers begin with."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.audit.events import (
    laplace_misfits,
    logistic_misfits,
    lowest_bits,
    reached_by_logistic,
)
from reticent.mechanisms.rounded import rounded_laplace, rounded_logistic
from reticent.randomness import seeded

PLACES = [(0.0, 1.0), (1 / 3, 4 / 3), (100.0, 101.0)]


@given(st.floats(allow_nan=False, allow_infinity=False).filter(lambda value: value != 0))
def test_the_lowest_bit_is_the_largest_power_of_two_that_divides(value):
    exponent = int(lowest_bits(np.array([value]))[0])
    assert (Fraction(value) / Fraction(2) ** exponent).denominator == 1
    assert (Fraction(value) / Fraction(2) ** (exponent + 1)).denominator == 2


def test_what_has_no_lowest_bit():
    assert np.isnan(lowest_bits(np.array([0.0, -0.0, np.nan, np.inf, -np.inf]))).all()


def laplace(rng, answer, size):
    return rng.laplace(answer, 0.7, size)


def added_laplace(rng, answer, size):
    return answer + rng.laplace(0.0, 0.7, size)


def logistic(rng, answer, size):
    return rng.logistic(answer, 0.7, size)


@pytest.mark.parametrize(("one", "other"), PLACES)
@pytest.mark.parametrize(
    ("sampler", "misfits"),
    [
        (laplace, laplace_misfits),
        (added_laplace, laplace_misfits),
        (logistic, logistic_misfits),
    ],
)
def test_textbook_noise_fits_its_own_answer_alone(sampler, misfits, one, other):
    outputs = sampler(seeded("misfit"), one, 200_000)
    right = misfits(outputs, np.array([one]), 0.7)
    wrong = misfits(outputs, np.array([other]), 0.7)
    assert (right > 0).sum() > 200
    assert right.max() < 1.2
    assert (wrong > 1.2).sum() > 200


@pytest.mark.parametrize(
    ("release", "misfits"),
    [(rounded_laplace, laplace_misfits), (rounded_logistic, logistic_misfits)],
)
def test_our_noise_fits_no_answer_better_than_another(release, misfits):
    outputs = release(np.zeros(200_000), scale=0.7)
    seen = np.abs(outputs) > 4  # where rounding hides nothing
    shares = [
        (misfits(outputs[seen], np.array([answer]), 0.7) > 1.2).mean() for answer in (0.0, 1e-3)
    ]
    # Some 1,000 outputs or more: 0.1 is six standard deviations and more.
    assert min(shares) > 0.3
    assert abs(shares[0] - shares[1]) < 0.15


class TestReachedByLogistic:
    def test_an_output_is_reached_from_its_own_answer(self):
        u = np.random.default_rng(0).integers(1, 2**53, size=5_000) / 2**53
        for answer, scale in ((0.0, 1.0), (1.0, 1.0), (100.0, 3.0), (-0.3, 0.7)):
            outputs = answer + scale * np.log(u / (1 - u))
            assert reached_by_logistic(outputs, answer, scale).all()

    def test_most_outputs_are_not_reached_from_a_neighbour(self):
        """79 %; a share of 5,000 is known to ±.04 at 6 deviations."""
        u = np.random.default_rng(1).integers(1, 2**53, size=5_000) / 2**53
        outputs = 0.0 + np.log(u / (1 - u))
        reached = reached_by_logistic(outputs, 1.0, 1.0)
        assert 1 - reached.mean() == pytest.approx(0.79, abs=0.04)
