"""What a float projection leaves of a zero sum."""

from fractions import Fraction

import numpy as np
import pytest

from reticent import Sensitivity
from reticent.mechanisms import Gaussian
from reticent.protect.published.zero_sum_floats import (
    careless_releases,
    exact_column_sums,
    projected_noise,
)
from reticent.randomness import seeded
from reticent.validation import InputError

NOISE = Gaussian(scale=0.25, sensitivity=Sensitivity(l2=1.0))


def test_sums_are_exact():
    matrices = seeded("matrices").normal(size=(2, 3, 7, 4)) * 10.0 ** np.arange(4)
    matrices -= matrices.mean(axis=-2, keepdims=True)
    found = exact_column_sums(matrices)
    assert found.shape == (2, 3, 4)
    for place in np.ndindex(2, 3, 4):
        column = matrices[place[0], place[1], :, place[2]]
        assert found[place] == float(sum(map(Fraction, column.tolist())))
    assert (found != matrices.sum(axis=-2)).any()  # plain sums are rounded on the way


def test_most_projected_columns_do_not_sum_to_zero():
    """95 % of ten floats; a binomial share of 20,000 is known to ±.01 at 6 deviations."""
    floats = NOISE.with_float_noise(seeded("floats"))
    sums = exact_column_sums(projected_noise(floats, (10, 20_000)))
    assert (sums != 0).mean() == pytest.approx(0.957, abs=0.01)
    assert np.abs(sums).max() < 1e-14


def test_a_release_is_the_weights_plus_noise_of_small_sums():
    weights = seeded("weights").normal(size=(10, 6))
    weights -= weights.mean(axis=0)
    released = careless_releases(weights, NOISE, 50)
    assert released.shape == (50, 10, 6)
    assert np.abs(exact_column_sums(released)).max() < 1e-13
    assert 0.2 < (released - weights).std() < 0.3


def test_bad_input_gets_one_line():
    with pytest.raises(InputError, match="weights must be a matrix"):
        careless_releases(np.zeros(3), NOISE, 2)
    with pytest.raises(InputError, match="releases must be >= 1"):
        careless_releases(np.zeros((3, 2)), NOISE, 0)
