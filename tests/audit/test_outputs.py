"""Outputs of any kind: which are equal, and their numbers."""

import numpy as np
import pytest

from reticent.audit.outputs import known_answers, read_outputs
from reticent.validation import InputError


def codes(one, other):
    return [side.codes.tolist() for side in read_outputs(one, other)]


def values(one, other):
    return [
        None if side.values is None else side.values.tolist() for side in read_outputs(one, other)
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [2, 3]),
        (np.array([1, 2]), [2, 3]),
        ([1.5, -0.0], [-0.0, 0.0]),
        ([np.inf, 1.0], [1.0, 2.0]),
        (["a", "b"], ["b", "c"]),
        (["1", 1], [1, 2]),
        ([("a", 1), None], [None, ("a", 2)]),
        ([frozenset({1}), 1.5], [1.5, 2.5]),
        ([[1, 2], [3, 4]], [[3, 4], [5, 6]]),
        ([True, False], [False, 2]),
        ([1, 2], [2, 2.5]),
        ([(1,), (1, 2)], [(1, 2), (1, 2, 3)]),
    ],
)
def test_equal_outputs_have_equal_codes(one, other):
    assert codes(one, other) == [[0, 1], [1, 2]]


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        ([1, 2.5], [3, 4], [[[1], [2.5]], [[3], [4]]]),
        ([[1, 2]], [[3, 4]], [[[1, 2]], [[3, 4]]]),
        (np.zeros((1, 2, 2)), np.ones((1, 2, 2)), [[[0] * 4], [[1] * 4]]),
        (["1", "2"], ["3", "4"], [None, None]),
        ([np.inf], [-np.inf], [[[1e150]], [[-1e150]]]),
    ],
)
def test_numbers_are_read(one, other, wanted):
    assert values(one, other) == wanted


def test_numbers_beside_other_things_are_read_too():
    one, other = read_outputs([1.5, None], ["none", 2])
    np.testing.assert_array_equal(one.values, [[1.5], [np.nan]])
    np.testing.assert_array_equal(other.values, [[np.nan], [2.0]])


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ([{}], [{}], "hashable, got dict"),
        ([np.ones(2)], [np.ones(3)], r"one shape on both inputs, got \(2,\) and \(3,\)"),
        ([np.ones(2), np.ones(3)], [np.ones(2)], "arrays must hold numbers and have one shape"),
        ([np.array(["a"])], [np.array(["b"])], "arrays must hold numbers"),
        ([["a"]], [["b"]], "hashable, got list"),
        ([[1.0, None]], [[1.0, 2.0]], "hashable, got list"),
        ([1.0, 2.0], [1.0, np.nan], "must not be NaN"),
        ([np.float32("nan")], [1], "must not be NaN"),
        (np.array([[1.0, np.nan]]), np.ones((1, 2)), "must not be NaN"),
        (["a", np.nan], ["a", "b"], "must not be NaN"),
        ([("a", (1, np.nan))], ["a"], "must not be NaN"),
        ([complex(0, np.nan)], [1j], "must not be NaN"),
        ([None, None], [None, None], "must not all be None"),
    ],
)
def test_one_line_for_outputs_that_cannot_be_read(one, other, message):
    with pytest.raises(InputError, match=message) as caught:
        read_outputs(one, other)
    assert "\n" not in str(caught.value)


def test_inputs_of_the_shape_of_outputs_are_the_answers():
    outputs, _ = read_outputs([[1.0, 2.0]], [[1.0, 2.0]])
    found = known_answers([0, 0], [1, -2], outputs, 1.5)
    assert found.one.tolist() == [0, 0]
    assert found.other.tolist() == [1, -2]
    assert found.scale == 2.0


@pytest.mark.parametrize("inputs", [([0], [1]), ("a", "b"), ([0, 0], [1, "b"]), (None, [0, 1])])
def test_other_inputs_are_not(inputs):
    outputs, _ = read_outputs([[1.0, 2.0]], [[1.0, 2.0]])
    assert known_answers(*inputs, outputs, 1.0) is None


def test_without_a_distance_or_a_claim_there_is_no_scale():
    outputs, _ = read_outputs([1.0], [1.0])
    assert known_answers(0, 0.0, outputs, 1.0).scale is None
    assert known_answers(0, 1, outputs, 0.0).scale is None
