"""Raw records as JSON: each becomes what the same cells of a file become."""

import json

import numpy as np
import pytest

from reticent.data import Schema, read_by_schema
from reticent.data.schema.file_cells import open_cells
from reticent.data.schema.json_records import json_cells, json_records
from reticent.data.schema.prepare import prepared_cells
from reticent.validation import InputError
from tests.cli.test_schema import HEADER, SCHEMA, record

NUMBERS = """
source = "a codebook"
[columns.vector]
type = "numbers"
length = 2
range = [-1, 1]
[columns.kind]
role = "label"
classes = ["a", "b"]
"""


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "table.toml"
    path.write_text(SCHEMA)
    return Schema.load(path)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(5)
    lines = [";".join(map(str, record(rng, number))) for number in range(50)]
    path = tmp_path_factory.mktemp("table") / "table.csv"
    path.write_text("\n".join([";".join(HEADER), *lines]) + "\n")
    return path


def features(records, schema):
    return prepared_cells(json_cells(records, schema.form), schema, purpose="queries").features


def records_of(table, schema):
    cells = open_cells(table, schema.dialect, tuple(one.name for one in schema.columns))
    return json.loads(json.dumps(json_records(cells, schema)))


def test_a_file_and_its_records_have_the_same_features(table, schema):
    expected = read_by_schema(table, schema, purpose="queries").features
    records = records_of(table, schema)
    assert np.array_equal(features(records, schema), expected)
    for row, one in enumerate(records):  # and each by itself
        assert np.array_equal(features([one], schema)[0], expected[row])


def test_neither_label_nor_ignored_columns_leave(table, schema):
    assert set(records_of(table, schema)[0]) == {"age", "weight", "city", "smoker", "born"}


def test_numbers_and_truth_values_are_what_the_file_would_write(schema):
    typed = {"age": 41, "weight": 70.5, "city": "Bern", "smoker": True, "born": "1979-01-01"}
    written = typed | {"age": "41", "weight": "70,5", "smoker": "true"}
    assert np.array_equal(features([typed], schema), features([written], schema))
    gaps = typed | {"weight": None, "smoker": None}
    assert np.array_equal(
        features([gaps], schema), features([typed | {"weight": "?", "smoker": ""}], schema)
    )


def test_a_typed_file_asks_in_numbers(tmp_path, schema):
    np.savez(
        tmp_path / "typed.npz",
        age=np.array([41.0, 20.0]),
        weight=np.array([70.5, np.nan]),
        city=np.array(["Bern", "Genf"]),
        smoker=np.array([True, False]),
        born=np.array(["1979-01-01", "2000-01-01"]),
    )
    records = records_of(tmp_path / "typed.npz", schema)
    assert records[0]["weight"] == 70.5
    assert records[1]["weight"] is None
    expected = read_by_schema(tmp_path / "typed.npz", schema, purpose="queries").features
    assert np.array_equal(features(records, schema), expected)


def test_lists_of_numbers(tmp_path):
    (tmp_path / "numbers.toml").write_text(NUMBERS)
    schema = Schema.load(tmp_path / "numbers.toml")
    assert features([{"vector": [0.5, -1]}], schema).tolist() == [[0.5, -1.0]]


@pytest.mark.parametrize(
    "change",
    [
        {"age": "old"},
        {"age": None},
        {"age": True},
        {"age": {}},
        {"age": [41]},
        {"born": 1979.5},
        {"city": ["Bern"]},
        {"weight": float("inf")},
    ],
)
def test_what_is_no_value_of_its_column_is_refused(schema, change):
    valid = {"age": 41, "weight": 70.5, "city": "Bern", "smoker": True, "born": "1979-01-01"}
    with pytest.raises(InputError):
        features([valid | change], schema)


def test_a_record_without_a_column_is_refused_whatever_stands_beside_it(schema):
    valid = {"age": 41, "weight": 70.5, "city": "Bern", "smoker": True, "born": "1979-01-01"}
    short = {name: cell for name, cell in valid.items() if name != "weight"}
    for records in ([short], [valid, short], [short, valid]):
        with pytest.raises(InputError, match="weight"):
            features(records, schema)
