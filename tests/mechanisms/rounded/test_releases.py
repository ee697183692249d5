"""Laws of every release: shape, grid, range; and no noise twice."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from reticent.mechanisms.rounded import (
    default_grid,
    noisy_argmax_exponential,
    noisy_argmax_gumbel,
    rounded_gaussian,
    rounded_l2_laplace,
    rounded_laplace,
    rounded_logistic,
    saturation,
)
from tests.test_randomness import in_child

RELEASES = [rounded_logistic, rounded_laplace, rounded_gaussian, rounded_l2_laplace]
SELECTIONS = [noisy_argmax_gumbel, noisy_argmax_exponential]

finite = st.floats(allow_nan=False, allow_infinity=False)
shapes = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
scales = st.floats(2.0**-900, 2.0**900)
steps = st.integers(-45, 44)  # grid/scale as a power of two


@pytest.mark.parametrize("release", RELEASES)
@settings(max_examples=60)
@given(value=arrays.arrays(np.float64, shapes, elements=finite), scale=scales, step=steps)
def test_any_finite_value_gives_finite_grid_points_of_its_shape(release, value, scale, step):
    grid = math.ldexp(1.0, math.frexp(scale)[1] + step)
    noisy = release(value, scale=scale, grid=grid)
    assert noisy.dtype == np.float64
    assert noisy.shape == value.shape
    assert np.isfinite(noisy).all()
    places = noisy / grid
    assert (places == np.rint(places)).all()
    assert (np.abs(places) <= 2.0**52).all()
    assert not np.signbit(noisy[noisy == 0]).any()


@pytest.mark.parametrize("release", RELEASES)
def test_a_value_beyond_the_range_is_clamped_before_the_noise(release):
    limit = saturation(1.0, 2.0**-20)
    noisy = release(np.array([1e300, -1e300]), scale=1.0, grid=2.0**-20)
    assert np.abs(np.abs(noisy) - limit.value).max() < 200
    assert (np.abs(noisy) <= limit.output).all()


@pytest.mark.parametrize("release", RELEASES)
def test_the_value_is_not_changed_and_may_be_a_view(release):
    values = np.arange(24.0).reshape(4, 6)
    kept = values.copy()
    noisy = release(values[::2, ::-1].T, scale=1e-6)
    assert (values == kept).all()
    assert np.abs(noisy - values[::2, ::-1].T).max() < 1e-3


@pytest.mark.parametrize("release", RELEASES)
def test_refusals_reach_the_caller(release):
    with pytest.raises(ValueError, match=r"grid must be a power of two, got 0\.3"):
        release(np.zeros(2), scale=1.0, grid=0.3)
    with pytest.raises(ValueError, match="scale must be > 0"):
        release(np.zeros(2), scale=-1.0)


@pytest.mark.parametrize("select", SELECTIONS)
@pytest.mark.parametrize("shape", [(3,), (7, 3), (0, 3), (2, 5, 3), (1, 20_000)])
def test_a_selection_has_one_winner_per_row(select, shape):
    winners = select(np.zeros(shape), scale=1.0)
    assert winners.dtype == np.int64
    assert winners.shape == shape[:-1]
    assert ((winners >= 0) & (winners < shape[-1])).all()


@pytest.mark.parametrize("select", SELECTIONS)
@given(scores=arrays.arrays(np.float64, (3, 4), elements=finite), scale=st.floats(1e-300, 1e300))
@settings(max_examples=40)
def test_any_finite_scores_have_winners(select, scores, scale):
    winners = select(scores, scale=scale)
    far_ahead = np.sort(scores / 2)[:, -1] - np.sort(scores / 2)[:, -2] > 500 * scale
    assert (winners == scores.argmax(axis=1))[far_ahead].all()


@pytest.mark.parametrize("select", SELECTIONS)
def test_a_selection_refuses_nothing_to_select_from(select):
    with pytest.raises(ValueError, match=r"at least one candidate per row, got shape \(3, 0\)"):
        select(np.zeros((3, 0)), scale=1.0)
    with pytest.raises(ValueError, match="scale must be > 0 and finite, got nan"):
        select(np.zeros(3), scale=math.nan)


@pytest.mark.parametrize("release", RELEASES)
def test_forked_children_never_release_the_same_noise(release):
    def noisy():
        return release(np.zeros(1000), scale=1.0).view(np.uint64)

    draws = [in_child(noisy), in_child(noisy), noisy()]
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        assert draws[i].size == 1000
        assert (draws[i] == draws[j]).sum() < 5


def test_threads_never_release_the_same_noise():
    with ThreadPoolExecutor(4) as threads:
        draws = list(
            threads.map(
                lambda _: rounded_laplace(np.zeros(500), scale=1.0, grid=2.0**-30), range(8)
            )
        )
    assert np.unique(np.concatenate(draws)).size > 3950


def test_the_default_grid_is_used():
    noisy = rounded_logistic(np.zeros(1000), scale=3.0)
    assert (noisy % default_grid(3.0) == 0).all()
    assert (noisy % (2 * default_grid(3.0)) != 0).any()
