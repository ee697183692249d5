"""Records: labels among classes, parts, and keys by content."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.attacks.records import Records
from reticent.data import load
from reticent.validation import InputError

TWO = Records([[1.0, 2.0], [3.0, 4.0]], ["cat", "dog"])


def test_of_a_data_set():
    digits = load("digits")
    found = Records.of(digits)
    assert len(found) == len(digits.features)
    assert found.inputs.dtype == np.float64
    assert np.array_equal(found.inputs, digits.features)
    assert found.labels.tolist() == [digits.classes[label] for label in digits.labels]
    assert np.array_equal(found.among(digits.classes), digits.labels)


@given(st.permutations(["a", "bb", "c"]), st.lists(st.sampled_from(["a", "bb", "c"]), min_size=1))
def test_among_is_the_place_in_the_list(classes, labels):
    found = Records(np.zeros((len(labels), 1)), labels).among(classes)
    assert found.tolist() == [classes.index(label) for label in labels]


def test_labels_and_names_of_columns_meet_as_texts():
    assert Records([0, 0], [7, 3]).among(["3", "7"]).tolist() == [1, 0]
    assert Records([0, 0], ["7", "3"]).among([3, 7]).tolist() == [1, 0]


def test_a_label_that_is_no_class_is_refused_without_being_shown():
    with pytest.raises(InputError, match=r"label of row 1 must be one of the classes") as caught:
        TWO.among(["cat", "cow"])
    assert "dog" not in str(caught.value)
    for labels in ([np.nan, 1.0], [2.0, 1.5]):
        with pytest.raises(InputError, match="must be one of the classes"):
            Records([0, 0], labels).among([1, 2])


def test_parts():
    assert TWO.take([1, 0, 1]).labels.tolist() == ["dog", "cat", "dog"]
    assert TWO.take([False, True]).inputs.tolist() == [[3.0, 4.0]]
    assert TWO.take(np.array([], dtype=int)).labels.tolist() == []
    both = TWO.joined(TWO.take([0]))
    assert both.labels.tolist() == ["cat", "dog", "cat"]
    assert both.inputs.tolist() == [[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]


def test_equal_records_have_equal_keys_in_every_type():
    small = Records(np.array([[1, 0], [3, 4]]), ["cat", "dog"])
    same = Records(np.array([[1.0, -0.0], [3.0, 4.0]], dtype=np.float32), ["cat", "dog"])
    assert small.keys == same.keys
    assert len(set(small.keys)) == 2
    assert all(len(key) == 32 for key in small.keys)


def test_another_input_or_label_has_another_key():
    key = Records([[1.0, 2.0]], ["a"]).keys[0]
    assert Records([[1.0, 2.0]], ["b"]).keys[0] != key
    assert Records([[1.0, np.nextafter(2.0, 3)]], ["a"]).keys[0] != key


def test_keys_of_texts_do_not_depend_on_the_longest():
    texts = Records(["one", "two"], [0, 1])
    assert texts.keys[0] == Records(["one", "a much longer text"], [0, 1]).keys[0]
    assert texts.keys == Records(np.array(["one", "two"], dtype=object), [0, 1]).keys
    rows = Records([["a", "b"]], [0]).keys[0]
    assert rows == Records([["a", "b"], ["a long text", "c"]], [0, 0]).keys[0]
    assert rows != Records([["ab", ""]], [0]).keys[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Records([1, 2], [0]), r"one label each, got \(2,\) inputs and \(1,\) labels"),
        (lambda: Records(1, 0), "one label each"),
        (lambda: Records([1], [[0]]), "one label each"),
        (lambda: Records([[np.nan]], [0]), "inputs must be finite"),
        (lambda: Records([[np.inf]], [0]), "inputs must be finite"),
        (lambda: Records([[1], [1, 2]], [0, 1]), "inputs must be rectangular"),
        (lambda: Records([1, 2], [[0], [0, 1]]), "labels must be rectangular"),
        (lambda: Records(np.array(["a", 3], dtype=object), [0, 1]), "must hold numbers or texts"),
        (lambda: Records([1j], [0]), "inputs must hold numbers or texts"),
        (lambda: TWO.take([True]), r"mask must be of 2 records, got shape \(1,\)"),
        (lambda: TWO.take([2]), "rows must be among 0 to 1, got others"),
        (lambda: TWO.take([0.0]), "rows must be whole numbers or a mask"),
        (lambda: TWO.take(0), "rows must be whole numbers or a mask"),
        (lambda: TWO.joined(Records([[1.0]], ["cat"])), "inputs must be of one shape"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(InputError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_a_data_set_without_labels_is_refused():
    unlabelled = type("D", (), {"labels": None, "classes": (), "name": "some"})()
    with pytest.raises(InputError, match="some must have classes to be attacked"):
        Records.of(unlabelled)
