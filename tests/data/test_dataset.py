"""The value that every loader returns."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from reticent.data import Dataset
from reticent.validation import InputError


def dataset(**changes):
    fields = {
        "name": "three",
        "source": "written by a test",
        "inputs": np.array([[0, 1], [2, 3], [4, 5]], np.float32),
        "labels": [0, 1, 1],
        "classes": ("no", "yes"),
    }
    return Dataset(**{**fields, **changes})


def holed(value, *place, shape=(3, 2)):
    array = np.zeros(shape, np.float32)
    array[place] = value
    return array


def test_labels_are_int64_and_arrays_are_read_only():
    data = dataset(persons=["a", "b", "a"], labels=np.array([0, 1, 1], np.uint8))
    assert data.labels.dtype == np.int64
    for array in (data.inputs, data.labels, data.persons):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(FrozenInstanceError):
        data.name = "other"


def test_images_become_features_by_a_public_constant():
    images = np.array([0, 51, 102, 255], np.uint8).reshape(1, 2, 2, 1)
    data = dataset(inputs=images, labels=[1])
    assert data.features.tolist() == [pytest.approx([0, 0.2, 0.4, 1])]
    assert data.features.dtype == np.float32
    assert data.images is data.inputs


def test_features_keep_the_precision_of_the_inputs():
    for kind in (np.float32, np.float64):
        data = dataset(inputs=np.array([[0.1, 1], [2, 3], [4, 5]], kind))
        assert data.features.dtype == kind
        assert data.features.tobytes() == data.inputs.tobytes()
    assert not data.features.flags.writeable


def test_bytes_that_are_no_images_stay_as_they_are():
    assert dataset(inputs=np.full((3, 2), 7, np.uint8)).features.tolist() == [[7, 7]] * 3


def test_the_wrong_view_is_refused():
    words = dataset(inputs=np.array(["a", "b", "c"]))
    assert words.texts.tolist() == ["a", "b", "c"]
    with pytest.raises(InputError, match="three must be encoded before it has features"):
        _ = words.features
    with pytest.raises(InputError, match="three must hold images"):
        _ = dataset().images
    with pytest.raises(InputError, match="three must hold texts"):
        _ = dataset().texts


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"inputs": holed(np.nan, 1, 1)},
            "inputs must be finite as float32, got NaN in row 1 (counting from 0), column 1",
        ),
        (
            {"inputs": holed(-np.inf, 2, 0), "columns": ("age", "pay")},
            "inputs must be finite as float32, got infinity in row 2 (counting from 0),"
            " column 'age'",
        ),
        (
            {"inputs": holed(np.nan, 4500, 1, shape=(5000, 2)), "labels": None},
            "inputs must be finite as float32, got NaN in row 4500 (counting from 0), column 1",
        ),
        (
            {"inputs": holed(np.nan, 1, 0, 2, 0, shape=(3, 2, 3, 1))},
            "inputs must be finite as float32, got NaN in row 1 (counting from 0),"
            " column (0, 2, 0)",
        ),
        (
            {"labels": [0, 1, 2]},
            "labels must number one of 2 classes from 0, got another in row 2 (counting from 0)",
        ),
        (
            {"labels": [0, -1, 1]},
            "labels must number one of 2 classes from 0, got another in row 1 (counting from 0)",
        ),
        ({"labels": [0, 1]}, "labels must have shape (3,), got (2,)"),
        ({"labels": [0.0, 1.0, 1.0]}, "labels must number the classes, got an array of float64"),
        ({"labels": [0, 1, 1], "classes": ()}, "labels without classes must be real numbers"),
        (
            {"labels": [0.5, np.nan, 1.0], "classes": ()},
            "labels must be finite, got NaN or infinity in row 1 (counting from 0)",
        ),
        ({"classes": ("yes", "yes")}, "classes must differ, got 1 names for 2"),
        ({"classes": "ab"}, "classes must be a list of texts"),
        ({"columns": ("age",)}, "columns must name each feature, got 1 for (3, 2)"),
        (
            {"inputs": np.zeros((3, 2), np.int64)},
            "inputs must be float64, float32, uint8 or texts, got int64",
        ),
        (
            {"inputs": holed(np.inf, 1, 1).astype(np.float64)},
            "inputs must be finite, got infinity in row 1 (counting from 0), column 1",
        ),
        ({"inputs": np.zeros(3, np.float32)}, "inputs must have shape (n, d) or (n, height"),
        ({"inputs": np.zeros((2, 0), np.float32)}, "inputs must have features, got shape (2, 0)"),
        ({"persons": [1, 2]}, "persons must have shape (3,), got (2,)"),
        (
            {"persons": [1.0, 2.0, 3.0]},
            "persons must be whole numbers or texts, got another in row 0 (counting from 0)",
        ),
        (
            {"persons": np.ones(3)},
            "persons must be whole numbers or texts, got an array of float64",
        ),
        ({"name": " "}, "name must be a non-empty text"),
    ],
)
def test_what_is_wrong_is_refused_in_one_line(changes, message):
    with pytest.raises(InputError) as error:
        dataset(**changes)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_labels_may_be_real_numbers_or_absent():
    assert dataset(labels=np.array([0.5, 1, 2], np.float32), classes=()).labels.dtype == np.float64
    assert dataset(labels=None).labels is None


def test_the_checksum_is_of_the_content_alone():
    assert dataset(name="other", source="elsewhere").checksum == dataset().checksum
    fortran = np.asfortranarray(dataset().inputs)
    assert dataset(inputs=fortran).checksum == dataset().checksum


@pytest.mark.parametrize(
    "changes",
    [
        {"inputs": np.array([[0, 1], [2, 3], [4, 6]], np.float32)},
        {"inputs": np.array([[0, 1], [2, 3], [4, 5]], np.uint8)},
        {"inputs": np.array([[0, 1], [2, 3], [4, 5]], np.float64)},
        {"labels": [0, 1, 0]},
        {"labels": None},
        {"classes": ("no", "yes", "perhaps")},
        {"columns": ("a", "b")},
        {"persons": [1, 1, 2]},
    ],
)
def test_any_change_of_content_changes_the_checksum(changes):
    assert dataset(**changes).checksum != dataset().checksum


def test_texts_that_run_together_alike_have_different_checksums():
    first, second = (dataset(inputs=np.array(x)) for x in (["ab", "c", "d"], ["a", "bc", "d"]))
    assert first.checksum != second.checksum


def test_the_checksum_stays_the_same_from_version_to_version():
    data = dataset(persons=["ä", "b", "ä"], columns=("x", "y"))
    assert data.checksum == "030f9e4885a7a5ce76c7a52e49f1408cb4ed2b196eb2643b2f1988967e127f82"


def test_take_keeps_records_together():
    data = dataset(persons=[7, 8, 9]).take([2, 0], name="two")
    assert (data.name, data.inputs.tolist()) == ("two", [[4, 5], [0, 1]])
    assert (data.labels.tolist(), data.persons.tolist()) == ([1, 0], [9, 7])


@pytest.mark.parametrize("rows", [[], [3], [-1], [0.5], [[0]], [True, False, True]])
def test_take_refuses_what_are_no_positions(rows):
    with pytest.raises(InputError, match="rows must be"):
        dataset().take(rows)
