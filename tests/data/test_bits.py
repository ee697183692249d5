"""Location, Purchase-100 and Texas-100 on small files in the layouts of Shokri et al."""

import numpy as np
import pytest

from reticent.data import load
from reticent.validation import InputError

RNG = np.random.default_rng(5)
SHAPES = {"location": (446, 30), "purchase100": (600, 100)}
FILES = {"location": "location/bangkok", "purchase100": "purchase/dataset_purchase"}


def table(width, labels):
    bits = RNG.integers(0, 2, (len(labels), width))
    lines = [",".join(map(str, [label, *row])) for label, row in zip(labels, bits, strict=True)]
    return bits, lines


def write(folder, name, lines, end="\n"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((end.join(lines) + end).encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", SHAPES)
def test_a_label_and_bits_a_line(tmp_path, name, end):
    width, classes = SHAPES[name]
    bits, lines = table(width, [1, classes, 7])
    write(tmp_path, FILES[name], lines, end)
    data = load(name, tmp_path)
    assert data.inputs.dtype == np.uint8
    assert np.array_equal(data.inputs, bits)
    assert data.labels.tolist() == [0, classes - 1, 6]
    assert len(data.classes) == classes


def texas(folder, labels):
    bits = RNG.integers(0, 2, (3, 6169))
    write(folder, "texas/100/feats", [",".join(map(str, row)) for row in bits])
    write(folder, "texas/100/labels", list(map(str, labels)))
    return bits


def test_texas_has_its_labels_in_a_second_file(tmp_path):
    bits = texas(tmp_path, [100, 1, 50])
    data = load("texas100", tmp_path)
    assert np.array_equal(data.inputs, bits)
    assert data.labels.tolist() == [99, 0, 49]
    texas(tmp_path, [100, 1])
    with pytest.raises(InputError, match="labels must hold one label for each of 3 records, got 2"):
        load("texas100", tmp_path)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda line: line[:-40], "446 comma-separated bits a record, got 426 fields in row 1 "),
        (lambda line: line + ",0", "446 comma-separated bits a record, got 447 fields in row 1 "),
        (
            lambda line: line[:-1] + "2",
            "446 comma-separated bits a record, got something else in row 1 ",
        ),
        (
            lambda line: line[:-1] + "-",
            "446 comma-separated bits a record, got something else in row 1 ",
        ),
        (
            lambda line: line[:-2] + ";0",
            "446 comma-separated bits a record, got something else in row 1 ",
        ),
        (lambda line: "", "labels in 1 … 30, got another in row 1 "),
        (lambda line: "0" + line[1:], "labels in 1 … 30, got another in row 1 "),
        (lambda line: "31" + line[1:], "labels in 1 … 30, got another in row 1 "),
        (lambda line: "x" + line[1:], "labels in 1 … 30, got another in row 1 "),
    ],
)
def test_a_wrong_line_is_named(tmp_path, spoil, message):
    _, lines = table(446, [1, 2, 3])
    write(tmp_path, "location/bangkok", [lines[0], spoil(lines[1]), lines[2]])
    with pytest.raises(InputError) as error:
        load("location", tmp_path)
    assert str(error.value) == f"bangkok must hold {message}(counting from 0)"


def test_an_empty_file(tmp_path):
    write(tmp_path, "location/bangkok", [], end="")
    with pytest.raises(InputError, match="bangkok must hold records, got an empty file"):
        load("location", tmp_path)


@pytest.mark.parametrize("name", ["location", "purchase", "texas"])
def test_a_missing_file_names_the_archive(tmp_path, name):
    with pytest.raises(InputError, match=rf"get dataset_{name}.tgz of the archives by Shokri"):
        load(name if name == "location" else f"{name}100", tmp_path)
