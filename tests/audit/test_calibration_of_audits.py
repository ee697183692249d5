"""How often audits are wrong, over hundreds of them: on nothing, on known ε, on planted bugs.

All counts are judged by ``wrong_too_often``: a bound that keeps its word is called wrong with
probability 1e-6 at most. Seeds are fixed but for the project's own releases, which take none.
"""

import functools

import numpy as np
import pytest

from reticent import Sensitivity
from reticent.audit.error_counts import GDP, JEFFREYS, highest_rate, log_ratio
from reticent.audit.many_runs import SeparateRuns, ThresholdGrid, many_runs
from reticent.audit.one_run import halving_guesses, one_run, one_run_epsilon, one_run_gdp_epsilon
from reticent.mechanisms import Gaussian, Laplace, Logistic
from tests.audit.auditing import BETA, DELTA, NOTHING, TRUTHS, wrong_too_often

RUNS = 80
CANARIES = 200
COMMON = {"delta": DELTA, "beta": BETA}

# The same counts come again and again.
BY_COUNTS = functools.lru_cache(one_run_epsilon)
GDP_BY_COUNTS = functools.lru_cache(one_run_gdp_epsilon)


def of_runs(**choices):
    """An audit of RUNS runs without a record and as many with it."""

    def audit(truth, rng):
        scores = truth.without(rng, RUNS), truth.present(rng, RUNS)
        return many_runs(*scores, **COMMON, **choices)

    return audit


def of_canaries(**choices):
    """An audit of one run with canaries whose scores are independent."""

    def audit(truth, rng):
        inside = rng.integers(2, size=CANARIES).astype(bool)
        return one_run(truth.draw(rng, CANARIES, inside), inside, **COMMON, **choices)

    return audit


FOR_ALL = {
    "fixed threshold": of_runs(threshold=0.5),
    "separate runs": of_runs(),
    "few separate runs": of_runs(threshold=SeparateRuns(share=0.1, seed=5)),
    "grid of thresholds": of_runs(threshold=ThresholdGrid(size=4)),
    "one run": of_canaries(guesses=(50, 50), bound=BY_COUNTS),
    "one run, all guessed": of_canaries(guesses=(100, 100), bound=BY_COUNTS),
    "one run, grid of guesses": of_canaries(guesses=halving_guesses(CANARIES), bound=BY_COUNTS),
}
FOR_GAUSSIAN = {
    "gdp": of_runs(reading=GDP),
    "gdp, grid of thresholds": of_runs(reading=GDP, threshold=ThresholdGrid(size=4)),
    "one run, gdp": of_canaries(guesses=(50, 50), bound=GDP_BY_COUNTS),
    "one run, gdp, grid of guesses": of_canaries(
        guesses=halving_guesses(CANARIES), bound=GDP_BY_COUNTS
    ),
}
MANY_GUESSES = {
    "one run, 20 numbers of guesses": of_canaries(
        guesses=[(k, k) for k in range(5, 101, 5)], bound=BY_COUNTS
    )
}
CREDIBLE = {
    "jeffreys": of_runs(reading=JEFFREYS),
    "jeffreys, fixed threshold": of_runs(reading=JEFFREYS, threshold=0.5),
}


def wrong(audit, truth, audits):
    """How many of so many audits claim more than there is."""
    rng = np.random.default_rng(0)
    return sum(audit(truth, rng).epsilon > truth.epsilon * (1 + 1e-12) for _ in range(audits))


def by_name(audits):
    return pytest.mark.parametrize("audit", list(audits.values()), ids=list(audits))


@pytest.mark.slow
class TestEveryBound:
    @by_name(FOR_ALL | FOR_GAUSSIAN | MANY_GUESSES | CREDIBLE)
    def test_finds_nothing_in_nothing(self, audit):
        assert not wrong_too_often(wrong(audit, NOTHING, 500), 500)

    @by_name(FOR_ALL)
    @pytest.mark.parametrize("truth", TRUTHS, ids=str)
    def test_covers_what_is_known(self, audit, truth):
        assert not wrong_too_often(wrong(audit, truth, 300), 300)

    @by_name(FOR_GAUSSIAN)
    def test_covers_gaussian_noise_on_its_condition(self, audit):
        (truth,) = (truth for truth in TRUTHS if truth.name == "gaussian")
        assert not wrong_too_often(wrong(audit, truth, 300), 300)


