"""Integer noise against its exact probabilities; the tape is read on, never thrown away."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from reticent.mechanisms import integer_noise
from reticent.mechanisms.integer_noise import (
    discrete_gaussian,
    discrete_laplace,
    discrete_logistic,
    fill_from,
)
from reticent.randomness import seeded
from tests.mechanisms.rounded.goodness import DRAWS, counts_fit

PARAMETERS = [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(20)]
WIDER = Fraction(106, 100)  # of the variance
WIDER_SCALE = Fraction(103, 100)


def laplace_weight(k, scale):
    return mpmath.exp(-abs(k) / scale)


def logistic_weight(k, scale):
    return mpmath.sech(k / (2 * scale)) ** 2


def gaussian_weight(k, variance):
    return mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * variance))


SAMPLERS = {
    "laplace": (lambda n, x: discrete_laplace(n, scale=x), laplace_weight, WIDER_SCALE),
    "logistic": (lambda n, x: discrete_logistic(n, scale=x), logistic_weight, WIDER_SCALE),
    "gaussian": (lambda n, x: discrete_gaussian(n, variance=x), gaussian_weight, WIDER),
}


def fits(sample, weight, parameter):
    reach = int(40 * max(parameter, 1))
    value = mpmath.mpf(parameter.numerator) / parameter.denominator
    weights = np.array([float(weight(k, value)) for k in range(reach + 1)])
    weights = np.concatenate([weights[:0:-1], weights])
    cells = np.clip(sample, -reach, reach) + reach
    return counts_fit(np.bincount(cells, minlength=weights.size), weights / weights.sum())


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("parameter", PARAMETERS)
def test_draws_have_their_exact_probabilities(name, parameter):
    draw, weight, _ = SAMPLERS[name]
    assert fits(draw(DRAWS // 2, parameter), weight, parameter)


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_variance_that_is_a_little_too_large_is_rejected(name):
    draw, weight, wider = SAMPLERS[name]
    parameter = Fraction(7, 2)
    assert not fits(draw(DRAWS // 2, parameter * wider), weight, parameter)


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("laplace", Fraction(2**54 - 1, 2**50)),
        ("laplace", Fraction(0.1)),
        ("logistic", Fraction(2**54 - 1, 2**50)),
        ("gaussian", Fraction((2**20 - 1) ** 2, 2**34)),
        ("gaussian", Fraction((2**20 - 3) ** 2, 2**40)),
    ],
)
def test_large_whole_numbers_do_not_overflow(name, parameter):
    draw, weight, _ = SAMPLERS[name]
    sample = draw(100_000, parameter)
    spread = float(parameter) ** (0.5 if name == "gaussian" else 1.0)
    assert np.abs(sample).max() < 40 * max(spread, 1)
    assert parameter > 100 or fits(sample, weight, parameter)


def test_a_wide_laplace_has_its_scale():
    sample = discrete_laplace(200_000, scale=Fraction(2**54))
    assert abs(np.abs(sample / 2.0**54).mean() - 1) < 6 / np.sqrt(200_000)


@pytest.mark.parametrize("tape", [1, 3, 10, 1000])
def test_the_length_of_a_tape_does_not_change_the_draws(tape, monkeypatch):
    """The draws are a function of the endless stream of words, however it is cut."""
    monkeypatch.setattr(integer_noise, "_LARGEST_TAPE", tape)
    cut, whole = np.empty(300, np.int64), np.empty(300, np.int64)
    fill_from(stream(), cut, integer_noise._fill_logistic, (7, 2))
    monkeypatch.setattr(integer_noise, "_LARGEST_TAPE", 10**6)
    fill_from(stream(), whole, integer_noise._fill_logistic, (7, 2))
    assert (cut == whole).all()


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8, 9, 255, 256, 257, 2**31, 2**54, 2**62])
def test_a_uniform_number_is_the_first_that_the_fewest_low_bits_give(n):
    """A power of two rejects no word; the words that others reject are those at or above n."""
    words = stream()(64)
    place = np.zeros(1, np.int64)
    low = [int(word) % 2 ** (n - 1).bit_length() for word in words]
    while place[0] < 32:
        start = int(place[0])
        expected = next(at for at in range(start, 64) if low[at] < n)
        assert integer_noise._uniform((words, place), n) == low[expected]
        assert place[0] == expected + 1
    assert len(set(low)) > 1


def test_the_one_number_below_one_takes_no_word():
    words, place = stream()(4), np.zeros(1, np.int64)
    assert integer_noise._uniform((words, place), 1) == 0
    assert place[0] == 0


def stream():
    rng = seeded("tape")
    return lambda count: rng.integers(2**64, size=count, dtype=np.uint64)


@pytest.mark.parametrize("size", [0, 1, 5, (2, 3), (0, 4), ()])
@pytest.mark.parametrize("name", SAMPLERS)
def test_a_size_may_be_a_shape(name, size):
    sample = SAMPLERS[name][0](size, Fraction(3))
    assert sample.dtype == np.int64
    assert sample.shape == np.empty(size).shape


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: discrete_laplace(1, scale=Fraction(0)), "scale must be > 0 and finite, got 0"),
        (lambda: discrete_logistic(1, scale=Fraction(-1, 2)), "scale must be > 0 and finite, got"),
        (lambda: discrete_laplace(1, scale=Fraction(2**54 + 1)), "scale must be a fraction with"),
        (lambda: discrete_logistic(1, scale=Fraction(1, 2**63)), "scale must be a fraction with"),
        (lambda: discrete_gaussian(1, variance=Fraction(2**54)), "variance must be a fraction of"),
        (lambda: discrete_gaussian(1, variance=Fraction(1, 2**54)), "variance must be a fraction"),
    ],
)
def test_parameters_that_could_overflow_are_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
