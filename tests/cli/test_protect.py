"""protect, verify and predict on a user's own CSV file."""

import csv
import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.cli.main import BAD_INPUT, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    X, y = load_digits(return_X_y=True)
    X = np.round(X / 16 - 0.3, 4)
    for name, rows in {"train": range(1400), "test": range(1400, 1797)}.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow([*(f"p{i}" for i in range(64)), "digit", "who"])
            table.writerows([*X[i], f"d{y[i]}", f"u{i // 2}"] for i in rows)
    return folder


@pytest.fixture
def command(capsys):
    def call(line):
        code = run(line.split())
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


CLASSES = ",".join(f"d{i}" for i in range(10))


def protecting(folder, out, more="--delta 1e-5"):
    return (
        f"protect --private {folder}/train.csv --label digit --person who --records-each 2 "
        f"--classes {CLASSES} --bound 2.5 --records 1400 --epsilon 8 {more} "
        f"--relation add-remove --out {out}"
    )


def test_the_whole_way(command, folder, tmp_path):
    out = tmp_path / "released"
    code, text, _ = command(protecting(folder, out))
    assert code == 0
    assert text.startswith("ε ≤ 8, δ ≤ 1e-5 (proven; neighbours: add-remove; unit: one person with")
    assert "checked by the code:" in text
    assert "stated by you:" in text
    code, text, _ = command(f"verify {out}")
    assert code == 0
    assert text.startswith("holds: ε ≤ 8")
    code, text, _ = command(
        f"predict {out} --queries {folder}/test.csv --label digit --person who --json"
    )
    assert code == 0
    assert json.loads(text)["accuracy"] > 0.5  # 0.80 ± 0.03 over releases
    assert set(json.loads(text)["predictions"]) <= set(CLASSES.split(","))


def test_a_changed_certificate_exits_with_one(command, folder, tmp_path):
    out = tmp_path / "released"
    code, text, _ = command(protecting(folder, out) + " --json")
    assert code == 0
    assert json.loads(text)["guarantee"]["grade"] == "proven"
    path = tmp_path / "released.json"
    path.write_text(path.read_text().replace('"epsilon": 8.0', '"epsilon": 1.0'))
    code, text, _ = command(f"verify {out}")
    assert code == 1
    assert "does not hold: the noise gives epsilon = 8, not 1" in text
    code, text, _ = command(f"verify {out} --json")
    assert (code, json.loads(text)["holds"]) == (1, False)
    code, _, error = command(f"predict {out} --queries {folder}/test.csv --label digit")
    assert code == BAD_INPUT
    assert "must match its certificate" in error


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("", "delta must be said"),
        ("--delta 1e-5 --bound -1", "bound must be > 0"),
        ("--delta 1e-5 --records 0", "records must be >= 1"),
        ("--delta 1e-5 --label nothing", "nothing"),
        ("--delta 1e-5 --classes d0,d1", "got another in row 2"),
        ("--delta 1e-5 --mechanism uniform", "mechanism must be one of"),
        ("--delta 1e-5 --relation swap", "--relation must be"),
        ("--delta 1e-5 --penalty nan", "penalty must be > 0"),
        ("--pure", "delta must be > 0 for gaussian"),
        ("--delta 1e-5 --records-each 0", "records_each must be >= 1"),
    ],
)
def test_bad_input_writes_nothing(command, folder, tmp_path, more, message):
    line = protecting(folder, tmp_path / "released", "") + f" {more}"
    code, out, error = command(line)
    assert (code, out, error.count("\n")) == (BAD_INPUT, "", 1)
    assert message in error
    assert list(tmp_path.iterdir()) == []
