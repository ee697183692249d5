"""Faults that planted mutants showed no other test to find (``make mutants``)."""

import numpy as np
import pytest

from reticent.guarantee import Sensitivity
from reticent.mechanisms import DiscreteGaussian, DiscreteLaplace, DiscreteLogistic
from reticent.mechanisms.profiles import pure
from reticent.mechanisms.profiles.conversions import rdp_to_epsilon

DRAWS = 20_000


@pytest.mark.parametrize(
    ("kind", "variance"),
    [
        (DiscreteGaussian, 144.0),
        (DiscreteLaplace, 2 * 144.0),
        (DiscreteLogistic, np.pi**2 / 3 * 144.0),
    ],
)
def test_integer_noise_is_as_wide_as_it_says(kind, variance):
    """20,000 draws: a variance that is 8 % off is 6σ away (kurtosis ≤ 6), chance below 1e-8.

    A Gaussian of variance 2s in the place of s² has a sixth of it at s = 12."""
    sensitivity = Sensitivity(l1=1.0, l2=1.0)
    noise = kind(scale=12.0, sensitivity=sensitivity)
    drawn = noise.release(np.zeros(DRAWS, dtype=np.int64))
    assert np.var(drawn) == pytest.approx(variance, rel=0.12)


def test_small_divergences_give_a_small_epsilon():
    epsilon, _ = rdp_to_epsilon([2.0, 64.0, 4096.0], [1e-6, 3e-5, 2e-3], 1e-5)
    assert 0 < epsilon < 0.1


def test_a_delta_that_allows_everything_leaves_no_epsilon():
    assert pure.epsilon(0.5, 0.9) == 0.0
