"""Raw tables by a schema, through every command that reads one; columns by name without one."""

import json

import numpy as np
import pytest

from reticent.cli.main import BAD_INPUT, run
from reticent.protect import load

SCHEMA = """
source = "a codebook"
records = 400
[file]
separator = ";"
decimal = ","
gaps = ["?"]
[columns.age]
type = "number"
range = [0, 100]
unit = "years"
[columns.weight]
type = "number"
range = [30, 200]
gap = "indicator"
[columns.city]
type = "category"
values = ["Bern", "Chur"]
other = true
[columns.smoker]
type = "true-false"
gap = { constant = false }
[columns.born]
type = "date"
span = [1920-01-01, 2020-12-31]
[columns."case number"]
role = "ignored"
[columns.ill]
role = "label"
classes = ["0", "1"]
spellings = { "0" = ["0.0"], "1" = ["1.0"] }
"""
HEADER = ("age", "weight", "city", "smoker", "born", "case number", "ill")


def record(rng, number):
    age = int(rng.integers(1, 99))
    smoker = bool(rng.random() < 0.4)
    ill = age / 50 + smoker + rng.normal() > 1.6
    weight = "?" if rng.random() < 0.1 else f"{rng.normal(75, 12):.1f}".replace(".", ",")
    city = str(rng.choice(["Bern", "Chur", "Genf"]))
    return (age, weight, city, smoker, f"{2020 - age}-03-04", number, f"{int(ill)}.0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")
    rng = np.random.default_rng(3)
    for name, size in (("train", 400), ("test", 200)):
        lines = [";".join(map(str, record(rng, i))) for i in range(size)]
        (folder / f"{name}.csv").write_text("\n".join([";".join(HEADER), *lines]) + "\n")
    (folder / "table.toml").write_text(SCHEMA, encoding="utf-8")
    turned = [line.split(";")[::-1] for line in (folder / "test.csv").read_text().splitlines()]
    queries = "\n".join(";".join(cells[1:]) for cells in turned)  # no label, columns reversed
    (folder / "queries.csv").write_text(queries + "\n")
    return folder


