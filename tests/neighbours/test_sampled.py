"""The sensitivity sampler over i.i.d. pairs: what it draws, what it delivers, what it refuses."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from reticent.guarantee import Grade, Relation
from reticent.neighbours import (
    Draws,
    delivered_gamma,
    gamma_of,
    sampled_head_pairs,
    sampled_pairs,
    sampled_sensitivity,
)
from reticent.neighbours.sampled import drawn_from, sides
from reticent.training.softmax_head import SoftmaxHead
from reticent.validation import InputError

SPEC = SoftmaxHead(penalty=2e-2, classes=[0, 1, 2], records=25, tolerance=1e-10)


@pytest.fixture(scope="module")
def pool():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 4)) * 0.4
    return X, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.4)


def test_both_sides_share_all_records_but_one():
    one, other = sides(np.array([4, 7, 9, 1]))
    assert one.tolist() == [4, 7, 9]
    assert other.tolist() == [4, 7, 1]


def test_a_large_pool_is_dealt_out_without_repetition():
    drawn, population = drawn_from(100, Draws(size=9, pairs=10))
    assert sorted(np.concatenate(drawn)) == list(range(100))
    assert "all different" in population


def test_from_a_small_pool_each_pair_is_drawn_anew_with_replacement():
    drawn, population = drawn_from(99, Draws(size=9, pairs=10))
    assert [len(rows) for rows in drawn] == [10] * 10
    assert "with replacement" in population
    shares = np.bincount(np.concatenate(drawn_from(4, Draws(size=9, pairs=4000))[0])) / 40_000
    assert np.abs(shares - 0.25).max() < 6 * np.sqrt(0.25 * 0.75 / 40_000)


def test_the_heads_of_a_pair_are_those_of_refits(pool):
    X, y = pool
    draws = Draws(size=25, pairs=4, seed=3)
    by_refits = sampled_pairs(
        lambda rows: clone(SPEC).fit(X[rows], y[rows]).weights_, len(X), draws
    )
    found = sampled_head_pairs(SPEC, X, y, draws)
    assert found.l1 == pytest.approx(by_refits.l1, rel=1e-4)
    assert found.l2 == pytest.approx(by_refits.l2, rel=1e-4)
    assert found.population == by_refits.population


@pytest.mark.slow
def test_one_core_and_two_draw_and_measure_the_same(pool):
    X, y = pool
    one, two = (
        sampled_head_pairs(SPEC, X, y, Draws(size=25, pairs=4), jobs=jobs) for jobs in (1, 2)
    )
    assert one == two


def test_it_delivers_the_chosen_order_statistic_with_its_gamma():
    records = np.random.default_rng(0).random(300)
    draws = Draws(size=3, pairs=40, k=31, beta=0.01)
    pairs = sampled_pairs(lambda rows: records[rows].sum(), 300, draws)
    found = pairs.sensitivity
    assert found.l1 == sorted(pairs.l1)[30]
    assert found.gamma == delivered_gamma(40, 31, beta=0.01) == pairs.delivered
    assert (found.grade, found.relation) == (Grade.SAMPLED, Relation.REPLACE_ONE)
    assert pairs.exchangeable == pytest.approx(1 - 31 / 41)
    assert "number 31 of 40" in found.source


def test_the_delivered_gamma_holds_as_often_as_it_says():
    """Over 2,000 repetitions misses are binomial with a rate of at most β."""
    records = np.random.default_rng(0).random(1000)
    rng = np.random.default_rng(1)
    a, b = rng.integers(1000, size=(2, 200_000))
    all_changes = np.sort(np.abs(records[a] - records[b]))
    missed = 0
    for seed in range(2000):
        draws = Draws(size=2, pairs=30, k=25, beta=0.2, seed=seed)
        drawn, _ = drawn_from(1000, draws)
        changes = sorted(abs(records[r[-2]] - records[r[-1]]) for r in drawn)
        beyond = 1 - np.searchsorted(all_changes, changes[24]) / len(all_changes)
        missed += beyond > delivered_gamma(30, 25, beta=0.2) + 0.005
    assert stats.binom.sf(missed - 1, 2000, 0.2) > 1e-6
    assert stats.binom.cdf(missed, 2000, 0.1) > 1 - 1e-6  # and it is no looser than it must be


def test_gamma_chooses_the_pairs_or_the_order_statistic():
    assert Draws(size=5, gamma=0.1).total == Draws(size=5, gamma=0.1).chosen == 285
    given = Draws(size=5, pairs=500, gamma=0.2)
    assert (given.total, given.chosen) == (500, np.ceil(500 * (1 - 0.2 + gamma_of(500).gamma)))


def test_the_theorem_s_gamma_is_larger_than_the_sharper_ones():
    pairs = sampled_pairs(lambda rows: rows.sum() * 1.0, 50, Draws(size=3, pairs=500))
    assert pairs.exchangeable < pairs.delivered < gamma_of(500).gamma


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 5, "pairs": 0}, "pairs must be >= 1, got 0"),
        ({"size": 1, "pairs": 5}, "size must be >= 2, got 1"),
        ({"size": 5}, "pairs or gamma must be given"),
        ({"size": 5, "pairs": 5, "k": 6}, "k must be <= pairs"),
        ({"size": 5, "pairs": 5, "k": 2, "gamma": 0.5}, "k must be None where gamma"),
        ({"size": 5, "pairs": 5, "beta": 0.0}, "beta must be in"),
        ({"size": 5, "gamma": float("nan")}, "gamma must be in"),
        ({"size": 5, "pairs": 10, "gamma": 0.1}, "pairs must be >= 285"),
    ],
)
def test_bad_draws_get_one_line(settings, message):
    with pytest.raises(InputError, match=message) as caught:
        Draws(**settings)
    assert "\n" not in str(caught.value)


def test_a_pool_that_overlaps_the_private_records_is_refused(pool):
    X, y = pool
    private = np.vstack([np.ones((3, 4)), X[5:6]])
    with pytest.raises(InputError, match="share no row") as caught:
        sampled_head_pairs(SPEC, X, y, Draws(size=25, pairs=2), private=private)
    assert "\n" not in str(caught.value)
    sampled_head_pairs(SPEC, X, y, Draws(size=25, pairs=1), private=private[:3])


def test_minus_zero_is_zero(pool):
    X, y = pool[0].copy(), pool[1]
    X[0] = 0.0
    with pytest.raises(InputError, match="share no row"):
        sampled_head_pairs(SPEC, X, y, Draws(size=25, pairs=2), private=[[-0.0, 0, 0, 0]])


def test_fewer_records_than_classes_and_unnamed_classes_are_refused(pool):
    with pytest.raises(InputError, match="records must be >= 3"):
        sampled_head_pairs(SPEC, *pool, Draws(size=2, pairs=2))
    with pytest.raises(InputError, match="classes and records"):
        sampled_head_pairs(SoftmaxHead(), *pool, Draws(size=9, pairs=2))


def test_equal_records_are_refused():
    with pytest.raises(InputError, match="would add no noise"):
        sampled_sensitivity(lambda rows: 0.0, 50, Draws(size=5, pairs=10))
