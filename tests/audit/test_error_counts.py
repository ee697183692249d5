"""Bounds from error counts: vectors, exact coverage over all counts, and the posterior by draws."""

import functools

import numpy as np
import pytest
from scipy import special, stats

from reticent.audit.error_counts import (
    clopper_pearson_epsilon,
    gdp_epsilon,
    highest_rate,
    jeffreys_epsilon,
    log_ratio,
    separation,
)
from reticent.mechanisms.profiles import gaussian
from reticent.validation import InputError

EVERY = [clopper_pearson_epsilon, gdp_epsilon, jeffreys_epsilon]
COMMON = {"delta": 1e-5, "beta": 0.05}


class TestVectors:
    @pytest.mark.parametrize(
        ("counts", "epsilon"), [((10, 1000, 800, 1000), 2.2606), ((0, 100, 0, 100), 3.2813)]
    )
    def test_clopper_pearson(self, counts, epsilon):
        assert round(clopper_pearson_epsilon(*counts, **COMMON).epsilon, 4) == epsilon

    def test_gaussian(self):
        bound = gdp_epsilon(10, 1000, 800, 1000, **COMMON)
        assert (round(bound.mu, 4), round(bound.epsilon, 4)) == (1.1577, 5.1906)
        assert bound.conditional == "Gaussian DP"


@pytest.mark.parametrize("bound", EVERY)
class TestEach:
    def test_exchanged_errors_say_the_same(self, bound):
        one = bound(10, 300, 150, 200, **COMMON)
        assert bound(150, 200, 10, 300, **COMMON).epsilon == pytest.approx(one.epsilon)

    def test_fewer_errors_say_more(self, bound):
        found = [bound(errors, 50, 2 * errors, 60, **COMMON).epsilon for errors in range(0, 26, 5)]
        assert found == sorted(found, reverse=True)
        assert found[0] > found[1] > 0

    def test_more_risk_says_more(self, bound):
        found = [bound(3, 50, 20, 60, delta=1e-5, beta=b).epsilon for b in (1e-9, 0.01, 0.1, 0.4)]
        assert found == sorted(found)
        assert found[-1] > found[-2]

    @pytest.mark.parametrize("counts", [(50, 50, 60, 60), (50, 50, 0, 60), (25, 50, 30, 60)])
    def test_guessing_says_nothing(self, bound, counts):
        assert bound(*counts, **COMMON).epsilon == 0.0

    def test_one_run_of_each_says_nothing(self, bound):
        assert bound(1, 1, 0, 1, **COMMON).epsilon == 0.0

    def test_delta_near_one_says_nothing(self, bound):
        assert bound(0, 100, 0, 100, delta=0.999, beta=0.05).epsilon == 0.0

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"false_positives": 51}, "false_positives must be at most runs_without = 50, got 51"),
            ({"false_negatives": 61}, "false_negatives must be at most runs_with = 60, got 61"),
            ({"false_positives": -1}, "false_positives must be >= 0"),
            ({"false_positives": 1.0}, "false_positives must be a whole number"),
            ({"runs_with": 0, "false_negatives": 0}, "runs_with must be >= 1"),
            ({"beta": 0.0}, "beta must be in"),
            ({"beta": 1.0}, "beta must be in"),
            ({"beta": np.nan}, "beta must be in"),
            ({"delta": 1.0}, "delta must be in"),
            ({"delta": np.nan}, "delta must be in"),
        ],
    )
    def test_refusals(self, bound, arguments, message):
        given = {
            "false_positives": 3,
            "runs_without": 50,
            "false_negatives": 20,
            "runs_with": 60,
            **COMMON,
        }
        with pytest.raises(InputError, match=message) as caught:
            bound(**(given | arguments))
        assert "\n" not in str(caught.value)


def test_gaussian_noise_is_never_pure():
    with pytest.raises(InputError, match=r"delta must be in \(0, 1\)"):
        gdp_epsilon(0, 100, 0, 100, delta=0.0, beta=0.05)


