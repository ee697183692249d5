"""Row maps: no norm above its bound, and no row that depends on others or on the layout."""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reticent.training import row_kernels
from reticent.training.features import clip_rows, public_map, radius, scale_rows, shrink
from reticent.validation import InputError
from tests.training.row_layouts import (
    LARGEST,
    any_rows,
    assert_rows_alone,
    same_bits,
    squared_norm,
    whole,
)

BOUNDS = st.sampled_from([1e-75, 0.1, 1.0, 3.0, 1e75])
MAPS = {"clip": clip_rows, "scale": scale_rows}


def assert_within(rows, bound):
    assert all(squared_norm(row) <= whole(bound) ** 2 for row in rows)


def one_after_another(row, limit, lengthen):
    """What the kernel computes, in Python's floats: sequential, without fused operations."""
    largest = max(map(abs, row))
    power = math.ldexp(1.0, min(max(math.frexp(largest)[1] - 1, -1000), 1000))
    total = 0.0
    for entry in row:
        total += (entry / power) * (entry / power)
    norm = math.sqrt(total)
    if norm <= limit / power and not (lengthen and norm > 0):
        return row
    return [entry / power * (limit / norm) for entry in row]


@pytest.mark.parametrize("norms", MAPS)
class TestNorms:
    @given(rows=any_rows(), bound=BOUNDS)
    def test_a_row_is_a_function_of_itself_alone(self, norms, rows, bound):
        assert_rows_alone(lambda given: MAPS[norms](given, bound), rows)

    @given(rows=any_rows(), bound=BOUNDS)
    def test_no_norm_exceeds_the_bound(self, norms, rows, bound):
        assert_within(MAPS[norms](rows, bound), bound)

    @given(rows=any_rows(), bound=BOUNDS)
    def test_sums_run_from_first_to_last_without_fused_operations(self, norms, rows, bound):
        limit = bound / shrink(rows.shape[1])
        expected = [one_after_another(row, limit, norms == "scale") for row in rows.tolist()]
        assert same_bits(MAPS[norms](rows, bound), np.array(expected))

    @pytest.mark.parametrize("width", [1, 2, 1280, 10_000])
    @pytest.mark.parametrize("size", [1.0, 2.0**-1070, 2.0**1010])
    def test_narrow_and_wide_rows(self, norms, width, size):
        """A batch of one of 10,000 columns is where ``einsum`` adds in another order."""
        rows = np.random.default_rng(width).normal(size=(3, width)) * size
        least = 1 - Fraction(4 * (width + 8), 2**53)  # no more is lost than rounding needs
        for bound in (1e-75, 1.0, 1e75):
            assert_rows_alone(lambda given, bound=bound: MAPS[norms](given, bound), rows)
            fitted = MAPS[norms](rows, bound)
            assert_within(fitted, bound)
            if norms == "scale" or size > 1e75:
                assert all(squared_norm(row) > (whole(bound) * least) ** 2 for row in fitted)

    def test_rows_of_zeros_and_no_rows_stay(self, norms):
        zeros = np.array([[0.0, -0.0], [-0.0, 0.0]])
        assert same_bits(MAPS[norms](zeros, 1.0), zeros)
        assert MAPS[norms](np.zeros((0, 3)), 1.0).shape == (0, 3)

    def test_the_rows_given_are_left_alone(self, norms):
        rows = np.full((2, 3), 7.0)
        MAPS[norms](rows, 1.0)
        assert (rows == 7.0).all()

    def test_what_is_no_number_counts_as_zero(self, norms):
        for odd in (np.nan, np.inf, -np.inf):  # refused before; changed since, it counts as zero
            assert not MAPS[norms](np.array([[odd, 9.0], [9.0, odd]]), 1.0).any()


@given(rows=any_rows(), bound=BOUNDS)
def test_shorter_rows_stay_bit_by_bit(rows, bound):
    limit = whole(bound) * (1 - Fraction(4 * (rows.shape[1] + 8), 2**53))
    for row, clipped in zip(rows, clip_rows(rows, bound), strict=True):
        if squared_norm(row) <= limit**2:
            assert same_bits(row, clipped)


