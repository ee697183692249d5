"""Sample sizes of the sensitivity sampler: published values and a simulation."""

import math

import numpy as np
import pytest

from reticent.neighbours import (
    delivered_gamma,
    exchangeable_gamma,
    gamma_of,
    order_statistic,
    pairs_for,
)
from reticent.validation import InputError


@pytest.mark.parametrize(("gamma", "pairs"), [(0.1, 285), (0.01, 41_971)])
def test_published_sample_sizes(gamma, pairs):
    """γ = .1 → 285 is the value that the R package diffpriv prints."""
    assert pairs_for(gamma).pairs == pairs


def test_the_two_directions_agree():
    for pairs in (50, 285, 5_000):
        gamma, rho = gamma_of(pairs)
        assert order_statistic(pairs, gamma=gamma * (1 + 1e-12), rho=rho) == pairs
        needed, best = pairs_for(gamma)
        assert needed <= pairs + 1
        assert 0 < best < min(gamma, 0.5)


def test_rho_is_the_best_choice():
    pairs, rho = pairs_for(0.05)
    for other in (rho * 0.8, rho * 1.2):
        assert math.log(1 / other) / (2 * (0.05 - other) ** 2) >= pairs - 1


def test_delivered_gamma_covers():
    """In ≤ β of 4,000 samplers the exceedance is larger; P(≥ 5σ above β by chance) < 1e-6."""
    rng = np.random.default_rng(7)
    pairs, k, beta, runs = 60, 58, 0.05, 4_000
    delivered = np.sort(rng.random((runs, pairs)), axis=1)[:, k - 1]
    missed = np.mean(1 - delivered > delivered_gamma(pairs, k, beta=beta))
    slack = 5 * math.sqrt(beta * (1 - beta) / runs)
    assert beta - slack <= missed <= beta + slack
    assert np.mean(1 - delivered) == pytest.approx(exchangeable_gamma(pairs, k), rel=0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pairs_for(0.0), r"gamma must be in \(0, 1\)"),
        (lambda: pairs_for(float("nan")), r"gamma must be in \(0, 1\), got nan"),
        (lambda: gamma_of(0), "pairs must be >= 1"),
        (lambda: gamma_of(1), "pairs must give a gamma < 1"),
        (lambda: order_statistic(10, gamma=0.1, rho=0.01), "pairs must be >= 285"),
        (lambda: order_statistic(10, gamma=0.1, rho=0.2), "rho must be < min"),
        (lambda: exchangeable_gamma(5, 6), "k must be <= pairs = 5, got 6"),
        (lambda: delivered_gamma(5, 5, beta=1.0), "beta must be in"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
