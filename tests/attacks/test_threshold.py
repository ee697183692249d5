"""The threshold against all thresholds, tried one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.attacks.metric import best_threshold
from reticent.validation import InputError

scores = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=12)


def balanced(members, others, threshold):
    return (np.mean(np.array(members) > threshold) + np.mean(np.array(others) <= threshold)) / 2


@given(scores, scores)
def test_no_threshold_is_better(members, others):
    found = balanced(members, others, best_threshold(members, others))
    tried = [balanced(members, others, level) for level in np.arange(-4, 4, 0.25)]
    assert found == pytest.approx(max(tried))


def test_of_equal_ones_the_highest():
    assert best_threshold([1.0, 5.0], [0.0, 3.0]) == 4.0
    assert best_threshold([1.0, 1.0], [1.0, 1.0]) == 1.0  # nobody
    assert best_threshold([0.0], [1.0]) == 1.0


def test_neighbouring_floats_are_told_apart():
    for low in (1.0, -1.0, 0.0, -5e-324, 1e308):
        high = np.nextafter(low, np.inf)
        assert low <= best_threshold([high], [low]) < high
    assert np.isfinite(best_threshold([1.7e308], [-1.7e308]))


@pytest.mark.parametrize("members", [[], [float("nan")], [[1.0]], ["a"]])
def test_bad_scores(members):
    with pytest.raises(InputError):
        best_threshold(members, [0.0])
