"""Books in float64 of float32 rows: within their bound of the exact numbers, NaN stays."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reticent.randomness import seeded
from reticent.training.gradients.wide_kernels import add_weighted, clip_factors, squared_norms

UNIT = Fraction(1, 2**53)


@pytest.fixture
def rows() -> np.ndarray:
    """Of many sizes: squares from 2⁻¹²⁰ to 2¹²⁰, and float32's smallest number."""
    rng = seeded("wide kernels")
    sizes = 2.0 ** rng.integers(-60, 60, (3, 1))
    found = (rng.standard_normal((3, 5000)) * sizes).astype(np.float32)
    found[1, :7] = np.float32(2.0**-149)
    return found


def test_squared_norms_are_within_the_bound_of_the_theory(rows: np.ndarray) -> None:
    for square, row in zip(squared_norms(rows), rows, strict=True):
        exact = sum(Fraction(float(entry)) ** 2 for entry in row)
        assert abs(Fraction(float(square)) - exact) <= (2 * row.size + 1) * UNIT * exact


def test_weighted_sums_are_within_the_bound_of_the_theory(rows: np.ndarray) -> None:
    weights = np.array([0.1, 0.7, 1.0])
    total = np.ones(rows.shape[1])
    add_weighted(rows, weights, total)
    for column in (0, 6, 4095, 4096, 4999):
        entries = [Fraction(float(entry)) for entry in rows[:, column]]
        terms = [Fraction(w) * entry for w, entry in zip(weights, entries, strict=True)]
        size = 1 + sum(map(abs, terms))
        assert abs(Fraction(float(total[column])) - 1 - sum(terms)) <= 5 * UNIT * size


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_shows_in_its_row_alone(rows: np.ndarray, bad: float) -> None:
    rows[1, 4321] = bad
    assert np.isfinite(squared_norms(rows)).tolist() == [True, False, True]


def test_factors_clip_every_norm_and_leave_short_ones_alone() -> None:
    squares = np.array([4.0, 1.0, 0.25, 0.0, -1e-9, np.inf, np.nan])
    factors, bad = clip_factors(squares, 1.0, 1.0)
    assert factors.tolist() == [0.5, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    assert bad == 2


def test_no_factor_is_larger_than_that_of_the_exact_root() -> None:
    """With the limit and the slack of docs/theory.md E.5, of squares that are off by as much."""
    squares = seeded("factors").lognormal(0, 20, 2_000)
    entries, limit = 26_010, 0.1
    slack = 1 + (2 * entries + 64 + 8) * 2.0**-53
    factors, _ = clip_factors(squares, limit * (1 - 8 * 2.0**-53), slack)
    largest = 1 + (2 * entries + 8 + 64) * UNIT
    for square, factor in zip(squares, factors, strict=True):
        exact = Fraction(float(square)) * largest
        assert Fraction(float(factor)) ** 2 * exact <= Fraction(limit) ** 2 or factor == 1.0
        assert factor < 1.0 or exact <= Fraction(limit) ** 2 * largest**2