def weights(rate, runs):
    return stats.binom.pmf(np.arange(runs + 1), runs, rate)


def misses(merit, rates, sizes, truth, delta, beta):
    """The exact probability that a bound, or μ, lies above the truth."""
    limits = (highest_rate(np.arange(n + 1), n, beta / 2) for n in sizes)
    fpr, fnr = np.meshgrid(*limits, indexing="ij")
    above = np.maximum(merit(fpr, fnr, delta), 0.0) > truth + 1e-12
    return weights(rates[0], sizes[0]) @ above @ weights(rates[1], sizes[1])


@pytest.mark.parametrize("beta", [0.4, 0.05, 1e-3])
@pytest.mark.parametrize("sizes", [(5, 5), (40, 40), (100, 15)])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("fpr", [0.001, 0.05, 0.3, 0.6])
class TestExactCoverage:
    """Rates on the boundary of what the mechanism allows: the worst that there is."""

    @pytest.mark.parametrize("delta", [0.0, 0.05])
    def test_every_mechanism(self, fpr, epsilon, sizes, beta, delta):
        allowed = 1 - delta - np.exp(epsilon) * fpr, np.exp(-epsilon) * (1 - delta - fpr)
        rates = fpr, max(allowed)
        assert misses(log_ratio, rates, sizes, epsilon, delta, beta) <= beta
        assert misses(log_ratio, rates[::-1], sizes, epsilon, delta, beta) <= beta

    def test_gaussian_noise(self, fpr, epsilon, sizes, beta):
        mu = epsilon
        rates = fpr, special.ndtr(-special.ndtri(fpr) - mu)
        assert misses(separation, rates, sizes, mu, 0.0, beta) <= beta


def test_the_limits_are_not_overly_wide():
    fpr = highest_rate(np.arange(401), 400, 0.025)
    assert 0.01 < weights(0.1, 400) @ (fpr < 0.1) <= 0.025


class TestPosterior:
    @pytest.mark.parametrize("counts", [(10, 1000, 800, 1000), (0, 100, 0, 100), (2, 10, 50, 900)])
    @pytest.mark.parametrize("beta", [0.05, 0.3])
    def test_it_is_the_quantile_of_draws(self, counts, beta):
        draws = 400_000
        rng = np.random.default_rng(3)
        rates = (
            rng.beta(hits + 0.5, of - hits + 0.5, draws) for hits, of in (counts[:2], counts[2:])
        )
        epsilon = jeffreys_epsilon(*counts, delta=1e-5, beta=beta).epsilon
        below = int((np.maximum(log_ratio(*rates, 1e-5), 0.0) <= epsilon).sum())
        assert stats.binomtest(below, draws, beta).pvalue > 1e-6

    @pytest.mark.slow
    def test_it_is_no_confidence_statement(self):
        """Randomised response of ε = 2, n = 40: above the truth in 17 % of the audits."""
        bound = functools.lru_cache(jeffreys_epsilon)
        chances = weights(special.expit(-2.0), 40)
        likely = np.flatnonzero(chances > 1e-3)
        missed = sum(
            chances[a] * chances[b]
            for a in likely
            for b in likely
            if bound(int(min(a, b)), 40, int(max(a, b)), 40, delta=0.0, beta=0.05).epsilon > 2.0
        )
        assert missed == pytest.approx(0.17, abs=0.01)


def test_the_conditional_bound_is_larger_where_the_condition_holds():
    rates = 0.02, special.ndtr(-special.ndtri(0.02) - 1.5)
    counts = round(1000 * rates[0]), 1000, round(1000 * rates[1]), 1000
    free = clopper_pearson_epsilon(*counts, **COMMON)
    bound = gdp_epsilon(*counts, **COMMON)
    assert free.epsilon < bound.epsilon < gaussian.epsilon(1.5, 1e-5)
    assert bound.mu < 1.5
