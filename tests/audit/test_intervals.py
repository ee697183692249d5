"""Intervals of shares and differences: their coverage is added up exactly, over all outcomes."""

import numpy as np
import pytest
from scipy import stats

from reticent.audit.intervals import Share, difference_interval, lowest_difference, share_interval

CHANCES = np.unique([0, 1e-4, 1e-3, 0.01, 0.03, *np.linspace(0.05, 0.95, 19), 0.97, 0.99, 0.999, 1])


def weights(records):
    """The probability of each count for each chance: counts × chances."""
    return stats.binom.pmf(np.arange(records + 1)[:, None], records, CHANCES)


class TestShare:
    @pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - 1e-6])
    @pytest.mark.parametrize("records", [1, 7, 60])
    def test_it_covers_every_chance(self, records, confidence):
        ends = np.array(
            [share_interval(Share(hits=k, of=records), confidence=confidence)
             for k in range(records + 1)]
        )  # fmt: skip
        low, high = ends[:, :1], ends[:, 1:]
        covered = (weights(records) * ((low <= CHANCES) & (CHANCES <= high))).sum(axis=0)
        assert (covered >= confidence - 1e-12).all()

    def test_it_is_scipys(self):
        for hits in (0, 3, 10):
            expected = stats.binomtest(hits, 10).proportion_ci(0.9, method="exact")
            found = share_interval(Share(hits=hits, of=10), confidence=0.9)
            assert found == pytest.approx((expected.low, expected.high))

    def test_tails_are_those_of_the_binomial(self):
        chances = np.array([0.0, 0.2, 0.7, 1.0])
        for hits in range(6):
            share = Share(hits=hits, of=5)
            assert share.so_few(chances) == pytest.approx(stats.binom.cdf(hits, 5, chances))
            assert share.so_many(chances) == pytest.approx(stats.binom.sf(hits - 1, 5, chances))


def misses(limit, first, second, tail):
    """The largest probability over all pairs that the lower limit is above the true difference."""
    limits = np.array(
        [[limit(Share(hits=a, of=first), Share(hits=b, of=second), tail)
          for b in range(second + 1)] for a in range(first + 1)]
    )  # fmt: skip
    of_first, of_second = weights(first), weights(second)
    return max(
        of_first[:, i] @ (limits > p - q + 1e-8) @ of_second[:, j]
        for i, p in enumerate(CHANCES)
        for j, q in enumerate(CHANCES)
    )


def newcombe(first, second, tail):
    """Wilson limits in squares (1998)."""

    def wilson(share, sign):
        z = stats.norm.isf(tail)
        root = np.sqrt(share.value * (1 - share.value) / share.of + (z / share.of / 2) ** 2)
        return (share.value + z**2 / share.of / 2 + sign * z * root) / (1 + z**2 / share.of)

    down, up = first.value - wilson(first, -1), wilson(second, 1) - second.value
    return first.value - second.value - np.hypot(down, up)


@pytest.mark.slow
class TestDifference:
    @pytest.mark.parametrize("tail", [0.2, 0.025, 5e-4, 5e-7])
    @pytest.mark.parametrize("sizes", [(3, 3), (12, 5), (4, 14)])
    def test_each_end_misses_as_rarely_as_it_says(self, sizes, tail):
        assert misses(lowest_difference, *sizes, tail) <= tail

    def test_it_is_not_overly_wide(self):
        assert misses(lowest_difference, 12, 12, 0.025) > 0.4 * 0.025

    @pytest.mark.parametrize("tail", [0.025, 5e-4])
    def test_a_popular_interval_is_found_out(self, tail):
        assert misses(newcombe, 12, 5, tail) > 1.5 * tail


def test_where_counts_are_large_it_is_the_normal_interval():
    first, second = Share(hits=5200, of=10_000), Share(hits=9000, of=30_000)
    low, high = difference_interval(first, second, confidence=0.95)
    error = np.sqrt(0.52 * 0.48 / 10_000 + 0.3 * 0.7 / 30_000)
    assert low == pytest.approx(0.22 - 1.96 * error, abs=0.05 * 1.96 * error)
    assert high == pytest.approx(0.22 + 1.96 * error, abs=0.05 * 1.96 * error)


def test_exchanged_shares_exchange_the_ends():
    first, second = Share(hits=3, of=10), Share(hits=1, of=20)
    low, high = difference_interval(first, second, confidence=0.9)
    assert difference_interval(second, first, confidence=0.9) == (-high, -low)
    assert -1 <= low < 0.25 < high <= 1


@pytest.mark.parametrize(("first", "second"), [(0, 0), (5, 5), (5, 0), (0, 5)])
def test_the_corners(first, second):
    ends = difference_interval(Share(hits=first, of=5), Share(hits=second, of=5), confidence=0.95)
    assert -1 <= ends[0] <= (first - second) / 5 <= ends[1] <= 1
