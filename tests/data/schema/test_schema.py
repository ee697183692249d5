"""What a schema file may say, what follows from it, and what is refused in one line."""

import pickle

import pytest

from reticent.data import Schema
from reticent.data.schema import FileForm
from reticent.data.schema.form import InvalidCellError
from reticent.data.schema.schema import EXAMPLES
from reticent.validation import InputError
from tests.data.schema.raw_tables import FACTS, SCHEMA


def with_column(name, **changes):
    columns = FACTS["columns"] | {name: FACTS["columns"][name] | changes}
    return FACTS | {"columns": columns}


def test_plain_values_and_pickles_give_it_back():
    assert Schema.from_dict(SCHEMA.to_dict()) == SCHEMA
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA
    assert Schema.from_dict(SCHEMA.to_dict()).sha256 == SCHEMA.sha256


@pytest.mark.parametrize(
    "facts",
    [
        with_column("age", range=[0, 99]),
        with_column("age", source="another"),
        with_column("city", values=["Chur", "Bern"]),
        FACTS | {"records": 51},
        FACTS | {"invalid": "leave-out"},
        FACTS | {"file": FACTS["file"] | {"gaps": ["!"]}},
        FACTS | {"columns": dict(reversed(FACTS["columns"].items()))},
    ],
)
def test_another_fact_is_another_hash(facts):
    assert Schema.from_dict(facts).sha256 != SCHEMA.sha256


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_read_and_say_their_sources(example):
    schema = Schema.example(example)
    assert not schema.inferred
    assert all(fact.source for fact in schema.facts)


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({}, "columns must be tables"),
        (FACTS | {"column": {}}, "schema must have known fields only, got 'column'"),
        (FACTS | {"source": ""}, "column 'age' must say where its facts come from"),
        (FACTS | {"records": -1}, "records must be >= 1, got -1"),
        (FACTS | {"records": float("nan")}, "records must be a whole number"),
        (FACTS | {"invalid": "drop"}, "invalid must be refuse or leave-out"),
        (with_column("age", range=[5, 5]), "'age': range must be two numbers, the smaller first"),
        (with_column("age", range=[0, float("nan")]), "'age': range must be finite, got nan"),
        (with_column("age", range=[-1e308, 1e308]), "'age': range must be two numbers"),
        (with_column("age", type="float"), "'age': type must be one of number"),
        (with_column("age", gap="mean"), "'age': gap must be refuse, indicator or"),
        (with_column("age", gap={"constant": "x"}), "gap of column 'age' must be a number"),
        (with_column("age", role="id"), "'age': role must be one of"),
        (with_column("age", zero=200), "'age': zero must be in the range"),
        (with_column("age", mean=3), "'age': .* known fields only, got 'mean'"),
        (with_column("city", values=["a", "a"]), "'city': values and spellings must differ"),
        (with_column("city", values=["other"]), "'city': values must not hold 'other'"),
        (with_column("born", span=["2020", "2019-01-01"]), "'born': span must be"),
        (with_column("born", format="%B %d"), "'born': format must be of"),
        (with_column("vector", length=1), "'vector': length must be >= 2"),
        (
            with_column("ill", classes=["0"], spellings={}),
            "label 'ill' must have classes, at least two",
        ),
        (with_column("ill", gap="indicator"), "'ill': a label must have known fields only"),
        (FACTS | {"file": {"separator": ";;"}}, "separator must be one sign"),
        (FACTS | {"file": {"encoding": "klingon"}}, "encoding must be one such as utf-8"),
        (FACTS | {"file": {"encoding": "base64"}}, "encoding must be one such as utf-8"),
        (FACTS | {"file": {"true": ["1"], "false": ["1"]}}, "true and false must differ"),
        (FACTS | {"file": {"decimal": ",", "thousands": ","}}, "thousands must be another"),
        (FACTS | {"columns": {"a": {"role": "ignored"}}}, "a schema must have a feature"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(facts, line):
    with pytest.raises(InputError, match=line) as error:
        Schema.from_dict(facts)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "source", ["private table", "the Private-Table of 2020", "read from the private  table"]
)
def test_facts_of_the_private_table_are_known_by_their_source(source):
    assert Schema.from_dict(with_column("age", source=source)).inferred == (
        "age (a number from 0 to 100 years)",
    )
    assert Schema.from_dict(FACTS | {"sources": {"records": source}}).inferred == (
        "about 50 records",
    )


def test_each_source_has_a_line_with_its_facts():
    schema = Schema.from_dict(with_column("age", source="a law"))
    assert "age (a number from 0 to 100 years): by a law" in schema.stated
    assert sum("by a codebook" in line for line in schema.stated) == 1


@pytest.mark.parametrize(
    ("form", "cell", "value"),
    [({}, "1.5", 1.5), ({}, "-.5e3", -500.0), ({"decimal": ","}, "1,5", 1.5),
     ({"decimal": ",", "thousands": "."}, "-1.234.567,8", -1234567.8),
     ({"thousands": "'"}, "12'000", 12000.0), ({}, "9007199254740993", 9007199254740992.0)],
)  # fmt: skip
def test_numbers_as_they_are_written(form, cell, value):
    assert FileForm(**form).number(cell) == value


@pytest.mark.parametrize(
    ("form", "cell"),
    [({}, "1,5"), ({}, "1_000"), ({}, "0x10"), ({}, "inf"), ({}, "1e999"), ({}, "٣"), ({}, "1e"),
     ({"decimal": ","}, "1.5"), ({"decimal": ",", "thousands": "."}, "1.5"), ({}, "9" * 401)],
)  # fmt: skip
def test_what_is_no_number(form, cell):
    with pytest.raises(InvalidCellError):
        FileForm(**form).number(cell)
