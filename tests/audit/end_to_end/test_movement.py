"""Distances against bounds, exactly."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.audit.end_to_end.replay import epsilon_of, movement
from reticent.guarantee import Relation, Sensitivity
from reticent.mechanisms import Exponential, Gaussian, L2Laplace, Laplace, Logistic
from reticent.mechanisms.profiles import gaussian


def noise(kind=Gaussian, scale=2.0, **norms):
    return kind(scale=scale, sensitivity=Sensitivity(**norms, relation="add-remove"))


def test_all_claimed_norms_count():
    moved = movement(noise(l1=10.0, l2=5.0), np.array([3.0, 0.0]), np.array([0.0, 4.0]))
    assert moved.distances == {"l1": 7.0, "l2": 5.0, "linf": 4.0}
    assert moved.ratio == 1.0
    assert movement(noise(l1=6.0, l2=5.0), np.array([3.0, 0]), np.array([0, 4.0])).ratio == 7 / 6


def test_one_unit_in_the_last_place_beyond_the_bound_is_seen():
    bound = 1.0
    beyond = np.nextafter(bound, 2)
    zero = np.zeros(1)
    assert movement(noise(l2=bound), zero, np.array([bound])).ratio == 1.0
    assert movement(noise(l2=bound), zero, np.array([beyond])).ratio > 1.0
    # √(0.6² + 0.8²) in floats: only fractions can tell whether that is more than 1
    exact = movement(noise(l2=1.0), np.zeros(2), np.array([0.6, 0.8])).ratio
    assert (exact > 1) == (0.6**2 + 0.8**2 > 1 or exact > 1)


@pytest.mark.parametrize(("norm", "exact"), [("l1", 7), ("l2", 5), ("linf", 4)])
@pytest.mark.parametrize("unit", [2.0**-300, 2.0**-3, 1.0, 2.0**60])
def test_a_bound_that_is_reached_holds_and_the_number_below_it_does_not(norm, exact, unit):
    """Fractions below 1 and numbers above 2⁵³: entries of 3 and 4 units, and one of both worlds."""
    one, other = unit * np.array([3.0, 0.0, 5.5]), unit * np.array([0.0, 4.0, 5.5])
    bound = exact * unit
    below = float(np.nextafter(bound, 0))
    assert movement(noise(**{"l2": 5 * unit, norm: bound}), one, other).ratio == 1.0
    assert movement(noise(**{"l2": 5 * unit, norm: below}), one, other).ratio > 1.0


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=5))
def test_huge_values_do_not_overflow(values):
    moved = movement(noise(l2=1.0), np.zeros(len(values)), np.array(values))
    assert math.isfinite(moved.distances["l2"])


def test_gaussian_queries_add_up_exactly():
    one = movement(noise(l2=1.0), np.zeros(2), np.array([0.3, 0.4]))
    other = movement(noise(l2=1.0), np.zeros(1), np.array([1.2]))
    together = epsilon_of([one, other], delta=1e-5, relation=Relation.ADD_REMOVE)
    mu = math.hypot(0.5 / 2, 1.2 / 2)
    assert together == pytest.approx(gaussian.epsilon(mu, 1e-5), rel=1e-9)
    assert epsilon_of([one], delta=1e-5, relation=Relation.ADD_REMOVE) < together


@pytest.mark.parametrize("kind", [Laplace, Logistic, L2Laplace])
def test_pure_noise_adds_up(kind):
    moved = [movement(noise(kind, l1=1.0, l2=1.0), np.zeros(1), np.array([0.5]))] * 3
    assert epsilon_of(moved, delta=0.0, relation=Relation.ADD_REMOVE) == pytest.approx(0.75)


def test_choices_and_sums_together():
    choice = movement(noise(Exponential, linf=1.0), np.zeros(3), np.array([0.5, -0.5, 0]))
    total = movement(noise(Laplace, l1=1.0), np.zeros(1), np.array([1.0]))
    found = epsilon_of([choice, total], delta=0.0, relation=Relation.ADD_REMOVE)
    assert found == pytest.approx(0.5 + 0.5)


def test_nothing_moved_is_worth_nothing():
    still = movement(noise(l2=1.0), np.ones(2), np.ones(2))
    assert epsilon_of([still], delta=1e-5, relation=Relation.ADD_REMOVE) == 0.0
