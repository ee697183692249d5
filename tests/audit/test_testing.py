"""The line for other people's test suites."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from reticent import Sensitivity
from reticent.audit.additive import lowest_mu
from reticent.audit.function_power import Asked, reach
from reticent.audit.mechanism import assert_private, audit_function
from reticent.mechanisms import Gaussian
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


def gaussian(share, epsilon=1.0, delta=1e-5):
    """Gaussian noise of a share of the scale that the claim needs, for a count that moves by 1."""
    scale = (
        share * Gaussian.calibrate(Sensitivity(l1=1.0, l2=1.0), epsilon=epsilon, delta=delta).scale
    )
    rng = seeded("noise", str(share))
    # On a grid: the lowest bits of plain floats would tell the inputs apart, whatever the scale.
    return lambda answer, runs: np.round(answer + rng.normal(scale=scale, size=runs), 6)


CLAIM = {"epsilon": 1.0, "delta": 1e-5}


def test_half_the_noise_is_found_where_the_user_states_its_kind():
    with pytest.raises(
        AssertionError, match="refuted, if Gaussian noise is added, as st"
    ) as caught:
        assert_private(None, 0.0, 1.0, **CLAIM, many=gaussian(0.5), noise="gaussian")
    assert "\n" not in str(caught.value)
    audit = assert_private(None, 0.0, 1.0, **CLAIM, many=gaussian(1.0), noise="gaussian")
    assert audit.reach >= 0.5
    assert "would have been found (power 0.95)" in str(audit)


def test_runs_that_would_miss_half_the_noise_do_not_pass():
    """The fault itself, and a true claim: 8,000 runs say nothing of either."""
    for share in (0.5, 1.0):
        with pytest.raises(AssertionError, match=r"too few runs to say anything: of 8,000"):
            assert_private(None, 0.0, 1.0, **CLAIM, many=gaussian(share), runs=8_000)
    audit = audit_function(None, 0.0, 1.0, **CLAIM, many=gaussian(0.5), runs=8_000)
    assert audit.verdict == "not refuted"
    assert audit.is_blind
    assert "half of it would not" in str(audit)


@pytest.mark.slow
def test_half_the_noise_is_found_with_nothing_taken_for_granted():
    """As many runs as are chosen for power 0.95."""
    with pytest.raises(AssertionError, match="not private as claimed"):
        assert_private(None, 0.0, 1.0, **CLAIM, many=gaussian(0.5))


def test_noise_of_another_kind_is_not_called_gaussian():
    rng = seeded("laplace")
    with pytest.raises(InputError, match="noise must be gaussian, as stated, got outputs of"):
        audit_function(
            None, 0.0, 1.0, **CLAIM, noise="gaussian", runs=4_000,
            many=lambda answer, runs: answer + rng.laplace(scale=1.0, size=runs),
        )  # fmt: skip
    with pytest.raises(InputError, match="noise must be 'gaussian' or None"):
        audit_function(None, 0.0, 1.0, **CLAIM, noise="laplace", many=gaussian(1.0))


def wrong_bounds(bound, *, mu=0.3, runs=500, trials=4_000, beta=0.05):
    """How often a bound on μ lies above it, over audits of exactly Gaussian noise."""
    rng = seeded("coverage")
    differences = mu + np.sqrt(2 / runs) * rng.normal(size=trials)
    deviations = np.sqrt(rng.chisquare(2 * runs - 2, size=trials) / (2 * runs - 2))
    pairs = zip(differences, deviations, strict=True)
    return sum(bound(one, other, runs, beta=beta) > mu for one, other in pairs)


def test_the_bound_on_gaussian_noise_errs_as_rarely_as_it_says():
    """Of 4,000 audits at β = 0.05; a right bound has more than this with probability 1e-6."""
    most = stats.binom.isf(1e-6, 4_000, 0.05)
    assert wrong_bounds(lowest_mu) <= most
    assert wrong_bounds(lambda one, other, runs, beta: one / other) > most  # no limits at all


def test_what_would_have_been_found_grows_with_the_runs():
    asked = Asked(epsilon=1.0, delta=1e-5, beta=1e-6)
    shares = [reach(asked, counted) or 0 for counted in (100, 5_000, 50_000, 500_000)]
    assert shares == sorted(shares)
    assert shares[0] < 0.25
    assert 0.5 < shares[-1] < 1
    stated = reach(dataclasses.replace(asked, gaussian_noise=True), 5_000)
    assert stated > shares[1]


def test_options_are_passed_on():
    audit = assert_private(response(0.75), True, False, epsilon=2.0, delta=0.0, runs=300, beta=0.05)
    assert (audit.runs, audit.bound.confidence) == (300, 0.95)
    with pytest.raises(InputError, match="runs must be >= 100"):
        assert_private(response(0.75), True, False, epsilon=2.0, delta=0.0, runs=3)