@pytest.fixture
def command(capsys):
    def call(*words):
        code = run([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


BUDGET = ("--epsilon", 2, "--delta", "1e-5", "--relation", "add-remove")


def protecting(folder, out, *more, learner="noisy-gradient"):
    return ("protect", "--private", folder / "train.csv", "--schema", folder / "table.toml",
            *BUDGET, "--learner", learner, "--out", out, *more)  # fmt: skip


def test_an_example_that_is_none_is_told_those_that_are(command):
    code, _, errors = command("schema", "example", "cars")
    assert (code, errors) == (2, "reticent: name must be one of adult, tickets, got 'cars'\n")


def test_from_a_raw_table_to_answers_without_a_number_typed(command, folder, tmp_path):
    code, text, _ = command(*protecting(folder, tmp_path / "out"))
    assert code == 0
    assert text.startswith("ε ≤ 2, δ ≤ 1e-5 (proven; neighbours: add-remove; unit: one record)")
    assert "by a codebook" in " ".join(text.split())
    code, text, _ = command("verify", tmp_path / "out")
    assert code == 0
    code, text, _ = command("predict", tmp_path / "out", "--queries", folder / "test.csv", "--json")
    labelled = json.loads(text)
    assert labelled["accuracy"] > 0.6
    code, text, _ = command(
        "predict", tmp_path / "out", "--queries", folder / "queries.csv", "--json"
    )
    raw = json.loads(text)
    assert raw["predictions"] == labelled["predictions"]
    assert "accuracy" not in raw
    assert (raw["guarantee"]["epsilon"], raw["guarantee"]["grade"]) == (2.0, "declared")


@pytest.mark.slow
def test_weights_take_the_bound_of_the_schema(command, folder, tmp_path):
    code, text, error = command(*protecting(folder, tmp_path / "out", learner="weights"))
    assert code == 0, error
    release = load(tmp_path / "out")
    assert release.recipe.bound == release.schema.bound
    assert str(release.terms.sources["bound"]) == "schema"
    code, text, _ = command("audit", tmp_path / "out", "--private", folder / "train.csv",
                            "--candidates", 2, "--runs", 60)  # fmt: skip
    assert code == 0
    assert "verdict: not refuted" in text


@pytest.mark.slow
def test_a_fit_by_the_schema_is_released_by_it(command, folder, tmp_path):
    read = ("--private", folder / "train.csv", "--schema", folder / "table.toml")
    code, _, error = command("fit", *read, "--out", tmp_path / "fit", *BUDGET)
    assert code == 0, error
    code, text, error = command("protect", *read, *BUDGET, "--fit", tmp_path / "fit",
                                "--learner", "weights", "--out", tmp_path / "out")  # fmt: skip
    assert code == 0, error
    assert "proven" in text
    assert load(tmp_path / "out").schema is not None
    code, _, error = command("attack", "--target", tmp_path / "fit", "--schema",
                             folder / "table.toml", "--members", folder / "train.csv",
                             "--nonmembers", folder / "test.csv", "--attacks", "yeom")  # fmt: skip
    assert code in (0, BAD_INPUT), error


@pytest.mark.slow
def test_a_release_is_attacked_by_its_own_schema(command, folder, tmp_path):
    assert command(*protecting(folder, tmp_path / "out"))[0] == 0
    code, text, error = command(
        "attack", "--target", tmp_path / "out", "--members", folder / "train.csv",
        "--nonmembers", folder / "test.csv", "--attacks", "gap")  # fmt: skip
    assert code == 0, error
    assert "400 members, 200 others" in text


@pytest.mark.slow
def test_a_network_and_neighbouring_files(command, folder, tmp_path):
    read = ("--private", folder / "train.csv", "--schema", folder / "table.toml")
    code, text, error = command("train", *read, *BUDGET, "--epochs", 1, "--batch", 200,
                                "--out", tmp_path / "net")  # fmt: skip
    assert code == 0, error
    assert "proven" in text
    code, text, error = command("predict", tmp_path / "net", "--queries", folder / "queries.csv")
    assert code == 0, error
    code, text, error = command("audit", "--end-to-end", "class-means", *read, *BUDGET,
                                "--pairs", 4)  # fmt: skip
    assert code == 0, error
    assert "verdict: not refuted" in text


@pytest.mark.slow
@pytest.mark.usefixtures("few_transcripts")
def test_the_whole_job(command, folder, tmp_path):
    code, text, error = command(
        "run", "--private", folder / "train.csv", "--test", folder / "test.csv", "--schema",
        folder / "table.toml", *BUDGET, "--draws", 2, "--shadows", 10, "--jobs", 1,
        "--epsilons", 2, "--out", tmp_path / "run")  # fmt: skip
    assert code == 0, error
    release = load(tmp_path / "run" / "released")
    assert release.schema is not None
    assert not release.terms.inferred
    code, text, error = command("predict", tmp_path / "run" / "released", "--queries",
                                folder / "test.csv", "--json")  # fmt: skip
    assert json.loads(text)["accuracy"] > 0.5


def test_a_plan_by_the_schema(command, folder):
    code, text, _ = command("plan", "--schema", folder / "table.toml", *BUDGET, "--json")
    assert code == 0
    asked = json.loads(text)["situation"]
    assert (asked["records"], asked["features"], asked["classes"]) == (400, 8, 2)
    assert asked["bound"] == pytest.approx(5**0.5)


def test_facts_of_the_private_table_make_it_declared(command, folder, tmp_path):
    code, text, error = command("schema", "init", "--from-private", folder / "train.csv",
                                "--label", "ill", "--out", tmp_path / "own.toml")  # fmt: skip
    assert code == 0
    assert "declared, not proven" in error
    assert "column 'case number' is left out" in text
    code, text, _ = command("schema", "check", tmp_path / "own.toml")
    assert "so every release is declared, not proven" in text
    code, text, _ = command(
        "protect", "--private", folder / "train.csv", "--schema", tmp_path / "own.toml", *BUDGET,
        "--records", 400, "--learner", "class-means", "--out", tmp_path / "out")  # fmt: skip
    assert code == 0
    assert text.startswith("ε ≤ 2, δ ≤ 1e-5 (declared;")
    assert "schema: read from the private data, not declared" in " ".join(text.split())


def test_a_draft_of_a_public_table_can_be_used_as_it_is(command, folder, tmp_path):
    code, _, error = command("schema", "init", "--from", folder / "test.csv", "--label", "ill",
                             "--out", tmp_path / "draft.toml")  # fmt: skip
    assert code == 0, error
    code, text, error = command("schema", "check", tmp_path / "draft.toml", folder / "test.csv")
    assert code == 0, error
    assert "every record is valid" in text
    assert "nothing is read off the private table" in text
    code, text, _ = command("schema", "check", tmp_path / "draft.toml", "--json")
    assert json.loads(text)["classes"] == ["0.0", "1.0"]


def test_check_says_what_does_not_fit(command, folder, tmp_path):
    rows = (folder / "train.csv").read_text().replace("Bern", "").splitlines()[:30]
    (tmp_path / "odd.csv").write_text("\n".join(f"{row};9" for row in rows) + "\n")
    code, text, _ = command("schema", "check", folder / "table.toml", tmp_path / "odd.csv")
    text = " ".join(text.split())
    assert code == 1
    assert "column '9' is not in the schema" in text
    assert "keep it private" in text
    assert "of 29 cells are a gap" in text


@pytest.mark.parametrize(
    ("more", "says"),
    [(("--label", "ill"), "--label must not be given beside --schema"),
     (("--classes", "0,1"), "--classes must not be given beside --schema"),
     (("--bound", "2", "--learner", "weights"), "--bound must not be given beside --schema"),
     (("--records", "9"), "--records must not be given beside --schema"),
     (("--drop", "age"), "--drop must not be given beside --schema"),
     (("--relation", "neither"), "relation"),
     (("--schema", "nowhere.toml"), "schema nowhere.toml must be a file")],
)  # fmt: skip
def test_what_is_refused_in_one_line(command, folder, tmp_path, more, says):
    code, out, error = command(*protecting(folder, tmp_path / "out"), *more)
    assert (code, out) == (BAD_INPUT, "")
    assert says in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_private_cell_is_never_shown(command, folder, tmp_path):
    secret = (folder / "train.csv").read_text() + "secretcell;70,0;Bern;True;1970-01-01;9;1.0\n"
    (tmp_path / "train.csv").write_text(secret)
    code, out, error = command("protect", "--private", tmp_path / "train.csv", "--schema",
                               folder / "table.toml", *BUDGET, "--learner", "class-means",
                               "--out", tmp_path / "out")  # fmt: skip
    assert code == BAD_INPUT
    assert "in column 'age', got a gap or something else in row 400" in error
    assert "secret" not in out + error


def plain(folder):
    rng = np.random.default_rng(0)
    rows = [f"{i},note {i},{rng.normal():.3f},{rng.normal():.3f},{'ab'[i % 2]}" for i in range(60)]
    (folder / "plain.csv").write_text("\n".join(["Unnamed: 0,text,x,z,y", *rows]) + "\n")
    return ("protect", "--private", folder / "plain.csv", "--label", "y", "--classes", "a,b",
            "--records", 60, "--learner", "class-means", *BUDGET,
            "--out", folder / "out", "--json")  # fmt: skip


@pytest.mark.parametrize(
    ("more", "features", "pointed"),
    [(("--drop", "text"), 3, True), (("--drop", '"Unnamed: 0",text'), 2, False),
     (("--features", "z,x"), 2, False), (("--features", "z", "--features", "x"), 2, False)],
)  # fmt: skip
def test_features_by_name(command, tmp_path, more, features, pointed):
    code, text, error = command(*plain(tmp_path), *more)
    assert code == 0, error
    assert json.loads(text)["numbers"]["features"] == features
    assert ("its name is that of an identifier: --drop 'Unnamed: 0'" in error) == pointed


@pytest.mark.parametrize(
    ("more", "says"),
    [(("--drop", "nothing"), "feature or drop must be a column"),
     (("--features", "y"), "'y' must be one thing, got label and feature or drop"),
     (("--features", "x", "--drop", "x"), "'x' must be one thing"),
     ((), "leave it out (--drop), describe it in a --schema")],
)  # fmt: skip
def test_other_columns_are_refused(command, tmp_path, more, says):
    code, out, error = command(*plain(tmp_path), *more)
    assert (code, out) == (BAD_INPUT, "")
    assert says in error
