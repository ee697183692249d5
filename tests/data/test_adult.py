"""UCI Adult on small files in its layout."""

import pytest

from reticent.data import load
from reticent.validation import InputError

FIELDS = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White,"
    " Male, 2174, 0, 40, United-States, <=50K"
)
MISSING = FIELDS.replace("State-gov", "?").replace("United-States", "?").replace("<=50K", ">50K")


def write(folder, name, *lines):
    (folder / "adult").mkdir(exist_ok=True)
    (folder / "adult" / name).write_text("\n".join(lines) + "\n")


def row(data, i):
    return {c: float(v) for c, v in zip(data.columns, data.inputs[i], strict=True) if v}


def test_categories_become_columns_and_numbers_are_scaled(tmp_path):
    write(tmp_path, "adult.data", FIELDS, MISSING, "")
    data = load("adult-train", tmp_path)
    assert data.labels.tolist() == [0, 1]
    assert data.classes == ("<=50K", ">50K")
    assert row(data, 0) == {
        "age": pytest.approx(0.39),
        "workclass=State-gov": 1,
        "fnlwgt": pytest.approx(0.077516),
        "education=Bachelors": 1,
        "education-num": pytest.approx(13 / 16),
        "marital-status=Never-married": 1,
        "occupation=Adm-clerical": 1,
        "relationship=Not-in-family": 1,
        "race=White": 1,
        "sex=Male": 1,
        "capital-gain": pytest.approx(0.02174),
        "hours-per-week": pytest.approx(0.4),
        "native-country=United-States": 1,
    }
    assert {"workclass=?", "native-country=?"} <= set(row(data, 1))


def test_the_columns_do_not_depend_on_the_records(tmp_path):
    write(tmp_path, "adult.data", FIELDS)
    write(tmp_path, "adult.test", "|1x3 Cross validator", MISSING + ".")
    train, test = load("adult-train", tmp_path), load("adult-test", tmp_path)
    assert train.columns == test.columns
    assert len(train.columns) == 6 + 9 + 16 + 7 + 15 + 6 + 5 + 2 + 42
    assert test.labels.tolist() == [1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (FIELDS[:60], "must hold 15 fields a record, got 7 in row 1 (counting from 0)"),
        (FIELDS[:-1], "must have the classes <=50K and >50K, got another in row 1 (counting"),
        (
            FIELDS.replace("39", "old"),
            "must hold a whole number, got another value in row 1 (counting from 0), column 'age'",
        ),
        (
            FIELDS.replace("White", "white"),
            "must hold a category of adult.names, got another value in row 1 (counting from 0),"
            " column 'race'",
        ),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, message):
    write(tmp_path, "adult.data", FIELDS, line)
    with pytest.raises(InputError) as error:
        load("adult-train", tmp_path)
    assert str(error.value).startswith(f"adult.data {message}")


def test_no_records(tmp_path):
    write(tmp_path, "adult.test", "|1x3 Cross validator")
    with pytest.raises(InputError, match=r"adult.test must hold records, got none"):
        load("adult-test", tmp_path)
