"""Drafts of schemas, and what is said of a table: types, identifiers, constants, gaps."""

import tomllib

import numpy as np
import pytest

from reticent.data import Schema, read_by_schema
from reticent.data.identifiers import looks_like_identifier
from reticent.data.schema.draft import draft_schema, round_range
from reticent.data.schema.inspection import inspect_table
from reticent.validation import InputError

CELLS = {
    "Unnamed: 0": [str(i) for i in range(30)],
    "number": [str(7 * i + 1000) for i in range(30)],
    "constant": ["x"] * 30,
    "age": [str(20 + i % 7) for i in range(30)],
    "pay": [f"{1000.5 + 10 * (i % 9):.1f}" for i in range(30)],
    "city": [["Bern", "Zürich", ""][i % 3] for i in range(30)],
    "smoker": [["True", "False"][i % 2] for i in range(30)],
    "born": [f"{i % 28 + 1:02d}.03.{1950 + i}" for i in range(30)],
    "note": [f"the patient number {i} felt well" for i in range(30)],
    "who": [f"p{i % 9}" for i in range(30)],
    "ill": [["no", "yes"][i % 2] for i in range(30)],
}
TYPES = {
    "Unnamed: 0": None, "number": None, "constant": None, "age": "number", "pay": "number",
    "city": "category", "smoker": "true-false", "born": "date", "note": "text", "who": None,
    "ill": None,
}  # fmt: skip


def write(path, separator=",", encoding="utf-8", decimal="."):
    rows = zip(*CELLS.values(), strict=True)
    pay = list(CELLS).index("pay")
    lines = [separator.join(CELLS)]
    for row in rows:
        cells = list(row)
        cells[pay] = cells[pay].replace(".", decimal)
        lines.append(separator.join(cells))
    path.write_text("\n".join(lines) + "\n", encoding=encoding)
    return path


@pytest.mark.parametrize(
    "form", [(",", "utf-8", "."), (";", "latin-1", ","), ("\t", "utf-8", ",")], ids=str
)
def test_a_draft_reads_the_table_that_it_is_of(tmp_path, form):
    path = write(tmp_path / "table.csv", *form)
    draft = draft_schema(path, label="ill", person="who", source="a sample")
    columns = tomllib.loads(draft.text)["columns"]
    assert {name: columns[name].get("type") for name in CELLS} == TYPES
    assert columns["who"] == {"role": "person"}
    assert columns["ill"]["classes"] == ["no", "yes"]
    assert columns["age"]["range"] == [20, 26]
    assert columns["born"]["span"] == ["1950-01-01", "1979-12-31"]
    assert columns["city"]["values"] == ["Bern", "Zürich"]
    assert columns["city"]["gap"] == "indicator"
    told = " ".join(draft.notes)
    assert ("guessed: separator" in told) == (form != (",", "utf-8", "."))
    for name in ("Unnamed: 0", "number", "constant"):
        assert f"column {name!r} is left out" in told
    text = draft.text.replace('type = "text"\nencoder = "minilm"', 'role = "ignored"')
    schema = Schema.from_dict(tomllib.loads(text))
    assert len(read_by_schema(path, schema)) == 30


def test_facts_of_a_private_draft_are_all_marked(tmp_path):
    path = write(tmp_path / "table.csv")
    draft = draft_schema(path, label="ill", person=None, source="private table")
    schema = Schema.from_dict(tomllib.loads(draft.text))
    assert len(schema.inferred) == len(schema.facts) > 5


def test_parquet_and_npz_are_drafted_too(tmp_path):
    np.savez(
        tmp_path / "table.npz",
        age=np.arange(30) % 7 + 20.5,
        smoker=np.arange(30) % 2 == 0,
        ill=np.array(["no", "yes"] * 15),
    )
    draft = draft_schema(tmp_path / "table.npz", label="ill", person=None, source="a sample")
    columns = tomllib.loads(draft.text)["columns"]
    assert [columns[name].get("type") for name in ("age", "smoker")] == ["number", "true-false"]


def drafted(folder, cells, **named):
    path = folder / "t.csv"
    rows = zip(*cells.values(), strict=True)
    path.write_text("\n".join(",".join(row) for row in [tuple(cells), *rows]) + "\n")
    asked = {"label": None, "person": None, "source": "a sample"} | named
    draft = draft_schema(path, **asked)
    return draft, Schema.from_dict(tomllib.loads(draft.text)), path


