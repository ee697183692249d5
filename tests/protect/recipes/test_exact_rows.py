"""Unit rows on a grid: functions of their record alone, at most 1 long; products are exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.protect.recipes import exact_rows
from reticent.protect.recipes.exact_rows import on_grid, row_products, unit_rows
from reticent.protect.recipes.regression import within
from reticent.training.row_kernels import products
from tests.training.row_layouts import any_rows, assert_rows_alone, same_bits, squared_norm, whole

CENTRES = st.sampled_from([0.0, -0.0, 0.01, -0.5])


@given(rows=any_rows(), centre=CENTRES)
def test_a_unit_row_is_a_function_of_its_record_alone(rows, centre):
    middle = np.full(rows.shape[1], centre)
    assert_rows_alone(lambda given: unit_rows(given, middle), rows)


@given(rows=any_rows(), centre=CENTRES)
def test_no_unit_row_is_longer_than_one_and_all_are_on_the_grid(rows, centre):
    fitted = unit_rows(rows, np.full(rows.shape[1], centre))
    assert all(squared_norm(row) <= whole(1.0) ** 2 for row in fitted)
    steps = fitted * 2.0**20
    assert np.array_equal(steps, np.trunc(steps))


@pytest.mark.parametrize("width", [1, 1280, 10_000])
@pytest.mark.parametrize("size", [1.0, 2.0**-1070, 2.0**1010])
def test_narrow_and_wide_unit_rows(width, size):
    rows = np.random.default_rng(width).normal(size=(3, width)) * size
    assert_rows_alone(lambda given: unit_rows(given, np.zeros(width)), rows)
    for row in unit_rows(rows, np.zeros(width)):
        assert squared_norm(row) <= whole(1.0) ** 2
        assert float(row @ row) > 1 - 1e-5 * width**0.5  # a step for each entry at most


def test_a_row_at_the_centre_becomes_a_row_of_zeros():
    rows = np.array([[-0.0, 0.0], [0.25, -3.0]])
    for centre in (rows[0], rows[1]):
        fitted = unit_rows(np.array([centre]), centre)
        assert same_bits(fitted, np.zeros((1, 2)))
    assert same_bits(unit_rows(rows[:1], np.zeros(2)), np.zeros((1, 2)))


def test_the_rows_given_are_left_alone_and_one_machine_code_serves_every_layout():
    rows = np.random.default_rng(0).normal(size=(5, 7))
    kept, centre = rows.copy(), np.full(7, 0.1)
    centre.flags.writeable = False
    assert_rows_alone(lambda given: unit_rows(given, centre), rows)
    assert_rows_alone(lambda given: unit_rows(given, np.full(14, 0.1)[::2]), rows)
    assert same_bits(rows, kept)
    assert len(exact_rows._unit_rows.signatures) == 1


@given(rows=any_rows(), seed=st.integers(0, 99))
def test_products_with_a_matrix_on_the_grid_are_exact_in_any_order(rows, seed):
    rng = np.random.default_rng(seed)
    unit = unit_rows(rows, np.zeros(rows.shape[1]))
    matrix = rng.normal(size=(rows.shape[1], 3))
    turned = on_grid(matrix, float(np.linalg.norm(matrix, axis=0).max()))
    order = rng.permutation(rows.shape[1])
    expected = np.array(
        [[sum(map(int_product, row, column)) for column in turned.T] for row in unit]
    )
    for product in (unit @ turned, unit[:, order] @ turned[order]):
        assert [[whole(entry) for entry in row] for row in product.tolist()] == expected.tolist()


def int_product(one, other):
    """Of two floats as a whole multiple of 2⁻¹⁰⁷⁴; exact for multiples of 2⁻⁵³⁷."""
    product = whole(float(one)) * whole(float(other))
    assert product % 2**1074 == 0
    return product // 2**1074


@given(rows=any_rows(), bound=st.sampled_from([5e-324, 1e-300, 0.3, 1.0, 1e300]))
def test_a_regressors_rows_are_functions_of_one_record_and_at_most_one_long(rows, bound):
    assert_rows_alone(lambda given: within(given, bound), rows)
    assert all(squared_norm(row) <= whole(1.0) ** 2 for row in within(rows, bound))


def test_products_with_a_matrix_on_the_grid_are_exact_and_with_others_in_one_order():
    rng = np.random.default_rng(8)
    rows = unit_rows(rng.normal(size=(70, 33)), np.zeros(33))
    matrix = rng.normal(size=(33, 5))
    matrix /= np.linalg.norm(matrix, axis=0)
    on = on_grid(matrix, 1.0)
    assert np.array_equal(row_products(rows, on), products(rows, on))
    for start in (1, 7):
        for one in (on, matrix, 100 * on):
            assert np.array_equal(row_products(rows[start:], one), row_products(rows, one)[start:])
