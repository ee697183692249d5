"""Matrix Laplace noise as it is drawn: exact to the last bit, and of the right distribution."""

import functools
import itertools
import math

import numpy as np
import pytest
from flint import arb
from scipy import stats

from reticent import Sensitivity
from reticent.mechanisms import BlockL2Laplace, MatrixLaplace
from reticent.mechanisms.rounded import balls, kernels
from reticent.mechanisms.rounded.grid import LARGEST_CELL, frame
from reticent.mechanisms.rounded.matrix_laplace import (
    _difference,
    _entry,
    matrix_laplace_grid,
    release_matrix,
    rounded_matrix_laplace,
)
from reticent.mechanisms.structured import from_upper_triangle, upper_triangle
from reticent.randomness import SecureBits, seeded
from tests.mechanisms.rounded.goodness import ALARM, follows

EVERYTHING_OPEN = 1e15


def words_of(order, *identity):
    size = 2 * order * (order + 1)
    return seeded("matrix", order, *identity).integers(0, 2**64, size=size, dtype=np.uint64)


def continued(*identity):
    rng = seeded("bits", *identity)
    return lambda count: (
        int(rng.integers(0, 2**63)) >> (63 - count)
        if count < 64
        else int(rng.integers(0, 2**64, dtype=np.uint64))
    )


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("exponent", [10, 30])
def test_the_slow_path_gives_what_the_fast_path_gives_for_the_same_bits(order, exponent):
    """With a bound of 10¹⁵ times the size every entry is decided in ball arithmetic."""
    grid = frame(1.0, 2.0**-exponent)
    values = seeded("values", order).normal(size=order * (order + 1) // 2) * 50
    words = words_of(order, exponent)

    def unasked(_count):
        raise AssertionError("a decided entry asks for bits")

    fast = release_matrix(values, words, unasked, grid)
    slow = release_matrix(values, words, continued(order), grid._replace(caution=EVERYTHING_OPEN))
    assert np.array_equal(fast, slow)


def test_open_entries_see_one_continuation_of_the_bits():
    """A word of zeros has no bound: its Gaussian is known by the bits that follow, to all entries.

    It is the first of row 0; the other of its pair stands in row 1. From entries (0, 2) and (1, 2)
    follow both, from them entry (0, 0), and together they are √(−2·ln u) long, u below 2⁻⁶⁴.
    """
    words = words_of(3, "open")
    words[0] = 0
    asked, bits = itertools.count(), continued("open")

    def extra(count):
        next(asked)
        return bits(count)

    out = from_upper_triangle(release_matrix(np.zeros(6), words, extra, frame(1.0, 2.0**-40)))
    assert next(asked) > 0
    noise, error = np.empty(words.size), np.empty(words.size)
    kernels.gaussian_noise(words, noise, error)
    assert np.isinf(error[0])
    rows, signs = noise.reshape(3, 8), np.repeat([1.0, -1.0], 4)
    first = (2 * out[0, 2] - (signs * rows[0] * rows[2])[1:].sum()) / rows[2, 0]
    second = (2 * out[1, 2] - np.delete(signs * rows[1] * rows[2], 4).sum()) / -rows[2, 4]
    assert 128 * math.log(2) < first**2 + second**2 < 128 * math.log(2) + 50
    rows[0, 0] = first
    assert out[0, 0] == pytest.approx((signs * rows[0] * rows[0]).sum() / 2, abs=1e-9)
    assert out[2, 2] == pytest.approx((signs * rows[2] * rows[2]).sum() / 2, abs=1e-11)


def test_the_error_bound_holds_and_is_not_vacuous():
    order = 4
    words = words_of(order, "bound")
    noise, error = np.empty(words.size), np.empty(words.size)
    kernels.gaussian_noise(words, noise, error)
    shape, size = (order, 2 * (order + 1)), order * (order + 1) // 2
    out, bound = np.empty(size), np.empty(size)
    _difference(noise.reshape(shape), error.reshape(shape), out, bound)
    pool = balls.Pool(words, continued("bound"))
    with balls.precision(200):
        for place, (i, j) in enumerate(zip(*np.triu_indices(order), strict=True)):
            exact = _entry(pool, int(i), int(j))
            assert abs(exact - arb(float(out[place]))) < arb(float(bound[place]))
    assert bound.max() < 1e-12


def test_values_are_not_clamped_and_outputs_are():
    """Far beyond the grid the output saturates; nearer by, the value moves it one to one."""
    grid = frame(1.0, 2.0**-12)
    words = words_of(2, "saturated")
    here = release_matrix(np.zeros(3), words, continued(0), grid)
    far = 2.0**39 + 2.0**-1  # 2⁵¹ cells, where ordinary releases clamp
    moved = release_matrix(np.full(3, far), words, continued(0), grid)
    assert np.array_equal(moved - far, here)
    outermost = LARGEST_CELL * 2.0**-12
    assert np.array_equal(
        release_matrix(np.array([1e300, -1e300, 2.0**60]), words, continued(0), grid),
        [outermost, -outermost, outermost],
    )


def test_releases_lie_on_the_grid_and_differ():
    noise = MatrixLaplace(scale=3.0, sensitivity=Sensitivity(nuclear=1.0))
    step = noise.grid_in(15)
    assert step == matrix_laplace_grid(3.0, 5)
    one, other = noise.release(np.zeros(15)), noise.release(np.zeros(15))
    assert np.array_equal(one / step, np.rint(one / step))
    assert not np.array_equal(one, other)
    assert np.array_equal(noise.release(np.zeros(15), grid=0.5) * 2 % 1, np.zeros(15))


# --- distribution: each check alarms falsely with probability 1e-8 at most ------------------------

MANY = 4_000


@functools.cache
def cumulative(noise, shape):
    """Of a difference of two Gamma(shape, noise.scale), by the trapezoidal rule."""
    grid = np.linspace(-60, 60, 4_001) * noise.scale
    density = np.exp(noise._along(grid, shape))
    steps = (density[1:] + density[:-1]) / 2 * np.diff(grid)
    total = np.concatenate([[0.0], np.cumsum(steps)])
    assert total[-1] == pytest.approx(1.0, abs=1e-6)
    return lambda x: np.interp(x, grid, total / total[-1])


@pytest.fixture(scope="module")
def drawn():
    """Many releases of a 3 × 3 matrix, each as the code draws it, on a grid too fine to matter."""
    return np.stack(
        [rounded_matrix_laplace(np.zeros(6), scale=1.0, grid=2.0**-30) for _ in range(MANY)]
    )


def planted(order, many, degrees):
    """The same in floats with so many degrees of freedom in the first matrix."""
    rng = seeded("planted", order, degrees)
    one = rng.normal(size=(many, order, degrees))
    other = rng.normal(size=(many, order, order + 1))
    return upper_triangle((one @ one.transpose(0, 2, 1) - other @ other.transpose(0, 2, 1)) / 2)


DIAGONAL, ABOVE = (0, 3, 5), (1, 2, 4)


def marginals_fit(sample):
    """On the diagonal Gamma(2) differences, above it Gamma(4) differences of half the scale."""
    noise = MatrixLaplace(scale=1.0, sensitivity=Sensitivity(nuclear=1.0))
    half = MatrixLaplace(scale=0.5, sensitivity=Sensitivity(nuclear=1.0))
    on, above = cumulative(noise, 2.0), cumulative(half, 4.0)
    return all(follows(sample[:, place], on) for place in DIAGONAL) and all(
        follows(sample[:, place], above) for place in ABOVE
    )


@pytest.mark.slow
def test_marginals_are_those_of_the_theorem(drawn):
    assert marginals_fit(drawn)


def test_marginals_of_a_matrix_with_too_few_degrees_of_freedom_are_rejected():
    assert marginals_fit(planted(3, MANY, 4))
    assert not marginals_fit(planted(3, MANY, 3))


@pytest.mark.slow
def test_entries_do_not_depend_on_the_basis(drawn):
    """QᵀNQ has the same marginals, which independent entries would not have."""
    turn = np.linalg.qr(seeded("turn").normal(size=(3, 3)))[0]
    assert marginals_fit(upper_triangle(turn.T @ from_upper_triangle(drawn) @ turn))


def trace_alarm(traces, order):
    """Whether a mean of traces is too far from 0: its variance is p(p + 1), and it is all but
    Gaussian; the bound is that of 1e-8."""
    spread = math.sqrt(order * (order + 1) / len(traces))
    return abs(np.mean(traces)) > stats.norm.isf(ALARM / 2) * spread


@pytest.mark.slow
def test_the_trace_at_230_finds_one_degree_of_freedom():
    """With p degrees of freedom in one matrix the mean is p/2: 8.6 standard errors of 300 draws."""
    order, many = 230, 300
    diagonal = np.flatnonzero(np.equal(*np.triu_indices(order)))
    zeros = np.zeros(order * (order + 1) // 2)
    words = SecureBits()
    grid = frame(1.0, matrix_laplace_grid(1.0, order))
    traces, squares = [], []
    for _ in range(many):
        noise = release_matrix(zeros, words.words(2 * order * (order + 1)), words.extra_bits, grid)
        traces.append(noise[diagonal].sum())
        squares.append((noise**2).sum() + (np.delete(noise, diagonal) ** 2).sum())
    assert not trace_alarm(traces, order)
    rng = seeded("chi")
    sizes = np.array([order * order, order * (order + 1)])
    wrong = np.diff(rng.chisquare(sizes, size=(many, 2)), axis=1)[:, 0] / 2
    assert trace_alarm(wrong, order)
    # ‖N‖² has the mean p·p(p + 1)·(1/2 + ...): p(p + 1) on the diagonal, p(p − 1)(p + 1)/2 beside.
    expected = order * (order + 1) + order * (order - 1) * (order + 1) / 2
    assert np.mean(squares) == pytest.approx(expected, rel=2e-3)


def test_blocks_are_released_with_noise_of_their_own():
    """Of 10 blocks of 400 entries each norm is Gamma(400): within 7 deviations (below 1e-10)."""
    noise = BlockL2Laplace(scale=1.0, sensitivity=Sensitivity(l21=1.0, blocks=10))
    norms = np.linalg.norm(noise.release(np.zeros(4000)).reshape(10, 400), axis=1)
    assert (np.abs(norms - 400) < 7 * 20).all()
    assert len(set(norms.tolist())) == 10
