"""Smallest effects: at them, the intervals show a leak about as often as they say."""

import math

import numpy as np
import pytest
from scipy import stats

from reticent.audit import auc
from reticent.audit.intervals import Share, is_rejected, smallest_auc, smallest_leakage
from reticent.validation import InputError

TRIALS = 1000
# Between these lie the counts of a power from .93 to .985, but for 1e-6.
FEWEST, MOST = stats.binom.ppf(5e-7, TRIALS, 0.93), stats.binom.ppf(1 - 5e-7, TRIALS, 0.985)


def shown_auc(sizes, value, confidence=0.95):
    rng = np.random.default_rng(0)
    shift = math.sqrt(2) * stats.norm.ppf(value)
    return sum(
        auc(rng.normal(size=sizes[0]) + shift, rng.normal(size=sizes[1]), confidence=confidence).low
        > 0.5
        for _ in range(TRIALS)
    )


@pytest.mark.parametrize("sizes", [(100, 100), (300, 100)])
def test_the_smallest_auc_is_shown(sizes):
    value = smallest_auc(*sizes)
    assert FEWEST <= shown_auc(sizes, value) <= MOST
    assert shown_auc(sizes, 0.5 + (value - 0.5) / 2) < FEWEST


def power(sizes, difference, middle=0.5, confidence=0.95):
    """Exactly, over all counts that matter."""
    tpr, fpr = middle + difference / 2, middle - difference / 2
    chance = 0.0
    for a in range(sizes[0] + 1):
        for b in range(sizes[1] + 1):
            weight = stats.binom.pmf(a, sizes[0], tpr) * stats.binom.pmf(b, sizes[1], fpr)
            if weight > 1e-6:
                shares = Share(hits=a, of=sizes[0]), Share(hits=b, of=sizes[1])
                chance += weight * is_rejected(0.0, *shares, (1 - confidence) / 2)
    return chance


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "confidence"), [((60, 60), 0.95), ((80, 30), 0.99)])
def test_the_smallest_leakage_is_shown_wherever_it_lies(sizes, confidence):
    difference = smallest_leakage(*sizes, confidence=confidence)
    assert 0.93 <= power(sizes, difference, confidence=confidence) <= 0.975
    assert power(sizes, difference, middle=0.3, confidence=confidence) > 0.93
    assert power(sizes, difference / 2, confidence=confidence) < 0.6


@pytest.mark.parametrize("smallest", [smallest_auc, smallest_leakage])
class TestBoth:
    def test_more_records_show_less(self, smallest):
        sizes = [smallest(n, n) for n in (30, 100, 1000, 10_000)]
        assert (np.diff(sizes) < 0).all()
        assert smallest(100, 1000) == pytest.approx(smallest(1000, 100), abs=0.02)

    def test_more_confidence_or_power_takes_more(self, smallest):
        assert smallest(100, 100) < smallest(100, 100, confidence=0.99)
        assert smallest(100, 100) < smallest(100, 100, power=0.99)
        assert smallest(100, 100, power=0.2) < smallest(100, 100, power=0.5)

    def test_too_few_show_nothing(self, smallest):
        assert smallest(2, 2) == math.inf

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"members": 0}, "members must be >= 1"),
            ({"others": 2.5}, "others must be a whole number"),
            ({"confidence": np.nan}, "confidence must be in"),
            ({"power": 1.0}, "power must be in"),
        ],
    )
    def test_refusals(self, smallest, arguments, message):
        with pytest.raises(InputError, match=message):
            smallest(**{"members": 10, "others": 10, **arguments})


def test_six_of_each_are_shown_only_where_all_lie_above():
    """(1/40)^(1/6) > ½ > (1/40)^(1/5)."""
    assert smallest_auc(6, 6) == 1.0
    assert auc(np.arange(6.0) + 10, np.arange(6.0)).low > 0.5
    assert smallest_auc(5, 5) == math.inf
    assert auc(np.arange(5.0) + 10, np.arange(5.0)).low < 0.5
