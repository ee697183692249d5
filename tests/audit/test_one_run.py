"""One run: vectors, exact coverage, the bisection's ground, guesses from scores, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from reticent.audit.lower_bound import GuessCounts
from reticent.audit.one_run import (
    excludes_mu,
    halving_guesses,
    one_run,
    one_run_epsilon,
    one_run_gdp_epsilon,
    p_value,
)
from reticent.validation import InputError

EVERY = [one_run_epsilon, one_run_gdp_epsilon]
COMMON = {"delta": 1e-5, "beta": 0.05}


def counted(canaries, guesses, correct):
    return GuessCounts(canaries=canaries, guesses=guesses, correct=correct)


class TestVectors:
    @pytest.mark.parametrize(
        ("counts", "delta", "epsilon"),
        [
            ((1000, 100, 90), 0.0, 1.6308),
            ((1000, 100, 90), 1e-5, 1.6261),
            ((1000, 1000, 600), 1e-5, 0.2972),
            ((100, 100, 100), 1e-5, 3.4902),
        ],
    )
    def test_every_mechanism(self, counts, delta, epsilon):
        assert round(one_run_epsilon(*counts, delta=delta, beta=0.05).epsilon, 4) == epsilon

    def test_gaussian(self):
        bound = one_run_gdp_epsilon(1000, 100, 90, **COMMON)
        assert (round(bound.mu, 4), round(bound.epsilon, 4)) == (0.6025, 2.4564)


class TestEveryMechanism:
    @pytest.mark.parametrize("correct", [60, 75, 99, 100])
    def test_without_delta_it_is_the_limit_of_a_share(self, correct):
        interval = stats.binomtest(correct, 100, alternative="greater").proportion_ci(0.9)
        found = one_run_epsilon(300, 100, correct, delta=0.0, beta=0.1).epsilon
        assert found == pytest.approx(special.logit(interval.low))

    @pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, 3.0])
    @pytest.mark.parametrize("guesses", [1, 10, 300])
    def test_randomised_response_is_covered_exactly(self, guesses, epsilon):
        right = np.arange(guesses + 1)
        bounds = np.array(
            [one_run_epsilon(guesses, guesses, int(v), delta=0.0, beta=0.05).epsilon for v in right]
        )
        chances = stats.binom.pmf(right, guesses, special.expit(epsilon))
        missed = chances @ (bounds > epsilon + 1e-9)
        assert missed <= 0.05
        assert missed > 0.02 or guesses < 300

    def test_the_p_value_is_the_papers(self):
        guesses, correct, chance = 50, 40, special.expit(0.7)
        law = stats.binom(guesses, chance)
        steepest = max(
            sum(law.pmf(k) for k in range(correct - i, correct)) / i for i in range(1, correct + 1)
        )
        expected = law.sf(correct - 1) + 2 * 200 * 1e-4 * steepest
        assert p_value(counted(200, guesses, correct), 0.7, 1e-4) == pytest.approx(expected)

    @settings(max_examples=60)
    @given(st.integers(1, 60), st.data(), st.floats(0.0, 40.0))
    def test_it_rises_with_epsilon_until_one_half(self, guesses, data, leaks):
        """``leaks`` is 2mδ, far beyond what is useful; bisection needs no more than this."""
        correct = data.draw(st.integers(1, guesses))
        counts, delta = counted(1000, guesses, correct), leaks / 2000
        values = np.array([p_value(counts, e, delta) for e in np.linspace(0, 6, 121)])
        beyond = np.flatnonzero(values >= 0.5)
        rising = values[: beyond[0] + 1] if beyond.size else values
        assert (np.diff(rising) >= -1e-12).all()
        assert (values[beyond[0] :] >= 0.5 - 1e-9).all() if beyond.size else True

    def test_a_run_that_gives_everything_away_now_and_then(self):
        """Guessing, but all coins with probability δ: (0, δ)-private, refuted with β at most."""
        right = next(
            v for v in range(101) if one_run_epsilon(100, 100, v, delta=1e-4, beta=0.05).epsilon > 0
        )
        assert stats.binom.sf(right - 1, 100, 0.5) + 1e-4 <= 0.05


class TestGaussian:
    @pytest.mark.parametrize(("canaries", "guesses"), [(1000, 1000), (1000, 100), (50, 20)])
    def test_guessing_is_covered_exactly(self, canaries, guesses):
        rejected = next(
            v for v in range(guesses + 1) if excludes_mu(counted(canaries, guesses, v), 0.0, 0.05)
        )
        assert 0.015 < stats.binom.sf(rejected - 1, guesses, 0.5) <= 0.05

    @pytest.mark.parametrize("mu", [0.3, 1.0, 2.0])
    def test_independent_gaussian_noise_is_covered_exactly(self, mu):
        chances = stats.binom.pmf(np.arange(101), 100, special.ndtr(mu / 2))
        rejected = [excludes_mu(counted(100, 100, v), mu, 0.05) for v in range(101)]
        assert chances @ rejected <= 0.05

    def test_a_larger_mu_is_harder_to_exclude(self):
        found = [excludes_mu(counted(500, 200, 150), mu, 0.05) for mu in np.linspace(0, 2, 41)]
        assert found[0]
        assert not found[-1]
        assert found == sorted(found, reverse=True)

    def test_gaussian_noise_is_never_pure(self):
        with pytest.raises(InputError, match=r"delta must be in \(0, 1\)"):
            one_run_gdp_epsilon(10, 10, 10, delta=0.0, beta=0.05)


@pytest.mark.parametrize("bound", EVERY)
class TestEach:
    def test_more_right_guesses_say_more(self, bound):
        found = [bound(200, 100, v, **COMMON).epsilon for v in (0, 50, 70, 90, 100)]
        assert found == sorted(found)
        assert found[1] == 0.0
        assert found[2] < found[3] < found[4]

    def test_more_risk_says_more(self, bound):
        found = [bound(200, 100, 80, delta=1e-6, beta=b).epsilon for b in (1e-6, 0.01, 0.1, 0.4)]
        assert found == sorted(found)
        assert found[0] < found[-1]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"correct": 11}, "correct must be at most guesses = 10, got 11"),
            ({"guesses": 21}, "guesses must be at most canaries = 20, got 21"),
            ({"correct": -1}, "correct must be >= 0"),
            ({"canaries": 20.0}, "canaries must be a whole number"),
            ({"beta": 0.0}, "beta must be in"),
            ({"beta": 1.0}, "beta must be in"),
            ({"beta": np.nan}, "beta must be in"),
            ({"delta": np.nan}, "delta must be in"),
        ],
    )
    def test_refusals(self, bound, arguments, message):
        given = {"canaries": 20, "guesses": 10, "correct": 8, **COMMON}
        with pytest.raises(InputError, match=message) as caught:
            bound(**(given | arguments))
        assert "\n" not in str(caught.value)


SCORES = np.array([5.0, 1.0, 4.0, 0.0, 3.0, 2.0])
INSIDE = np.array([True, False, False, False, True, True])


class TestScores:
    @pytest.mark.parametrize(
        ("guesses", "correct"), [((1, 0), 1), ((2, 0), 1), ((3, 3), 4), ((0, 2), 2), ((1, 2), 3)]
    )
    def test_the_highest_are_in_and_the_lowest_are_out(self, guesses, correct):
        bound = one_run(SCORES, INSIDE, guesses=guesses, **COMMON)
        assert str(bound.evidence) == str(counted(6, sum(guesses), correct))
        assert str(bound.relation) == "add-remove"

    def test_a_grid_costs_its_size(self):
        inside = np.arange(400) % 2 == 0
        scores = inside + np.random.default_rng(0).normal(size=400)
        grid = halving_guesses(400, 3)
        alone = [one_run(scores, inside, guesses=g, delta=0.0, beta=0.05 / 3) for g in grid]
        best = one_run(scores, inside, guesses=grid, delta=0.0, beta=0.05)
        assert best.epsilon == max(bound.epsilon for bound in alone)
        assert best.confidence == 0.95
        assert best.notes[0].endswith("the best of 3 choices, each at β/3")

    def test_equal_scores_say_nothing_though_canaries_are_sorted(self):
        inside = np.arange(1000) < 500
        bound = one_run(np.ones(1000), ~inside, guesses=(500, 500), **COMMON)
        assert bound.epsilon == 0.0
        assert one_run(np.ones(1000), inside, guesses=(500, 500), **COMMON).epsilon == 0.0

    def test_halving(self):
        assert halving_guesses(5, 9) == ((2, 2), (1, 1))

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"scores": [np.nan] * 6}, "scores must be finite, got NaN"),
            ({"scores": np.ones((6, 1))}, "scores must be one number for each canary"),
            ({"inside": INSIDE.astype(int)}, "inside must be true or false for each of 6"),
            ({"inside": INSIDE[:5]}, "inside must be true or false for each of 6"),
            ({"guesses": (4, 3)}, r"of sum 1 to 6, the canaries, got \(4, 3\)"),
            ({"guesses": (0, 0)}, r"of sum 1 to 6, the canaries, got \(0, 0\)"),
            ({"guesses": [(1, 1), (-1, 2)]}, r"got \(-1, 2\)"),
            ({"guesses": (1, 1, 1)}, "guesses must be pairs"),
            ({"guesses": (1.0, 1.0)}, "guesses must hold integers"),
            ({"guesses": []}, "guesses must not be empty"),
            ({"beta": 1.0}, "beta must be in"),
            ({"delta": 1.0}, "delta must be in"),
        ],
    )
    def test_refusals(self, arguments, message):
        given = {"scores": SCORES, "inside": INSIDE, "guesses": (1, 1), **COMMON}
        with pytest.raises(InputError, match=message) as caught:
            one_run(**(given | arguments))
        assert "\n" not in str(caught.value)

    def test_coins_that_cannot_be_fair(self):
        inside = np.arange(1000) < 900
        with pytest.raises(InputError, match="fair coins, got 900 of 1,000 inside"):
            one_run(np.zeros(1000), inside, guesses=(1, 1), **COMMON)
