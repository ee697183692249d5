"""``reticent plan``: public numbers in, advice out."""

import json

import pytest
from rich.cells import cell_len

from reticent.cli.main import BAD_INPUT, run
from reticent.data.schema.schema import example_path

NUMBERS = "plan --records 50000 --features 1280 --classes 10 --epsilon 1 --relation add-remove"


@pytest.fixture
def command(capsys):
    def call(line, *more):
        code = run([*line.split(), *map(str, more)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_advice_for_people(command):
    code, text, _ = command(f"{NUMBERS} --delta 1e-5")
    assert code == 0
    assert text.startswith("use: noisy-gradient, gaussian noise")
    assert "utility loss:" in text
    assert "Records needed" in text


@pytest.mark.parametrize("budget", ["--delta 1e-5", "--pure", "--pure --records 50"])
def test_the_next_command_is_one_that_protect_takes(command, tmp_path, budget):
    _, text, _ = command(f"{NUMBERS} --bound 3 {budget}")
    line = text.split("next: reticent ")[1].split("Records needed")[0]
    assert ("--bound 3" in line) == ("--learner weights" in line)
    file = tmp_path / "none.csv"  # options are refused before files
    for blank, given in {"FILE": file, "COLUMN": "y", "NAMES": "a,b", "released": "out"}.items():
        line = line.replace(blank, str(given))
    code, _, errors = command(" ".join(line.split()))
    assert (code, "got: No such file" in errors) == (BAD_INPUT, True)


def test_persons_are_named_in_the_next_command(command):
    _, text, _ = command(f"{NUMBERS} --delta 1e-5 --max-records-per-person 1")
    assert "--person COLUMN --max-records-per-person 1 --label COLUMN" in " ".join(text.split())
    assert "--person" not in command(f"{NUMBERS} --delta 1e-5")[1]


def test_beside_a_schema_the_next_command_repeats_nothing_that_it_says(command, tmp_path):
    path = tmp_path / "an adult.toml"
    path.write_bytes(example_path("adult").read_bytes())
    asked = "plan --epsilon 1 --delta 1e-5 --relation add-remove --max-records-per-person 1"
    _, text, _ = command(f"{asked} --schema", path)
    line = " ".join(text.split("next: reticent ")[1].split())
    assert "--person" not in line
    assert "--label" not in line
    assert f"--schema '{path}' --max-records-per-person 1 --out released" in line


def test_advice_for_programs(command):
    code, text, _ = command(f"{NUMBERS} --delta 1e-5 --loss 0.1 --json")
    assert code == 0
    advice = json.loads(text)
    assert advice["learner"] == "noisy-gradient"
    assert advice["loss"]["low"] < advice["loss"]["likely"] < advice["loss"]["high"]
    (needed,) = advice["records_needed"]
    assert needed["loss"] == 0.1
    assert needed["likely"] < needed["surely"]


@pytest.mark.parametrize(
    ("budget", "served", "why"),
    [
        ("--delta 1e-5", "weights once, gaussian", "never better"),
        ("--pure", "an answer each, l2-laplace", "up to 33 queries with logits"),
    ],
)
def test_advice_about_queries(command, budget, served, why):
    code, text, _ = command(f"{NUMBERS} {budget} --queries 20")
    flat = " ".join(text.split())
    assert code == 0
    assert f"20 queries of a convex head: {served}" in flat
    assert why in flat
    assert "Noise on one logit" in flat
    assert "permute-and-flip" in flat
    _, text, _ = command(f"{NUMBERS} {budget} --queries 20 --json")
    found = json.loads(text)["served"]
    assert found["queries"] == 20
    stds = [way["logit_noise"] for way in found["ways"]]
    assert stds == sorted(stds)
    assert served.startswith(found["for_logits"]["release"])
    _, text, _ = command(f"{NUMBERS} {budget} --json")
    assert "served" not in json.loads(text)


def test_pure_epsilon_has_a_learner_a_loss_and_records(command):
    code, text, _ = command(f"{NUMBERS} --pure --loss 0.1")
    assert code == 0
    assert text.startswith("use: matrix-lda, matrix-laplace noise")
    assert "utility loss:" in text
    assert "almost surely from" in text
    line = " ".join(text.split())
    assert "--learner matrix-lda --epsilon" in line  # it has no other noise
    assert "--pure" in line


@pytest.fixture
def schema(tmp_path, monkeypatch):
    """Adult's schema with few records and a fact about its labels."""
    monkeypatch.chdir(tmp_path)
    text = example_path("adult").read_text(encoding="utf-8")
    text = text.replace("records = 32000", "records = 400", 1)
    facts = '[labels]\nrarest_share = 0.24\nsource = "the census"\n\n[file]'
    (tmp_path / "few.toml").write_text(text.replace("[file]", facts, 1), encoding="utf-8")
    return "plan --schema few.toml --epsilon 0.5 --delta 1e-5 --relation add-remove"


def test_a_schema_says_which_columns_cost_most_and_what_would_help(command, schema):
    code, text, _ = command(schema)
    assert code == 0
    table = text.split("What each column costs")[1]
    assert table.index("native-country") < table.index("education") < table.index("age")
    assert "without native-country" in text.split("What would help, by public numbers alone")[1]
    found = json.loads(command(f"{schema} --json")[1])
    assert found["situation"]["rarest_share"] == 0.24
    assert len(found["columns"]) == 13
    assert sum(one["bound_share"] for one in found["columns"]) == pytest.approx(1.0)
    assert found["would_help"][0]["loss"]["likely"] < found["loss"]["likely"]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_columns_cost_fits_the_terminal(command, schema, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    assert max(cell_len(line.rstrip()) for line in command(schema)[1].splitlines()) <= width


def test_nothing_has_to_help_where_the_loss_is_small(command):
    _, text, _ = command(f"{NUMBERS} --delta 1e-5")
    assert "would help" not in text
    assert "would_help" not in json.loads(command(f"{NUMBERS} --delta 1e-5 --json")[1])


def test_the_rarest_class_is_said_once_and_moves_the_range(command, schema):
    code, _, errors = command(f"{schema} --rarest-share 0.2")
    assert (code, "--rarest-share must not be given" in errors) == (BAD_INPUT, True)
    losses = [
        json.loads(command(f"{NUMBERS} --delta 1e-5 --json{more}")[1])["loss"]
        for more in ("", " --rarest-share 0.1", " --rarest-share 0.01")
    ]
    assert losses[0] == pytest.approx(losses[1])
    assert losses[2] != pytest.approx(losses[0])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (NUMBERS, "delta must be said"),
        (NUMBERS.replace(" --relation add-remove", " --delta 1e-5"), "--relation must be"),
        (f"{NUMBERS} --delta 1e-5 --loss 2", "loss must be"),
        (f"{NUMBERS} --pure --loss 2", "loss must be"),
        (f"{NUMBERS} --delta nan", "delta must be"),
        (f"{NUMBERS} --delta 1e-5 --rarest-share 0.2", "--rarest-share must be <= 1/10"),
        (f"{NUMBERS} --pure --queries 0", "queries must be >= 1"),
        (f"{NUMBERS.replace('50000', '0')} --delta 1e-5", "records must be"),
    ],
)
def test_bad_input_gets_one_line(command, line, message):
    code, _, errors = command(line)
    assert code == BAD_INPUT
    assert message in errors
    assert errors.strip().count("\n") == 0
