import numpy as np
import pytest

from reticent.data import Dataset, read_table
from reticent.data.label_columns import with_label_columns
from reticent.validation import InputError


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "table.csv"
    found.write_text("x,a,b,y\n1,0,1,2.5\n2,1,1,-3\n", encoding="utf-8")
    return found


def read(path, labels, *, numbers=False):
    features = read_table(path, label=None, drop=labels)
    return with_label_columns(features, path, labels, numbers=numbers)


def test_several_columns(path):
    data = read(path, ["b", "a"])
    assert data.task == "multilabel"
    assert data.columns == ("x", "y")
    assert data.classes == ("b", "a")
    assert data.public_classes
    assert data.labels.tolist() == [[1, 0], [1, 1]]


def test_a_number(path):
    data = read(path, ["y"], numbers=True)
    assert data.task == "regression"
    assert data.labels.tolist() == [2.5, -3.0]


def test_another_value_is_named_by_its_place_and_not_told(path):
    with pytest.raises(InputError, match=r"0 or 1 .*row 0 .*column 'y'") as caught:
        read(path, ["a", "y"])
    assert "2.5" not in str(caught.value)


@pytest.mark.parametrize(
    ("labels", "said"),
    [([[0, 1, 1]], "shape"), ([[0, 2]], "0 or 1"), ([[0.0, 1.0]], "array of float64")],
)
def test_a_data_set_checks_them(labels, said):
    with pytest.raises(InputError, match=said):
        Dataset(name="d", source="s", inputs=np.ones((1, 2)), labels=labels, classes=("a", "b"))
