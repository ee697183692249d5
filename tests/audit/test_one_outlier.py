"""Algorithm 2 does not see the outlier, and the audit does."""

import numpy as np
import pytest

from reticent.audit.one_outlier import LARGEST_NORM, one_outlier, outlier_data
from reticent.guarantee import Grade
from reticent.neighbours import published_head_sensitivity
from reticent.randomness import seeded
from reticent.validation import InputError


def test_the_data_are_digits_and_one_negative():
    data = outlier_data(500)
    assert data.rows.shape == (500, 64)
    assert data.rows.min() >= 0
    assert np.linalg.norm(data.rows, axis=1).max() <= LARGEST_NORM
    ordinary = np.linalg.norm(data.rows[:-1], axis=1)
    assert np.linalg.norm(data.rows[data.place]) > ordinary.max()
    again, another = outlier_data(500), outlier_data(500, seed=1)
    assert np.array_equal(again.rows, data.rows)
    assert not np.array_equal(another.rows, data.rows)


@pytest.mark.slow
def test_the_claim_falls_by_both_figures():
    found = one_outlier()
    assert found.sensitivity.grade is Grade.PUBLISHED
    assert found.chance_to_miss == pytest.approx(0.905, abs=5e-4)
    assert found.audit.claim.grade is Grade.PUBLISHED
    assert found.audit.tightness > 4
    assert found.audit.analytic > 5
    assert found.audit.measured.epsilon > 1.5
    assert found.audit.verdict == "refuted"
    assert "probability 0.905" in found.words[0]
    assert found.words[-1] == "The claim is refuted."


@pytest.mark.slow
def test_pure_noise_falls_by_the_exact_pair():
    found = one_outlier(mechanism="laplace", delta=0.0, runs=200)
    assert found.audit.exact
    assert found.audit.analytic == pytest.approx(found.audit.tightness)
    assert found.audit.refuted_by == "exact pair of neighbours, whose ε exceeds the claim"


def test_the_pairs_are_those_of_the_first_seed_that_misses_the_outlier():
    touched = [
        (seeded("Algorithm 2", seed).integers(100, size=(30, 2)) == 99).any() for seed in range(9)
    ]
    first = touched.index(True)
    free = touched.index(False, first)
    data = outlier_data(100, seed=first)
    expected = published_head_sensitivity(
        data.head, data.rows, data.labels, pairs=30, seed=free, measured="coordinates"
    )
    found = one_outlier(records=100, pairs=30, runs=20, seed=first)
    assert found.sensitivity.l2 == pytest.approx(expected.l2, rel=1e-6)


def test_pairs_that_cannot_miss_are_refused():
    with pytest.raises(InputError, match="pairs must leave a chance"):
        one_outlier(records=100, pairs=500)
