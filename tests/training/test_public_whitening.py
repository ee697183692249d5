"""Whitening by public rows: each private row by itself, finite, and in one order of summation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.training.public_step import PublicWhitening
from reticent.training.row_kernels import products
from reticent.validation import InputError
from tests.training.row_layouts import any_rows, assert_rows_alone, same_bits


def whitening(width, seed=0):
    return PublicWhitening().fit(np.random.default_rng(seed).normal(size=(50, width)))


def one_after_another(row, matrix):
    """The product in Python's floats: over the rows of the matrix, from first to last."""
    total = [0.0] * matrix.shape[1]
    for entry, column in zip(row.tolist(), matrix.tolist(), strict=True):
        total = [sum_ + entry * weight for sum_, weight in zip(total, column, strict=True)]
    return np.array(total)


class TestTransform:
    @given(rows=any_rows())
    def test_a_row_is_a_function_of_itself_alone(self, rows):
        assert_rows_alone(whitening(rows.shape[1]).transform, rows)

    @given(rows=any_rows())
    def test_every_record_of_finite_numbers_stays_finite(self, rows):
        white = whitening(rows.shape[1]).transform(rows)
        assert np.isfinite(white.astype(np.float32)).all()

    @pytest.mark.parametrize("width", [1, 3, 100, 784])
    def test_a_record_more_moves_no_other_record(self, width):
        """A BLAS product rounded each row of a batch differently from the same row by itself."""
        rows = np.random.default_rng(width).normal(size=(200, width))
        step = whitening(width)
        together = step.transform(rows)
        for count in (1, 2, 7, 199):
            assert same_bits(step.transform(rows[:count]), together[:count])
            assert same_bits(step.transform(np.asfortranarray(rows)[-count:]), together[-count:])

    def test_float32_rows_are_float64_rows_of_the_same_numbers(self):
        rows = np.random.default_rng(1).normal(size=(9, 5)).astype(np.float32)
        step = whitening(5)
        assert same_bits(step.transform(rows), step.transform(rows.astype(np.float64)))

    def test_it_is_the_product_of_centred_rows(self):
        rows = np.random.default_rng(2).normal(size=(70, 6)) + 3.0
        step = whitening(6)
        expected = (rows - step.mean_) @ step.components_
        assert step.transform(rows) == pytest.approx(expected, rel=1e-12, abs=1e-12)

    def test_there_may_be_no_records(self):
        assert whitening(4).transform(np.zeros((0, 4))).shape == (0, 4)

    def test_a_message_shows_no_cell(self):
        with pytest.raises(ValueError, match="could not convert") as caught:
            whitening(1).transform([["secret"]])
        assert "secret" not in str(caught.value)


@given(rows=any_rows(), columns=st.integers(1, 9), seed=st.integers(0, 99))
def test_products_add_up_from_first_to_last_without_fused_operations(rows, columns, seed):
    rows = np.clip(rows, -1e100, 1e100)
    matrix = np.random.default_rng(seed).normal(size=(rows.shape[1], columns))
    expected = np.array([one_after_another(row, matrix) for row in rows])
    assert same_bits(products(rows, matrix), expected)
    assert same_bits(products(rows, np.asfortranarray(matrix)), expected)


def test_more_rows_than_share_a_block_of_the_matrix():
    rng = np.random.default_rng(0)
    rows, matrix = rng.normal(size=(131, 6)), rng.normal(size=(6, 3))
    expected = np.array([one_after_another(row, matrix) for row in rows])
    assert same_bits(products(rows, matrix), expected)


def test_shrinkage_must_be_positive():
    with pytest.raises(InputError, match="shrinkage must be > 0"):
        PublicWhitening(shrinkage=0.0).fit([[1.0], [2.0]])
