"""Schemas whose label is a number, or which have several labels."""

import numpy as np
import pytest

from reticent.data import Schema, read_by_schema
from reticent.validation import InputError

FEATURE = {"x": {"type": "number", "range": [0, 10]}}
NUMBER = {"y": {"role": "label", "type": "number", "range": [-5, 5], "unit": "mm"}}
SEVERAL = {name: {"role": "label", "type": "true-false"} for name in ("red", "round")}


def schema_of(labels, **more):
    return Schema.from_dict({"source": "a codebook", "columns": FEATURE | labels, **more})


def table(tmp_path, text, schema, **options):
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    return read_by_schema(path, schema, **options)


def test_a_number_is_read_as_it_is_written(tmp_path):
    schema = schema_of(NUMBER)
    data = table(tmp_path, "y,x\n1.5,3\n-900,4\n", schema)
    assert data.task == schema.task == "regression"
    assert data.labels.tolist() == [1.5, -900.0]
    assert data.classes == ()
    assert (schema.target.low, schema.target.high, schema.target.unit) == (-5, 5, "mm")
    assert "the label y (a number from -5 to 5 mm)" in {fact.what for fact in schema.facts}


def test_several_labels_are_columns_of_zero_and_one(tmp_path):
    schema = schema_of(SEVERAL, file={"true": ["yes"], "false": ["no"]})
    data = table(tmp_path, "round,x,red\nyes,1,no\nno,2,no\n", schema)
    assert data.task == schema.task == "multilabel"
    assert schema.label is None
    assert data.classes == schema.classes == ("red", "round")
    assert data.labels.tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize("labels", [NUMBER, SEVERAL])
def test_plain_values_are_the_schema_again(labels):
    schema = schema_of(labels)
    again = Schema.from_dict(schema.to_dict())
    assert again == schema
    assert again.sha256 == schema.sha256


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({"y": NUMBER["y"], "z": NUMBER["y"]}, "several labels must be true or false each"),
        ({"y": {"role": "label", "type": "true-false"}}, "must have classes, at least two"),
        ({"y": {"role": "label", "type": "date"}}, "or type number or true-false"),
        ({"y": NUMBER["y"] | {"scale": "log"}}, "'scale'"),
        ({"y": {"role": "label", "type": "number"}}, "range must be two values"),
        ({"y": NUMBER["y"] | {"gap": "indicator"}}, "'gap'"),
    ],
)
def test_other_labels_are_refused(labels, said):
    with pytest.raises(InputError, match=said):
        schema_of(labels)


@pytest.mark.parametrize("cell", ["", "a", "nan", "inf", "1e999"])
def test_a_label_that_is_no_number_makes_its_record_invalid(tmp_path, cell):
    text = f"x,y\n1,1\n2,{cell}\n3,3\n"
    with pytest.raises(InputError, match="a number in column 'y'"):
        table(tmp_path, text, schema_of(NUMBER))
    left = table(tmp_path, text, schema_of(NUMBER, invalid="leave-out"))
    assert left.labels.tolist() == [1, 3]


def test_queries_may_lack_labels_and_a_part_of_them_is_none(tmp_path):
    schema = schema_of(SEVERAL)
    asked = table(tmp_path, "x,red\n1,true\n", schema, purpose="queries")
    assert asked.labels is None
    with pytest.raises(InputError, match="none named 'round'"):
        table(tmp_path, "x,red\n1,true\n", schema)


@pytest.mark.parametrize("labels", [NUMBER, SEVERAL])
def test_a_table_without_records_is_read(tmp_path, labels):
    data = table(tmp_path, ",".join(["x", *labels]) + "\n", schema_of(labels))
    assert len(data) == 0
    assert data.task == schema_of(labels).task
    assert data.labels.dtype.kind in "fi"


def test_one_record_changes_no_other_label(tmp_path):
    schema = schema_of(NUMBER)
    few = table(tmp_path, "x,y\n1,0.1\n2,3\n", schema)
    more = table(tmp_path, "x,y\n1,0.1\n2,3\n7,1e300\n", schema)
    assert np.array_equal(few.labels, more.labels[:2])
