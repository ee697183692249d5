"""Certified radii: true for a classifier whose radius is known; a wrong one falls to an attack."""

import math

import numpy as np
import pytest
from scipy import stats

from reticent.protect.smoothing import (
    Certified,
    SmoothedClassifier,
    certified_accuracy,
    clopper_pearson_lower,
)
from reticent.validation import InputError

WEIGHTS = np.array([0.6, -0.8, 0.0])


class Half:
    """Two half-spaces: smoothed, the radius at x is |w·x| exactly."""

    def predict(self, X):
        return (X @ WEIGHTS > 0).astype(int)


def smooth(**changes):
    return SmoothedClassifier(**({"model": Half(), "sigma": 0.5} | changes))


def test_the_radius_is_below_the_true_one():
    """40 queries at α = 10⁻⁷ each: a false alarm once in 250,000 runs."""
    queries = np.random.default_rng(0).normal(size=(40, 3))
    found = smooth(alpha=1e-7, draws=2000).certify(queries)
    margins = np.abs(queries @ WEIGHTS)
    for one, margin, query in zip(found, margins, queries, strict=True):
        assert one.radius <= margin
        if one.label is not None:
            assert one.label == int(query @ WEIGHTS > 0)
    assert np.mean([one.radius / margin for one, margin in zip(found, margins, strict=True)]) > 0.4


def attacked(found, query, model):
    """The query moved by the claimed radius, straight at the boundary: the answer there."""
    direction = -np.sign(query @ WEIGHTS) * WEIGHTS
    return model.certify([query + found.radius * 0.999 * direction])[0].label


def test_a_wrong_radius_is_refuted_by_an_attack(monkeypatch):
    """Twice the radius, and one that takes the share of draws for the probability of a bound."""
    query = np.array([0.3, -0.3, 1.0])  # margin 0.42
    sure = smooth(alpha=1e-9, draws=5000)
    (honest,) = sure.certify([query])
    assert attacked(honest, query, sure) in (honest.label, None)
    lying = smooth(alpha=1e-9, draws=5000)
    monkeypatch.setattr(
        SmoothedClassifier,
        "radius",
        lambda self, p, features: 2 * self.sigma * float(stats.norm.ppf(p)) if p > 0.5 else 0.0,
    )
    (wrong,) = lying.certify([query])
    assert wrong.radius > 0.45
    assert attacked(wrong, query, lying) == 1 - wrong.label


def test_the_class_and_its_probability_come_from_separate_draws():
    seen = []

    class Counting(Half):
        def predict(self, X):
            seen.append(len(X))
            return super().predict(X)

    smooth(model=Counting(), choose=50, draws=300).certify([[1.0, 0.0, 0.0]])
    assert seen == [50, 300]


def test_noisy_copies_lie_on_the_grid_and_rounding_is_charged():
    class Grid:
        def predict(self, X):
            assert np.array_equal(X, np.rint(X * 2**8) / 2**8)
            return np.ones(len(X), dtype=int)

    coarse = smooth(model=Grid(), step=2.0**-8)
    (found,) = coarse.certify([[0.123456, 0.5, -1.0]])
    exact = 0.5 * stats.norm.ppf(found.probability)
    assert found.radius == pytest.approx(exact - math.sqrt(3) * 2**-8)


def test_limits_and_abstention():
    assert clopper_pearson_lower(0, 10, 0.01) == 0.0
    assert clopper_pearson_lower(10, 10, 0.05) == pytest.approx(0.05 ** (1 / 10))
    assert smooth().certify([[0.0, 0.0, 1.0]])[0].label is None  # on the boundary
    rows = [Certified(1, 0.3, 0.9), Certified(None, 0.0, 0.4), Certified(0, 0.6, 0.95)]
    assert certified_accuracy(rows, [1, 1, 1], 0.25).tolist() == [True, False, False]
    for wrong in ({"sigma": math.nan}, {"alpha": 0.0}, {"draws": 0}, {"step": 0.3}, {"step": 0.25}):
        with pytest.raises(InputError):
            smooth(**wrong)
    with pytest.raises(InputError):
        certified_accuracy(rows, [1], 0.1)
