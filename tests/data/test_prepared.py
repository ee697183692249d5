"""Features, tables and texts that were prepared for a data folder."""

import gzip

import numpy as np
import pytest

from reticent.data import load
from reticent.validation import InputError


def write(folder, name, **arrays):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    np.savez(path, **arrays)


def test_features(tmp_path):
    x = np.array([[0.5, 1], [2, 3]])
    write(tmp_path, "features/mine.npz", x=x, y=[2, 0])
    data = load("features/mine", tmp_path)
    assert (data.features.tolist(), data.features.dtype) == (x.tolist(), np.float32)
    assert (data.labels.tolist(), data.classes) == ([2, 0], ("0", "1", "2"))
    assert not data.public_classes


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros((2, 2))}, r"a.npz must hold the array 'y', got \['x'\]"),
        ({"x": np.zeros((2, 2)), "y": [0.0, 1.0]}, "a.npz must hold labels from 0 in 'y'"),
        ({"x": np.zeros((2, 2)), "y": [0, -1]}, "a.npz must hold labels from 0 in 'y'"),
        ({"x": np.full((2, 2), np.nan), "y": [0, 1]}, "inputs must be finite .* row 0 .* column 0"),
        ({"x": np.zeros((3, 2)), "y": [0, 1]}, r"labels must have shape \(3,\), got \(2,\)"),
    ],
)
def test_wrong_features(tmp_path, arrays, message):
    write(tmp_path, "features/a.npz", **arrays)
    with pytest.raises(InputError, match=message):
        load("features/a", tmp_path)


def test_hospital100_names_columns_and_classes(tmp_path):
    write(
        tmp_path,
        "tables/hospital100.npz",
        x=np.uint8([[0, 1], [1, 1]]),
        y=np.uint8([1, 0]),
        feature_names=np.array(["age>60", "insulin"]),
        class_icd9=np.array(["428", "414"]),
    )
    data = load("hospital100", tmp_path)
    assert (data.columns, data.classes) == (("age>60", "insulin"), ("428", "414"))
    assert data.labels.tolist() == [1, 0]


def test_purchase_shoppers_has_five_ways_to_be_labelled(tmp_path):
    labels = {f"y{k}": np.uint8([k - 1, 0]) for k in (2, 10, 20, 50, 100)}
    x = np.uint8([[0, 1], [1, 1]])
    write(tmp_path, "tables/purchase_shoppers.npz", x=x, item_id=[7, 9], **labels)
    for k in (2, 10, 20, 50, 100):
        data = load(f"purchase-shoppers-{k}", tmp_path)
        assert (data.labels.tolist(), len(data.classes)) == ([k - 1, 0], k)
        assert data.columns == ("item 7", "item 9")


TREC = 'split,label,fine_label,text\ntrain,HUM,HUM:ind,"Who, then ?"\ntest,LOC,LOC:city,Where ?\n'


@pytest.mark.parametrize("packed", [True, False])
def test_texts(tmp_path, packed):
    (tmp_path / "text").mkdir()
    data = gzip.compress(TREC.encode()) if packed else TREC.encode()
    (tmp_path / "text" / f"trec.csv{'.gz' if packed else ''}").write_bytes(data)
    train, test = load("trec-train", tmp_path), load("trec-test", tmp_path)
    assert (train.texts.tolist(), test.texts.tolist()) == (["Who, then ?"], ["Where ?"])
    assert [d.classes[d.labels[0]] for d in (train, test)] == ["HUM", "LOC"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("split,text\ndev,a\n", "sst2.csv must have the columns .*, got none named label"),
        ("", "sst2.csv must have the columns .*, got none named label or split or text"),
        ("split,label,text\ntrain,1,a\n", "sst2.csv must have records whose split is 'dev'"),
        ("split,label,text\ndev,1,a\ndev,2,b\n", "labels must number one of 2 classes .* row 1 "),
    ],
)
def test_wrong_texts(tmp_path, table, message):
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "sst2.csv").write_text(table)
    with pytest.raises(InputError, match=message):
        load("sst2-dev", tmp_path)
