"""Bad input gets one line with name, rule and value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from reticent import validation
from reticent.validation import InputError

NUMBER_CHECKS = [
    validation.finite,
    validation.positive,
    validation.non_negative,
    validation.probability,
    validation.open_probability,
    validation.sampling_rate,
]


@pytest.mark.parametrize("check", NUMBER_CHECKS)
@pytest.mark.parametrize(
    "value",
    [float("nan"), np.float32("nan"), float("inf"), -float("inf"), None, "1", True, 1j, [1.0]],
)
def test_no_check_lets_these_pass(check, value):
    with pytest.raises(InputError, match=r"^size ") as caught:
        check("size", value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (validation.positive, [1e-300, 1, np.float64(3)], [0, -1]),
        (validation.non_negative, [0, 5], [-1e-300]),
        (validation.probability, [0, 0.5], [1, -0.1]),
        (validation.open_probability, [0.5], [0, 1]),
        (validation.sampling_rate, [0.1, 1], [0, 1.1]),
        (validation.renyi_order, [1.0001, float("inf")], [1, float("nan")]),
        (validation.count, [1, np.int64(4)], [0, 1.0, True, None]),
    ],
)
def test_bounds(check, good, bad):
    for value in good:
        assert check("x", value) == value
    for value in bad:
        with pytest.raises(InputError, match=r"^x must"):
            check("x", value)


def test_an_integer_beyond_floats():
    with pytest.raises(InputError, match="must fit a float"):
        validation.positive("x", 10**400)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], r"must not be empty, got shape \(0,\)"),
        (np.zeros((3, 0)), r"must not be empty, got shape \(3, 0\)"),
        ([1.0, float("nan")], "must be finite, got NaN"),
        ([1.0, float("-inf")], "must be finite, got infinity"),
        ([1j], "must hold real numbers, got an array of complex128"),
        ([object()], "must hold real numbers, got an array of object"),
        (["a"], "must hold real numbers, got an array of <U1"),
        ([True], "must hold real numbers, got an array of bool"),
        ([[1.0], [1.0, 2.0]], "must be rectangular"),
        ([2**60], r"at most 2\*\*53"),
        ([-(2**60)], r"at most 2\*\*53"),
        (np.array([np.datetime64("2020")]), "must hold real numbers"),
    ],
)
def test_float_array_refuses(value, message):
    with pytest.raises(InputError, match=message):
        validation.float_array("value", value)


@pytest.mark.parametrize("value", [[1.5], [], ["a"], [2**60], [True]])
def test_integer_array_refuses(value):
    with pytest.raises(InputError, match=r"^value must"):
        validation.integer_array("value", value)


@given(hnp.arrays(hnp.floating_dtypes() | hnp.integer_dtypes(), hnp.array_shapes(min_dims=0)))
def test_float_array_keeps_shape_or_refuses_in_one_line(array):
    finite = array.size > 0 and bool(np.isfinite(array).all())
    exact = array.dtype.kind == "f" or all(abs(int(entry)) <= 2**53 for entry in array.flat)
    if finite and exact:
        result = validation.float_array("value", array)
        assert result.shape == array.shape
        assert np.array_equal(result, array.astype(np.float64))
    else:
        with pytest.raises(InputError, match=r"^value must") as caught:
            validation.float_array("value", array)
        assert "\n" not in str(caught.value)


@given(st.text())
def test_describe_is_short(value):
    assert len(validation.describe(value)) < 60


def test_entries_of_arrays_are_never_shown():
    with pytest.raises(InputError) as caught:
        validation.float_array("value", [12345.678, float("nan")])
    assert "12345" not in str(caught.value)