class OwnRelease:
    """Runs of a mechanism of the project, one entry each: the code that releases, audited."""

    def __init__(self, mechanism):
        self.mechanism = mechanism
        self.epsilon = mechanism.epsilon(delta=DELTA)

    def draw(self, rng, size, inside):
        return self.mechanism.release(inside.astype(float))

    def without(self, rng, size):
        return self.mechanism.release(np.zeros(size))

    def present(self, rng, size):
        return self.mechanism.release(np.ones(size))


ONE = Sensitivity(l1=1.0, l2=1.0, relation="add-remove")
OWN = [Laplace(scale=1.0, sensitivity=ONE), Logistic(scale=0.5, sensitivity=ONE),
       Gaussian(scale=1.5, sensitivity=ONE)]  # fmt: skip


@pytest.mark.slow
@by_name({name: FOR_ALL[name] for name in ("grid of thresholds", "one run, all guessed")})
@pytest.mark.parametrize("mechanism", OWN, ids=lambda mechanism: mechanism.name)
def test_own_releases_are_covered(audit, mechanism):
    assert not wrong_too_often(wrong(audit, OwnRelease(mechanism), 60), 60)


@by_name({name: FOR_ALL[name] for name in ("separate runs", "one run, all guessed")})
def test_too_little_noise_is_refuted(audit):
    """Claimed: ε = ½. Released: Laplace noise of a sixth of the scale that takes."""
    real = OwnRelease(Laplace(scale=1 / 3, sensitivity=ONE))
    rng = np.random.default_rng(0)
    refuted = sum(audit(real, rng).refutes(epsilon=0.5, delta=DELTA) for _ in range(30))
    assert refuted >= 25


class TestPlantedBugs:
    """Auditors that look at many tests and correct for none are found out by the same test."""

    RUNS, AUDITS = 1000, 1000

    def best_threshold(self, rng):
        """The highest bound over all thresholds and directions, each at the full β."""
        limits = highest_rate(np.arange(self.RUNS + 1), self.RUNS, BETA / 2)
        scores = rng.normal(size=2 * self.RUNS)
        present = np.argsort(scores) < self.RUNS
        missed, passed = np.cumsum(present), np.cumsum(~present)
        errors = (self.RUNS - passed, missed), (passed, self.RUNS - missed)
        return max(
            log_ratio(limits[false_positives], limits[false_negatives], DELTA).max()
            for false_positives, false_negatives in errors
        )

    def best_guesses(self, rng):
        """The highest bound over all numbers of guesses, each at the full β."""
        coins = rng.integers(2, size=CANARIES)  # in the order of scores that ignore them
        ins, outs = np.cumsum(coins[::-1]), np.cumsum(1 - coins)
        return max(
            BY_COUNTS(CANARIES, 2 * k, int(ins[k - 1] + outs[k - 1]), **COMMON).epsilon
            for k in range(5, 101, 5)
        )

    @pytest.mark.slow
    def test_the_best_threshold(self):
        rng = np.random.default_rng(0)
        claims = sum(self.best_threshold(rng) > 0 for _ in range(self.AUDITS))
        assert wrong_too_often(claims, self.AUDITS)

    @pytest.mark.slow
    def test_the_best_number_of_guesses(self):
        rng = np.random.default_rng(0)
        claims = sum(self.best_guesses(rng) > 0 for _ in range(500))
        assert wrong_too_often(claims, 500)

    def test_the_test_itself(self):
        """It fires from the 1 − 1e-6 quantile on and no earlier."""
        assert not wrong_too_often(25, 500)
        assert not wrong_too_often(48, 500)
        assert wrong_too_often(52, 500)
