"""A model that was made by a schema is asked with raw records, and says what ``predict`` says."""

import json

import numpy as np
import pytest

from reticent.cli.main import BAD_INPUT
from reticent.cli.main import run as reticent
from reticent.data import Schema, read_by_schema
from reticent.protect import ReleaseRequest, load, release_table, save
from reticent.service.asking import ask_table
from reticent.service.client import Service, ServiceError
from reticent.service.serving import ServeSpec, built
from tests.cli.test_schema import HEADER, SCHEMA, record
from tests.service.conftest import running

VALID = {"age": 41, "weight": 70.5, "city": "Bern", "smoker": True, "born": "1979-01-01"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Raw tables, and a release by their schema."""
    folder = tmp_path_factory.mktemp("raw")
    (folder / "facts.toml").write_text(SCHEMA)
    rng = np.random.default_rng(3)
    for name, size in (("private", 400), ("queries", 150)):
        lines = [";".join(map(str, record(rng, i))) for i in range(size)]
        (folder / f"{name}.csv").write_text("\n".join([";".join(HEADER), *lines]) + "\n")
    data = read_by_schema(folder / "private.csv", Schema.load(folder / "facts.toml"))
    request = ReleaseRequest.of(
        epsilon=4, delta=1e-5, relation="add-remove", records=400, recipe="class-means"
    )
    save(release_table(data, request), folder / "released")
    return folder


@pytest.fixture(scope="module")
def url(folder):
    with running(built(ServeSpec(name="m", released=folder / "released"))) as url:
        yield url


def predicted(folder):
    release = load(folder / "released")
    data = read_by_schema(folder / "queries.csv", release.schema, purpose="queries")
    return release.predict(data.features).tolist()


def test_a_table_is_answered_as_predict_answers_it(folder, url, capsys):
    found = ask_table(url, folder / "queries.csv")
    assert found.answers == predicted(folder)
    assert (len(found.answers), found.charged) == (150, 0)  # more than one request
    words = ["client", "ask", url, "--queries", str(folder / "queries.csv")]
    assert reticent([*words, "--out", str(folder / "answers.csv")]) == 0
    assert "150 answers, 0 charged; ε ≤ 4" in capsys.readouterr().out
    lines = (folder / "answers.csv").read_text().splitlines()
    assert lines[1:] == [f"{row},{label}" for row, label in enumerate(predicted(folder))]


def test_rows_of_features_are_still_answered(folder, url):
    release = load(folder / "released")
    rows = read_by_schema(folder / "queries.csv", release.schema, purpose="queries").features[:3]
    assert Service(url).ask(rows)["labels"] == predicted(folder)[:3]


@pytest.mark.parametrize(
    "body",
    [
        {"records": []},
        {"records": [VALID] * 65},
        {"records": [[1, 2]]},
        {"records": {"age": 41}},
        {"records": [VALID], "inputs": [[0.0]]},
        {"records": [VALID | {"age": "zqxjkv"}]},
        {"records": [{name: VALID[name] for name in ("age", "city")}]},
    ],
)
def test_other_records_are_refused_in_fixed_words(url, body):
    with pytest.raises(ServiceError) as refusal:
        Service(url).call("POST", "/v1/answers", json.dumps(body).encode())
    assert (refusal.value.status, refusal.value.type) == (422, "invalid-records")
    assert "zqxjkv" not in str(refusal.value)


def test_a_service_that_is_not_there_is_one_line(folder, capsys):
    words = ["client", "ask", "http://127.0.0.1:9", "--queries", str(folder / "queries.csv")]
    assert reticent(words) == BAD_INPUT
    assert "must be a service that listens" in capsys.readouterr().err
