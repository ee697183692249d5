"""The gradient is that of NT-Xent, and it moves further than 4C."""

import math

import numpy as np
import pytest
from scipy import special

from reticent.bounds.published import dpcl
from reticent.randomness import seeded

LARGE = 1e9


def loss(weights, views, temperature):
    z = views @ weights.T
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    scaled = z @ z.T / temperature
    np.fill_diagonal(scaled, -np.inf)
    partners = np.arange(len(z)) ^ 1
    return -special.log_softmax(scaled, axis=1)[np.arange(len(z)), partners].sum()


def test_the_sum_without_clipping_is_the_gradient_of_the_loss():
    views = seeded("views").normal(size=(10, 2))
    views /= np.linalg.norm(views, axis=1, keepdims=True)
    found = dpcl.gradient_sum(views, views @ views.T, clip=LARGE, temperature=0.5)
    step, expected = 1e-6, np.zeros((2, 2))
    for place in np.ndindex(2, 2):
        moved = np.zeros((2, 2))
        moved[place] = step
        up, down = (loss(np.eye(2) + sign * moved, views, 0.5) for sign in (1, -1))
        expected[place] = (up - down) / (2 * step)
    assert np.allclose(found, expected, atol=1e-6)
    assert np.linalg.norm(expected) > 0.1


def test_a_sum_is_at_most_as_long_as_its_clipped_parts():
    views = dpcl.turned_pair(8).one
    found = dpcl.gradient_sum(views, views @ views.T, clip=1e-3, temperature=0.5)
    assert np.linalg.norm(found) <= 16 * 1e-3


def test_the_turned_pair_has_equal_similarities():
    one, other = dpcl.turned_pair(8)
    assert np.array_equal(one @ one.T, other @ other.T)
    assert np.flatnonzero((one != other).any(axis=1)).tolist() == [0, 1]


@pytest.mark.parametrize(("batch", "times"), [(2, 1.4142), (8, 7.071), (128, 127.0)])
def test_every_other_gradient_turns(batch, times):
    """2|B| − 2 gradients of length C turn round, and the pair's own two do, at right angles."""
    clip = 1e-9
    one, other = dpcl.turned_pair(batch)
    apart = np.linalg.norm(
        dpcl.gradient_sum(one, one @ one.T, clip=clip, temperature=0.5)
        - dpcl.gradient_sum(other, one @ one.T, clip=clip, temperature=0.5)
    )
    assert apart == pytest.approx(clip * math.hypot(2 * (2 * batch - 2), 4), rel=1e-9, abs=0)
    assert apart / dpcl.gradient_sensitivity(clip) == pytest.approx(times, rel=1e-3)
    assert apart <= dpcl.naive_gradient_sensitivity(batch, clip)


def test_a_stack_of_similarities_gives_a_stack_of_sums_and_is_left_alone():
    one = dpcl.turned_pair(4).one
    stack = one @ one.T + seeded("similarities").normal(size=(3, 8, 8))
    kept = stack.copy()
    sums = dpcl.gradient_sum(one, stack, clip=0.01, temperature=0.5)
    assert np.array_equal(stack, kept)
    for matrix, found in zip(stack, sums, strict=True):
        assert np.allclose(
            found, dpcl.gradient_sum(one, matrix, clip=0.01, temperature=0.5), rtol=1e-12
        )


def test_similarities_move_less_than_theorem_1_says():
    rng = seeded("similarity")
    for batch in (2, 8):
        one = rng.normal(size=(2 * batch, 3))
        one /= np.linalg.norm(one, axis=1, keepdims=True)
        other = one.copy()
        other[:2] *= -1
        moved = np.linalg.norm(one @ one.T - other @ other.T)
        assert 0 < moved <= dpcl.similarity_sensitivity(batch)


def barlow_loss(weights, views, deviations, off_diagonal):
    standard = views @ weights.T / deviations
    entries = standard.T @ standard / len(views)
    diagonal = np.diag(entries)
    return ((1 - diagonal) ** 2).sum() + off_diagonal * ((entries**2).sum() - (diagonal**2).sum())


def test_the_sum_of_barlow_twins_is_the_gradient_of_its_loss():
    views = seeded("barlow").normal(size=(9, 2))
    deviations = np.sqrt((views**2).mean(axis=0))
    found = dpcl.barlow_gradient_sum(views, clip=LARGE, off_diagonal=0.3)
    step, expected = 1e-6, np.zeros((2, 2))
    for place in np.ndindex(2, 2):
        moved = np.zeros((2, 2))
        moved[place] = step
        up, down = (
            barlow_loss(np.eye(2) + sign * moved, views, deviations, 0.3) for sign in (1, -1)
        )
        expected[place] = (up - down) / (2 * step)
    assert np.allclose(found, expected, atol=1e-6)
    assert np.linalg.norm(expected) > 0.1


@pytest.mark.parametrize(("batch", "times"), [(9, 8.5), (129, 127.5)])
def test_every_other_gradient_of_barlow_twins_turns_too(batch, times):
    """The correlation that they read changes its sign, and nothing that was released does."""
    one, other = dpcl.correlated_pair(batch)
    assert np.allclose((one**2).sum(axis=0), (other**2).sum(axis=0))
    sums = [dpcl.barlow_gradient_sum(views, clip=1e-9, off_diagonal=5e-3) for views in (one, other)]
    apart = np.linalg.norm(sums[0] - sums[1]) / dpcl.gradient_sensitivity(1e-9)
    assert times <= apart <= batch


def test_deviations_move_as_theorems_2_and_3_say():
    rng = seeded("deviations")
    for _ in range(200):
        views = rng.normal(size=(6, 3))
        views /= np.linalg.norm(views, axis=1, keepdims=True)
        other = views.copy()
        other[0] = -views[0]
        assert np.linalg.norm(views.mean(axis=0) - other.mean(axis=0)) <= dpcl.mean_sensitivity(
            6
        ) * (1 + 1e-12)
        squares = [((one - one.mean(axis=0)) ** 2).sum(axis=0) for one in (views, other)]
        assert np.linalg.norm(squares[0] - squares[1]) <= dpcl.squares_sensitivity()
