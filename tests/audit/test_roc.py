"""ROC points as scikit-learn's, and the ceiling of differential privacy as a trade-off."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import auc as area
from sklearn.metrics import roc_curve

from reticent.audit import auc, ceiling, roc
from reticent.validation import InputError

scores = st.lists(st.integers(-3, 3).map(float), min_size=2, max_size=30)
EPSILONS = (0.0, 0.1, 1.0, 8.0, 800.0)


@given(scores, scores)
def test_points_are_scikit_learns(members, others):
    labels = np.repeat([1, 0], [len(members), len(others)])
    fpr, tpr, thresholds = roc_curve(labels, np.r_[members, others], drop_intermediate=False)
    found = roc(members, others)
    assert np.array_equal(found.fpr, fpr)
    assert np.array_equal(found.tpr, tpr)
    assert np.array_equal(found.thresholds, thresholds)
    assert area(found.fpr, found.tpr) == pytest.approx(auc(members, others).value)


class TestCeiling:
    @pytest.mark.parametrize("epsilon", EPSILONS)
    @pytest.mark.parametrize("delta", [0.0, 1e-5, 0.3])
    def test_the_formula(self, epsilon, delta):
        rates = np.array([0.0, 1e-9, 0.01, 0.3, 0.9, 1.0])
        found = ceiling(rates, epsilon, delta)
        for rate, value in zip(rates, found, strict=True):
            first = math.exp(min(epsilon, 700)) * rate + delta
            second = 1 - math.exp(-epsilon) * (1 - delta - rate)
            assert value == pytest.approx(min(1.0, first, second), rel=1e-12, abs=1e-15)
        assert (np.diff(found) >= 0).all()
        assert (found >= rates * (1 - 1e-15)).all()
        assert (found[0], found[-1]) == (delta, 1.0)

    def test_randomised_response_reaches_it(self):
        """Says its bit with probability e^ε/(1 + e^ε): both corners of the trade-off at δ = 0."""
        for epsilon in (0.5, 2.0):
            keep = 1 / (1 + math.exp(-epsilon))
            assert ceiling([1 - keep], epsilon, 0.0)[0] == pytest.approx(keep)

    def test_no_gaussian_attack_rises_above_it(self):
        """TPR(α) = Φ(Φ⁻¹(α) + 1) of 1-GDP at its own (ε, δ), and it does at a smaller ε."""
        rates = np.logspace(-6, -0.01, 200)
        tpr = stats.norm.cdf(stats.norm.ppf(rates) + 1)
        delta = stats.norm.cdf(-1.0 + 0.5) - math.e * stats.norm.cdf(-1.0 - 0.5)
        assert (tpr <= ceiling(rates, 1.0, delta) + 1e-12).all()
        assert (tpr > ceiling(rates, 0.9, delta)).any()

    def test_guessing_is_all_there_is_without_privacy_loss(self):
        rates = np.linspace(0, 1, 11)
        assert ceiling(rates, 0.0, 0.0) == pytest.approx(rates)
        assert ceiling([1e-12], 0.0, 0.0)[0] == pytest.approx(1e-12, rel=1e-9, abs=0)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([1.1], 1.0, 0.0), "fpr must be between 0 and 1"),
            (([-0.1], 1.0, 0.0), "fpr must be between 0 and 1"),
            (([np.nan], 1.0, 0.0), "fpr must be finite"),
            (([0.1], -1.0, 0.0), "epsilon must be >= 0"),
            (([0.1], np.nan, 0.0), "epsilon must be >= 0"),
            (([0.1], 1.0, 1.0), r"delta must be in \[0, 1\)"),
        ],
    )
    def test_refusals(self, arguments, message):
        with pytest.raises(InputError, match=message):
            ceiling(*arguments)


@pytest.mark.parametrize("members", [[], [np.nan], [[1.0]]])
def test_bad_scores(members):
    with pytest.raises(InputError):
        roc(members, [0.0])