def on_grid_lines(width, seed):
    """A row and a bound such that the clipped entries are whole multiples of 2⁻²⁰, or just off.

    Where another order of summation moves the norm by one unit in the last place, cutting to the
    grid then moves every entry by a whole step.
    """
    rng = np.random.default_rng(seed)
    entries = np.trunc(rng.normal(size=width) / math.sqrt(width) * 2.0**20) * 2.0**-20
    bound = math.sqrt(math.fsum(entries**2)) * shrink(width)
    return entries * rng.uniform(3, 9), bound


def whole_steps(rows, bound):
    """The sum of clipped rows cut to a grid, as a noisy mean takes it, in steps of 2⁻²⁰."""
    return np.trunc(clip_rows(rows, bound) * 2.0**20).astype(np.int64).sum(axis=0)


@pytest.mark.parametrize("seed", range(8))
def test_one_record_more_moves_a_sum_on_a_grid_by_the_bound_at_most(seed):
    """Two records and one of them: by ``einsum`` the sums were up to 1.0001 bounds apart."""
    row, bound = on_grid_lines(10_000, seed)
    for direction in (-1.0, 1.0):
        both = np.array([row, direction * np.where(row < 0, -1.0, 1.0)])
        for table in (both, np.asfortranarray(both)):
            moved = whole_steps(table, bound) - whole_steps(row[None], bound)
            steps = int((moved**2).sum())
            assert Fraction(steps, 2**40) <= Fraction(bound) ** 2


@pytest.mark.parametrize("width", [3, 64, 1280])
def test_a_table_in_another_layout_has_the_same_sum(width):
    rows, bounds = zip(*(on_grid_lines(width, seed) for seed in range(40)), strict=True)
    for row, bound in zip(rows, bounds, strict=True):
        table = np.tile(row, (5, 1))
        expected = whole_steps(table, bound)
        assert np.array_equal(whole_steps(np.asfortranarray(table), bound), expected)


class TestPublicMap:
    @given(
        rows=any_rows(),
        bound=BOUNDS,
        intercept=st.sampled_from([0.0, 1e-3, 1.0]),
        norms=st.sampled_from(["clip", "scale"]),
        centre=st.sampled_from([None, "a row", 0.0, 0.3, 5e-324, LARGEST, -LARGEST]),
    )
    @example(  # odd multiples of the smallest float round when they are halved
        rows=np.array([[5e-324, -3 * 5e-324]]), bound=1.0, intercept=1.0, norms="scale", centre=0.0
    )
    def test_a_function_of_one_row_within_the_radius(self, rows, bound, intercept, norms, centre):
        if centre is not None:
            width = rows.shape[1]
            centre = rows[0].copy() if centre == "a row" else np.full(width, centre)

        def mapped(given):
            return public_map(given, bound=bound, intercept=intercept, centre=centre, norms=norms)

        assert_rows_alone(mapped, rows)
        assert_within(mapped(rows), radius(bound, intercept))
        if not intercept:
            assert_within(mapped(rows), bound)

    def test_a_row_at_the_centre_becomes_zero(self):
        rows = np.array([[3.0, 4.0]])
        for norms in MAPS:
            mapped = public_map(rows, bound=1.0, intercept=0.0, centre=rows[0], norms=norms)
            assert (mapped == 0).all()

    @given(rows=any_rows())
    def test_a_constant_is_appended_in_c_order(self, rows):
        longer = public_map(
            np.asfortranarray(rows), bound=2.0, intercept=0.25, centre=None, norms="clip"
        )
        assert longer.flags.c_contiguous
        assert np.array_equal(longer[:, :-1], clip_rows(rows, 2.0))
        assert (longer[:, -1] == 0.5).all()


def test_one_machine_code_serves_every_layout():
    rows = np.random.default_rng(0).normal(size=(5, 7))
    assert_rows_alone(lambda given: clip_rows(given, np.float64(1.0)), rows)
    assert_rows_alone(lambda given: row_kernels.products(given, rows.T), rows)
    for kernel in (row_kernels._fit_rows, row_kernels._add_products):
        assert len(kernel.signatures) == 1


@pytest.mark.slow
def test_heads_load_no_compiler_before_they_see_rows():
    code = "import sys, reticent.training; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_norms_have_two_names():
    from reticent.training.features import as_norms

    assert as_norms("scale") == "scale"
    with pytest.raises(InputError, match="norms must be 'clip' or 'scale', got 'cut'"):
        as_norms("cut")
