"""What commands do not do silently: write over a release, promise little, show libraries' words."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reticent.cli.main import BAD_INPUT, run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def command(capsys):
    def call(line):
        code = run(line.split())
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(3)
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["age", "height", "kind"])
        for _ in range(60):
            kind = rng.integers(2)
            rows.writerow([*np.round(rng.normal(2 * kind - 1, 1, size=2), 3), f"k{kind}"])
    return path


def protecting(table, out, more="--epsilon 2 --delta 1e-5"):
    return (
        f"protect --private {table} --label kind --classes k0,k1 --records 60 --learner class-means"
        f" --relation add-remove --out {out} {more}"
    )


def test_an_earlier_release_stays(command, table, tmp_path):
    out = tmp_path / "release"
    ledger = tmp_path / "book.db"
    assert command(protecting(table, out))[0] == 0
    before = [(tmp_path / f"release.{end}").read_bytes() for end in ("json", "safetensors")]
    code, _, error = command(f"{protecting(table, out)} --ledger {ledger} --data-set d")
    assert code == BAD_INPUT
    assert re.search(r"--out must not be that of an earlier release, got .*--replace", error)
    assert error.count("\n") == 1
    assert [(tmp_path / f"release.{end}").read_bytes() for end in ("json", "safetensors")] == before
    assert not ledger.exists()  # nothing was charged for it
    assert command(f"{protecting(table, out)} --replace")[0] == 0
    assert (tmp_path / "release.safetensors").read_bytes() != before[1]


@pytest.mark.parametrize("name", ["train", "run"])
def test_other_commands_keep_it_too(command, table, tmp_path, name):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "released.safetensors").write_bytes(b"earlier")
    out = folder if name == "run" else folder / "released"
    more = f" --test {table} --bound 3" if name == "run" else ""
    code, _, error = command(
        f"{name} --private {table} --label kind --classes k0,k1 --records 60 --epsilon 1"
        f" --delta 1e-5 --relation add-remove --out {out}{more}"
    )
    assert code == BAD_INPUT
    assert "earlier release" in error
    assert (folder / "released.safetensors").read_bytes() == b"earlier"


@pytest.mark.parametrize(
    ("numbers", "lines"),
    [
        ("--epsilon 2 --delta 1e-5", []),
        ("--epsilon 2 --delta 0.5", ["warning: δ ≤ 0.5 is not below 1/N = 0.0167"]),
        ("--epsilon 1000000 --pure --mechanism laplace", ["warning: ε ≤ 1000000 promises little"]),
    ],
)
def test_a_weak_promise_is_pointed_out_and_keeps_its_grade(
    command, table, tmp_path, numbers, lines
):
    out = tmp_path / "release"
    code, text, error = command(protecting(table, out, numbers))
    assert code == 0
    assert "(proven;" in text.splitlines()[0]
    assert error.count("warning:") == len(lines)
    assert all(line in error for line in lines)
    _, verified, _ = command(f"verify {out}")
    assert ("warning:" in verified) == bool(lines)
    _, card, _ = command(f"card --released {out}")
    assert ("**Weak:**" in card) == bool(lines)
    assert json.loads((tmp_path / "release.json").read_text())["guarantee"]["grade"] == "proven"


@pytest.mark.slow
def test_warnings_of_libraries_do_not_reach_the_user(tmp_path):
    """As a process: the module warns as a library would, when it is imported and when used."""
    (tmp_path / "noisy.py").write_text(
        "import random, warnings\n"
        "warnings.simplefilter('always')\n"
        "warnings.warn('a library is old', FutureWarning)\n"
        "def answer(value):\n"
        "    warnings.warn('divide by zero', RuntimeWarning)\n"
        "    return value if random.random() < 0.7 else 1 - value\n"
    )
    asked = "audit --function noisy:answer --one 0 --other 1 --epsilon 1 --delta 0 --runs 200"
    arguments = [sys.executable, "-m", "reticent", *asked.split()]
    for option, seen in (("", False), ("default", True)):
        clean = {**os.environ, "PYTHONWARNINGS": option}
        found = subprocess.run(
            arguments, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False
        )
        assert ("Warning" in found.stderr) == seen, found.stderr


@pytest.mark.slow
def test_an_installation_says_how_far_it_is(tmp_path):
    """As the Makefile begins it: a line each second, until the mark has gone."""
    (tmp_path / "lib" / "python3" / "site-packages" / "one.dist-info").mkdir(parents=True)
    (tmp_path / ".installing").touch()
    script = (
        f"sh {ROOT}/tools/installing.sh {tmp_path} 1 & sleep 2.5; rm {tmp_path}/.installing; wait"
    )
    found = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    lines = found.stdout.splitlines()
    assert 1 <= len(lines) <= 3
    assert re.fullmatch(r"  still installing, after \d+ s: 1 packages, \d+ MB in .*", lines[0])


def test_the_learner_follows_plan_and_a_line_says_so(command, table, tmp_path):
    by_plan = protecting(table, tmp_path / "a").replace(" --learner class-means", "")
    code, _, error = command(f"{by_plan} --bound 3")
    assert code == 0
    assert "learner noisy-gradient, gaussian noise, as plan says: Noisy gradients lose" in error
    assert "no use for --bound" in error
    assert json.loads((tmp_path / "a.json").read_text())["recipe"] == "noisy-gradient"
    clusters = by_plan.replace(f"{tmp_path / 'a'}", f"{tmp_path / 'b'}")
    code, _, error = command(clusters.replace("--records 60", "--records 6000 --prototypes"))
    assert code == 0
    assert "learner class-means" in error
    pure = protecting(table, tmp_path / "c", "--epsilon 0.2 --pure")
    code, _, error = command(pure.replace(" --learner class-means", ""))
    assert code == 0
    assert "learner pure-class-means, block-l2-laplace noise, as plan says: δ = 0" in error
    assert json.loads((tmp_path / "c.json").read_text())["recipe"] == "pure-class-means"
    named = protecting(table, tmp_path / "d", "--epsilon 0.2 --pure --mechanism laplace")
    code, _, error = command(named.replace(" --learner class-means", ""))
    assert code == 0
    assert (
        "learner class-means, laplace noise, which can have it; plan says pure-class-means" in error
    )


def test_an_option_of_one_learner_chooses_it(command, table, tmp_path):
    asked = protecting(table, tmp_path / "a").replace(" --learner class-means", "")
    code, _, error = command(f"{asked} --penalty 0.1")
    assert code == BAD_INPUT
    assert "--bound must be said" in error
    assert command(f"{asked} --penalty 0.1 --bound 3")[0] == 0
    assert json.loads((tmp_path / "a.json").read_text())["recipe"] == "weights"


def test_columns_are_found_by_name_and_answers_are_written(command, table, tmp_path):
    assert command(protecting(table, tmp_path / "r"))[0] == 0
    with table.open() as file:
        rows = list(csv.DictReader(file))
    for name, columns in {
        "turned": ["height", "kind", "age"],
        "other": ["height", "kind", "weight"],
    }.items():
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            written = csv.DictWriter(file, columns)
            written.writeheader()
            written.writerows({**{c: row.get(c, 1) for c in columns}} for row in rows)
    answers = {}
    for name in ("t", "turned"):
        asked = f"predict {tmp_path}/r --queries {tmp_path}/{name}.csv --label kind"
        code, text, _ = command(f"{asked} --out {tmp_path}/{name}.answers.csv")
        assert code == 0
        answers[name] = (tmp_path / f"{name}.answers.csv").read_text()
        assert "accuracy" in text
    assert answers["t"] == answers["turned"]
    lines = answers["t"].splitlines()
    assert lines[0] == "row,predicted,probability of k0,probability of k1"
    assert len(lines) == 61
    code, _, error = command(f"predict {tmp_path}/r --queries {tmp_path}/other.csv --label kind")
    assert code == BAD_INPUT
    assert "got rows that lack 'age' and have 1 other column" in error
    code, _, error = command(f"predict {tmp_path}/r --queries {table} --label kind --out x.txt")
    assert (code, "--out must be a .csv file" in error) == (BAD_INPUT, True)


def test_an_attack_finds_the_columns_of_a_release_too(command, table, tmp_path):
    assert command(protecting(table, tmp_path / "r"))[0] == 0
    with table.open() as file:
        rows = list(csv.DictReader(file))
    for order in ("age,height,kind", "kind,height,age"):
        for name, part in (("in", rows[:30]), ("out", rows[30:])):
            with (tmp_path / f"{name}-{order}.csv").open("w", newline="") as file:
                written = csv.DictWriter(file, order.split(","))
                written.writeheader()
                written.writerows(part)
    printed = [
        command(
            f"attack --target {tmp_path}/r --members {tmp_path}/in-{order}.csv --nonmembers"
            f" {tmp_path}/out-{order}.csv --label kind --attacks loss --jobs 1 --json"
        )
        for order in ("age,height,kind", "kind,height,age")
    ]
    assert [code for code, _, _ in printed] == [0, 0]
    assert json.loads(printed[0][1])["attacks"] == json.loads(printed[1][1])["attacks"]


def test_export_writes_what_predict_answers(command, table, tmp_path):
    import onnxruntime

    assert command(protecting(table, tmp_path / "r"))[0] == 0
    code, text, _ = command(f"export {tmp_path}/r --onnx {tmp_path}/r.onnx")
    assert code == 0
    assert "input x: float64, 2 columns" in text
    with table.open() as file:
        rows = [[float(row["age"]), float(row["height"])] for row in csv.DictReader(file)]
    session = onnxruntime.InferenceSession(tmp_path / "r.onnx")
    labels = session.run(["label"], {"x": np.array(rows)})[0].tolist()
    code, text, _ = command(f"predict {tmp_path}/r --queries {table} --label kind --json")
    assert json.loads(text)["predictions"] == labels
    for wrong in ("", f" --onnx {tmp_path}/r.txt"):
        code, _, error = command(f"export {tmp_path}/r{wrong}")
        assert (code, "--onnx must" in error) == (BAD_INPUT, True)


def test_class_names_with_commas(table, tmp_path, capsys):
    text = table.read_text().replace("k1", '"yes, surely"')
    (tmp_path / "commas.csv").write_text(text)
    asked = protecting(tmp_path / "commas.csv", tmp_path / "r").split()
    asked[asked.index("k0,k1")] = 'k0, "yes, surely"'
    assert run(asked) == 0
    assert json.loads((tmp_path / "r.json").read_text())["classes"] == ["k0", "yes, surely"]
    asked[asked.index('k0, "yes, surely"')] = 'k0,"yes'
    assert run(asked) == BAD_INPUT
    assert "quotes around whole names" in capsys.readouterr().err


def test_a_whole_number_with_decimals_gets_a_hint(command, table, tmp_path):
    """By the declared classes alone: a hint that looked at the cell would tell of it."""
    for kinds in (("0.0", "1.0"), ("0.5", "1.5")):
        text = table.read_text().replace("k0", kinds[0]).replace("k1", kinds[1])
        (tmp_path / "decimals.csv").write_text(text)
        line = protecting(tmp_path / "decimals.csv", tmp_path / "r").replace("k0,k1", "0,1")
        code, _, error = command(line)
        assert code == BAD_INPUT
        assert "0.0 is another text than 0" in error


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ("--epsilon nan --delta 1e-5", "reticent: --epsilon must be > 0 and finite, got nan"),
        ("--epsilon 1 --delta 2", "reticent: --delta must be"),
        ("--epsilon 1 --delta 1e-5 --learner nothing", "reticent: --learner must be one of"),
        (
            "--epsilon 1 --delta 1e-5 --learner weights --bound 1e200",
            "reticent: --bound must",
        ),
    ],
)
def test_messages_use_the_words_of_the_command_line(command, table, tmp_path, changed, words):
    line = protecting(table, tmp_path / "r", "").replace(" --learner class-means", "")
    code, _, error = command(f"{line}{changed}")
    assert code == BAD_INPUT
    assert error.startswith(words)
