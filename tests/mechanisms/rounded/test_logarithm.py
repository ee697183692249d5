import math

import numpy as np
import pytest
from flint import arb, ctx

from reticent.mechanisms.rounded.kernels import TOP, UNIT, log_ratio, midpoint, quarter_turn
from reticent.randomness import seeded


@pytest.fixture(autouse=True)
def precise():
    with ctx.workprec(200):
        yield


def relative_error(m, n):
    """The error of log_ratio in units of 2⁻⁵³·|ln(m/n)|."""
    true = arb(m).log() - arb(n).log()
    found = arb(log_ratio(m, n))
    return float((found - true).abs_upper() / true.abs_lower() / arb(UNIT))


def odd(numbers):
    return [float(number) for number in numbers if number % 2 == 1 and 0 < number < 2**53]


def near(place, width=400):
    return odd(range(int(place) - width, int(place) + width))


HARD = {
    "near one half": near(2**52),
    "near the fold at √2": near(2**53 / math.sqrt(2)) + near(2**52 / math.sqrt(2)),
    "logit folds": near(2**53 * math.sqrt(2) / (1 + math.sqrt(2))) + near(2**53 / (1 + 2**0.5)),
    "left tail": odd(range(1, 1200)) + odd(2**j + 1 for j in range(1, 52)),
    "right tail": odd(range(2**53 - 1200, 2**53)) + odd(2**53 - 2**j + 1 for j in range(1, 52)),
    "powers of two": [m for j in range(12, 53) for m in near(2**j, 20)],
    "anywhere": odd((2 * seeded("log").integers(2**52, size=6000) + 1).tolist()),
}


@pytest.mark.parametrize("where", HARD)
def test_the_logarithm_keeps_its_proven_bound(where):
    assert max(relative_error(m, TOP) for m in HARD[where]) <= 10
    assert max(relative_error(m, TOP - m) for m in HARD[where]) <= 10


def test_the_logarithm_serves_all_normal_floats():
    rng = seeded("log of floats")
    numbers = np.ldexp(rng.uniform(0.5, 1, size=(2000, 2)), rng.integers(-1000, 1000, (2000, 2)))
    assert max(relative_error(float(m), float(n)) for m, n in numbers) <= 10
    assert log_ratio(1.0, 1.0) == 0.0


def test_the_bound_is_not_idle():
    """A kernel that was off by 10υ would be seen: the errors reach beyond a tenth of the bound."""
    assert max(relative_error(m, TOP) for m in HARD["anywhere"]) > 1


@pytest.mark.parametrize("where", HARD)
def test_cosine_and_sine_keep_their_proven_bound(where):
    for m in HARD[where]:
        cosine, sine = quarter_turn(m)
        true_sine, true_cosine = ((arb(m) / arb(TOP) - arb(0.5)) / 2).sin_cos_pi()
        assert (arb(cosine) - true_cosine).abs_upper() <= 4 * arb(UNIT)
        assert (arb(sine) - true_sine).abs_upper() <= 4 * arb(UNIT)


@pytest.mark.parametrize("word", [0, 1, 4095, 4096, 2**63, 2**64 - 4097, 2**64 - 1])
def test_a_midpoint_is_exact(word):
    assert int(midpoint(np.uint64(word))) == 2 * (word >> 12) + 1
