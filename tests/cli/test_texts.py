"""Texts through the encoder minilm: from a column of any file format, and from a schema."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from reticent.cli.main import BAD_INPUT, run
from reticent.data import Schema
from reticent.training.encoders.schema_texts import read_with_schema

TEXTS = {
    "place": ["Where is the river Nile?", "Which city is near the sea?", "Where are the Alps?"],
    "number": ["How many days has a year?", "How far is the moon?", "What is 3 times 7?"],
}
LABELS = [label for label in TEXTS for _ in range(30)]
SAID = [f"{TEXTS[label][i % 3]} ({i})" for i, label in enumerate(LABELS)]
SCHEMA = """
source = "a codebook"
records = 60
[columns.question]
type = "text"
encoder = "minilm"
[columns.length]
type = "number"
range = [0, 200]
[columns.kind]
role = "label"
classes = ["place", "number"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    rows = [f'"{text}",{len(text)},{label}' for text, label in zip(SAID, LABELS, strict=True)]
    (folder / "table.csv").write_text("\n".join(["question,length,kind", *rows]) + "\n")
    (folder / "empty.csv").write_text("question,length,kind\n")
    lengths = [len(text) for text in SAID]
    np.savez(folder / "table.npz", question=SAID, length=lengths, kind=LABELS)
    columns = {"question": SAID, "length": lengths, "kind": LABELS}
    parquet.write_table(pa.table(columns), folder / "table.parquet")
    (folder / "table.toml").write_text(SCHEMA)
    return folder


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("RETICENT_CACHE", str(tmp_path / "cache"))

    def call(*words):
        code = run([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


RELEASE = (
    "--epsilon",
    4,
    "--delta",
    "1e-5",
    "--relation",
    "add-remove",
    "--learner",
    "class-means",
)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "npz", "parquet"])
def test_a_column_of_texts(command, folder, tmp_path, ending):
    read = ("--text", "question", "--encoder", "minilm", "--label", "kind")
    code, text, error = command(
        "protect",
        "--private",
        folder / f"table.{ending}",
        *read,
        "--classes",
        "place,number",
        "--records",
        60,
        *RELEASE,
        "--out",
        tmp_path / "out",
    )
    assert code == 0, error
    assert "proven" in text
    code, text, error = command(
        "predict", tmp_path / "out", "--queries", folder / f"table.{ending}", *read, "--json"
    )
    assert code == 0, error
    assert json.loads(text)["accuracy"] > 0.9


@pytest.mark.slow
def test_texts_and_numbers_by_a_schema(command, folder, tmp_path):
    words = ("--schema", folder / "table.toml", *RELEASE)
    code, text, error = command(
        "protect", "--private", folder / "table.csv", *words, "--out", tmp_path / "out"
    )
    assert code == 0, error
    assert "proven" in text
    assert "a text, by the encoder minilm" in " ".join(text.split())
    code, text, error = command(
        "predict", tmp_path / "out", "--queries", folder / "table.parquet", "--json"
    )
    assert json.loads(text)["accuracy"] > 0.9
    code, text, error = command(
        "protect", "--private", folder / "empty.csv", *words, "--out", tmp_path / "empty"
    )
    assert code == 0, error


@pytest.mark.slow
def test_no_records_are_encoded_too(command, folder, tmp_path):
    code, _, error = command(
        "protect",
        "--private",
        folder / "empty.csv",
        "--text",
        "question",
        "--encoder",
        "minilm",
        "--label",
        "kind",
        "--classes",
        "place,number",
        "--records",
        60,
        *RELEASE,
        "--out",
        tmp_path / "out",
    )
    assert code == 0, error


@pytest.mark.slow
def test_a_text_has_the_same_vector_alone_and_among_others(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("RETICENT_CACHE", str(tmp_path / "cache"))
    schema = Schema.load(folder / "table.toml")
    few = [0, 31, 59]
    rows = (folder / "table.csv").read_text().splitlines()
    (tmp_path / "few.csv").write_text("\n".join([rows[0], *(rows[i + 1] for i in few)]) + "\n")
    apart = read_with_schema(tmp_path / "few.csv", schema).features
    monkeypatch.setenv("RETICENT_CACHE", str(tmp_path / "another"))
    together = read_with_schema(folder / "table.csv", schema).features
    assert together[few].tobytes() == apart.tobytes()
    assert np.linalg.norm(together[:, :384], axis=1).max() <= 1 + 1e-12


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--encoder", "minilm"), "--text must name the column of texts that minilm reads"),
        (("--text", "question"), "--text must be said with --encoder"),
        (("--text", "nothing", "--encoder", "minilm"), "text must be a column of table.csv"),
        (
            ("--text", "question", "--encoder", "minilm", "--drop", "length"),
            "features and drop must not be given beside embedding or text",
        ),
    ],
)
def test_bad_words_get_one_line(command, folder, tmp_path, words, says):
    code, out, error = command(
        "protect",
        "--private",
        folder / "table.csv",
        "--label",
        "kind",
        "--classes",
        "place,number",
        "--records",
        60,
        *RELEASE,
        *words,
        "--out",
        tmp_path / "out",
    )
    assert (code, out) == (BAD_INPUT, "")
    assert says in error
