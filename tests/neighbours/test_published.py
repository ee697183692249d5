"""Algorithm 2 as published: the largest change over pairs, and why it is not a bound."""

import numpy as np
import pytest

from reticent.guarantee import Grade, Relation
from reticent.neighbours import published_sensitivity, refitted_pairs
from reticent.validation import InputError

RECORDS = np.array([[0.0, 1.0], [4.0, 1.0], [0.0, 0.0], [1.0, 7.0], [2.0, 2.0]])


def total(kept):
    """d∖i and d∖j differ by the records j and i themselves."""
    return RECORDS[kept].sum(axis=0)


def test_many_pairs_find_the_largest_change_in_each_norm():
    found = published_sensitivity(total, len(RECORDS), 400, seed=1)
    changes = [a - b for a in RECORDS for b in RECORDS]
    assert found.l1 == max(np.abs(change).sum() for change in changes)
    assert found.l2 == max(np.linalg.norm(change) for change in changes)


def test_it_is_graded_published_and_says_how_many_pairs():
    found = published_sensitivity(total, len(RECORDS), 12, seed=0)
    assert found.grade is Grade.PUBLISHED
    assert found.relation is Relation.REPLACE_ONE
    assert "12 pairs" in found.source


def test_each_record_is_left_out_once_and_alone():
    seen = []

    def refit(kept):
        seen.append(tuple(set(range(8)) - set(kept.tolist())))
        return np.ones(1) * sum(kept)

    done = []
    pairs = refitted_pairs(refit, 8, 30, seed=0, on_done=done.append)
    assert len(seen) == len(set(seen)) == len(pairs.weights) == done[-1]
    assert all(len(removed) == 1 for removed in seen)
    assert len(pairs.pairs) == 30


def test_one_core_and_two_give_equal_weights():
    one, two = (refitted_pairs(total, len(RECORDS), 6, seed=3, jobs=jobs) for jobs in (1, 2))
    assert one.pairs == two.pairs
    assert all(np.array_equal(one.weights[i], two.weights[i]) for i in one.weights)


def test_a_slice_measures_these_coordinates_alone():
    pairs = refitted_pairs(total, len(RECORDS), 400, seed=1)
    assert pairs.sensitivity(slice(0, 1)).l1 == 4.0
    assert pairs.sensitivity(slice(1, 2)).l1 == 7.0


def test_the_seed_decides_the_pairs():
    one, two = (refitted_pairs(total, 5, 40, seed=seed).pairs for seed in (0, 1))
    assert one != two


def test_equal_records_give_no_noise_and_are_refused():
    with pytest.raises(InputError, match="would add no noise"):
        published_sensitivity(lambda kept: np.zeros(len(kept)).mean(), 100, 10, seed=0)


def test_an_outlier_that_is_not_drawn_is_not_seen():
    """Why the grade is published: 20 pairs of 10,000 records miss one record almost surely."""
    values = np.zeros(10_000)
    values[0] = 1e6
    pairs = refitted_pairs(lambda kept: values[kept].mean() + kept[5000] * 1e-9, 10_000, 20, seed=0)
    assert 0 not in pairs.weights  # of this seed
    assert pairs.sensitivity().l1 < 1.0 < values[0] / 10_000
