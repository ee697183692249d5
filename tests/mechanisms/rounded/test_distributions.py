"""The released noise has the distribution it claims; the same tests reject a wrong one."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from reticent.mechanisms.rounded import (
    noisy_argmax_exponential,
    noisy_argmax_gumbel,
    rounded_gaussian,
    rounded_l2_laplace,
    rounded_laplace,
    rounded_logistic,
)
from reticent.mechanisms.rounded.release import BLOCK
from tests.mechanisms.rounded.goodness import DRAWS, TOO_WIDE, counts_fit, follows, independent

SAMPLERS = {
    "logistic": (rounded_logistic, stats.logistic.cdf),
    "laplace": (rounded_laplace, stats.laplace.cdf),
    "gaussian": (rounded_gaussian, stats.norm.cdf),
}


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize(("value", "scale"), [(0.0, 1.0), (1e3 / 3, 0.7), (-1e-5, 3e-6)])
def test_noise_follows_its_distribution(name, value, scale):
    release, cdf = SAMPLERS[name]
    noisy = release(np.full(DRAWS, value), scale=scale)
    assert follows((noisy - value) / scale, cdf)


@pytest.mark.parametrize("name", SAMPLERS)
def test_noise_a_little_too_wide_is_rejected(name):
    release, cdf = SAMPLERS[name]
    assert not follows(release(np.zeros(DRAWS), scale=TOO_WIDE), cdf)


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_coarse_grid_has_the_cell_probabilities_of_the_ideal_noise(name):
    release, cdf = SAMPLERS[name]
    cells = np.arange(-40, 41)
    cell_of = release(np.full(DRAWS, 0.3), scale=2.0, grid=1.0)
    probabilities = cdf((cells + 0.5 - 0.3) / 2) - cdf((cells - 0.5 - 0.3) / 2)
    counts = np.bincount(np.clip(cell_of, -40, 40).astype(int) + 40, minlength=cells.size)
    assert counts_fit(counts, probabilities)


def test_the_two_gaussians_of_a_pair_are_independent():
    noisy = rounded_gaussian(np.zeros((DRAWS // BLOCK, 2, BLOCK // 2)), scale=1.0)
    first, second = noisy[:, 0].ravel(), noisy[:, 1].ravel()
    assert independent(stats.norm.cdf(first), stats.norm.cdf(second))
    assert follows(np.arctan2(second, first), lambda angle: angle / (2 * math.pi) + 0.5)
    assert follows(first**2 + second**2, stats.chi2(2).cdf)


def test_dependent_pairs_are_rejected():
    first = rounded_gaussian(np.zeros(DRAWS // 2), scale=1.0)
    second = np.abs(rounded_gaussian(np.zeros(DRAWS // 2), scale=1.0)) * np.sign(first)
    assert not independent(stats.norm.cdf(first), stats.norm.cdf(second))


# --- L2-Laplace -----------------------------------------------------------------------------------

SIZE = 9


@pytest.mark.slow
def test_radius_and_direction_of_l2_laplace():
    count = DRAWS // 2 // SIZE + 1
    vectors = np.array([rounded_l2_laplace(np.zeros(SIZE), scale=1.0) for _ in range(count)])
    radius = np.linalg.norm(vectors, axis=1)
    assert follows(radius, stats.gamma(SIZE).cdf)
    assert not follows(radius * TOO_WIDE, stats.gamma(SIZE).cdf)
    assert_uniform(vectors / radius[:, None])
    turned = (1 + vectors[:, 0] / radius) / 2
    level, share = stats.gamma(SIZE).cdf(radius), coordinate.cdf(turned)
    assert independent(level, share, cells=8)


coordinate = stats.beta((SIZE - 1) / 2, (SIZE - 1) / 2)  # (1 + x)/2 of a uniform direction


def assert_uniform(direction):
    for column in direction.T:
        assert follows((1 + column) / 2, coordinate.cdf)
    for i, j in itertools.product(range(SIZE), (1, SIZE // 2 + 1)):  # neighbours, and pairs
        turns = np.arctan2(direction[:, i], direction[:, (i + j) % SIZE]) / (2 * math.pi) + 0.5
        assert follows(turns, lambda turn: turn)
    orthant = (direction > 0) @ 2 ** np.arange(SIZE)
    assert counts_fit(np.bincount(orthant, minlength=2**SIZE), np.full(2**SIZE, 2.0**-SIZE))


def test_a_long_vector_has_the_norm_and_the_shape_of_its_density():
    noisy = rounded_l2_laplace(np.zeros(500_000), scale=1.0)
    assert abs(np.linalg.norm(noisy) / 500_000 - 1) < 6 / math.sqrt(500_000)
    assert follows(noisy / np.sqrt(np.mean(noisy**2)), stats.norm.cdf)


def test_one_coordinate_is_laplace():
    draws = [float(rounded_l2_laplace(np.zeros(()), scale=1.0)) for _ in range(20_000)]
    assert follows(draws, stats.laplace.cdf)


# --- selection ------------------------------------------------------------------------------------

SCORES = ([0.0, 1.0, 2.0, 3.0], [0.3, 0.3], [-1.0, 4.0, 4.0, 0.0, 3.5], [7.0])


def softmax(scores):
    weights = np.exp(np.array(scores) - max(scores))
    return weights / weights.sum()


def permute_and_flip(scores):
    """Straight from the algorithm: candidates in random order, each accepted by its coin."""
    accept = np.exp(np.array(scores) - max(scores))
    chosen = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        reach = 1.0
        for candidate in order:
            chosen[candidate] += reach * accept[candidate] / len(orders)
            reach *= 1 - accept[candidate]
    return chosen


SELECTIONS = {
    "exponential mechanism": (noisy_argmax_gumbel, softmax),
    "permute-and-flip": (noisy_argmax_exponential, permute_and_flip),
}


def counts(select, scores, scale):
    rows = np.tile(np.array(scores) * 0.5, (DRAWS // 2, 1))
    return np.bincount(select(rows, scale=scale * 0.5), minlength=len(scores))


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize("scores", SCORES)
def test_a_selection_has_its_probabilities(name, scores):
    select, probabilities = SELECTIONS[name]
    assert counts_fit(counts(select, scores, 1.0), probabilities(scores))


@pytest.mark.parametrize("name", SELECTIONS)
def test_a_selection_a_little_too_noisy_is_rejected(name):
    select, probabilities = SELECTIONS[name]
    assert not counts_fit(counts(select, SCORES[0], TOO_WIDE), probabilities(SCORES[0]))


@pytest.mark.parametrize("name", SELECTIONS)
def test_the_two_selections_are_told_apart(name):
    select, _ = SELECTIONS[name]
    (_, other) = SELECTIONS[next(key for key in SELECTIONS if key != name)]
    assert not counts_fit(counts(select, SCORES[0], 1.0), other(SCORES[0]))