@pytest.mark.parametrize(
    "words", [("yes", "no"), ("Yes", "No"), ("y", "n"), ("t", "f"), ("T", "F"), ("1", "0"),
              ("true", "FALSE"), ("1.0", "0.0")], ids=str,
)  # fmt: skip
def test_two_words_for_true_and_false_are_no_category(tmp_path, words):
    flags = [words[i % 2] for i in range(30)]
    draft, schema, path = drafted(tmp_path, {"smokes": flags, "ill": ["a", "b"] * 15}, label="ill")
    assert tomllib.loads(draft.text)["columns"]["smokes"]["type"] == "true-false"
    assert read_by_schema(path, schema).features[:2].ravel().tolist() == [1.0, 0.0]


def test_three_answers_are_a_category_whatever_two_of_them_are(tmp_path):
    cells = {"smokes": ["yes", "no", "perhaps"] * 10, "drinks": ["yes", "no", "no"] * 10}
    draft, schema, path = drafted(tmp_path, cells | {"ill": ["a", "b"] * 15}, label="ill")
    columns = tomllib.loads(draft.text)["columns"]
    assert columns["smokes"]["type"] == "category"
    assert columns["drinks"]["type"] == "true-false"
    assert len(read_by_schema(path, schema)) == 30


@pytest.mark.parametrize(("many", "task"), [(20, "classification"), (21, "regression")])
def test_a_label_of_many_numbers_is_a_number_to_predict(tmp_path, many, task):
    cells = {
        "age": [str(20.5 + i % 7) for i in range(60)],
        "pay": [str(i % many) for i in range(60)],
    }
    draft, schema, path = drafted(tmp_path, cells, label="pay")
    assert schema.task == task
    assert any("more than 20 different numbers" in note for note in draft.notes)
    assert len(read_by_schema(path, schema)) == 60
    if task == "regression":
        assert (schema.target.low, schema.target.high) == (0, 20)


def test_several_labels_are_true_or_false(tmp_path):
    cells = {"age": [str(20.5 + i % 7) for i in range(30)], "a": ["yes", "no"] * 15,
             "b": ["0", "1"] * 15, "c": ["x", "y"] * 15}  # fmt: skip
    _, schema, _ = drafted(tmp_path, cells, label=["a", "b"])
    assert schema.task == "multilabel"
    with pytest.raises(InputError, match="got 'c', which is not"):
        drafted(tmp_path, cells, label=["a", "c"])


def test_what_is_said_of_a_table(tmp_path):
    path = write(tmp_path / "table.csv")
    facts = {
        "source": "a codebook",
        "columns": {
            **{name: {"role": "ignored"} for name in CELLS},
            "number": {"type": "number", "range": [0, 9999]},
            "constant": {"type": "category", "values": ["x", "y"]},
            "age": {"type": "number", "range": [20, 24]},
            "city": {"type": "category", "values": ["Bern"], "gap": "indicator"},
            "ill": {"role": "label", "classes": ["no", "yes"]},
        },
    }
    found = inspect_table(path, Schema.from_dict(facts))
    assert found.invalid == 10
    assert not found.problems
    assert found.notes == (
        "column 'number' looks like an identifier: whole numbers, all different",
        "column 'constant' is a constant in this table: it tells nothing",
        "column 'age': 8 of 30 cells are out of the range, and cut to it",
        "column 'city': 10 of 30 cells are a gap",
        "column 'city': 10 of 30 cells are no value of its column",
    )


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("id", True), ("ID", True), ("Unnamed: 0", True), ("patient_id", True), ("userId", True),
     ("row number", True), ("uuid", True), ("age", False), ("acid", False), ("humid", False),
     ("width", False), ("keyboard", False)],
)  # fmt: skip
def test_names_of_identifiers(name, is_one):
    assert looks_like_identifier(name) is is_one


def test_round_ranges_hold_what_they_are_of():
    rng = np.random.default_rng(1)
    for _ in range(500):
        low, high = np.sort(rng.normal(scale=10.0 ** rng.integers(-3, 6), size=2)).tolist()
        first, last = round_range(low, high)
        assert first <= low + 1e-9 * (high - low)
        assert last >= high - 1e-9 * (high - low)
        assert last - first <= 21 * (high - low)
