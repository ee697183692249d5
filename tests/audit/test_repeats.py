"""Figures over repeats: Student's interval, its coverage, and its refusals."""

import numpy as np
import pytest
from scipy import stats

from reticent.audit.metrics import over_repeats
from reticent.validation import InputError


def test_it_is_students_interval():
    values = np.array([0.61, 0.64, 0.63, 0.6, 0.66])
    found = over_repeats(values, confidence=0.9)
    low, high = stats.t.interval(0.9, 4, loc=values.mean(), scale=stats.sem(values))
    assert (found.value, found.low, found.high) == pytest.approx((values.mean(), low, high))
    assert found.confidence == 0.9


def test_it_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    found = [over_repeats(rng.normal(0.6, 0.02, 5), confidence=0.8) for _ in range(2000)]
    covered = sum(one.contains(0.6) for one in found)
    assert stats.binomtest(covered, 2000, 0.8).pvalue > 1e-6


def test_equal_values_have_no_width():
    assert str(over_repeats([1.0, 1.0])) == "1.000 [1.000, 1.000]"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5], r"values must be at least 2 numbers, got shape \(1,\)"),
        ([[0.5, 0.6]], "values must be at least 2 numbers"),
        ([0.5, np.nan], "values must be finite, got NaN"),
    ],
)
def test_what_is_refused(values, message):
    with pytest.raises(InputError, match=message):
        over_repeats(values)
    with pytest.raises(InputError, match="confidence"):
        over_repeats([0.1, 0.2], confidence=1.0)
