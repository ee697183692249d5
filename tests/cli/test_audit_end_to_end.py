"""``reticent audit --end-to-end``: protect on neighbours built from the user's own table."""

import json

import numpy as np
import pytest

from reticent.audit.end_to_end import pairs
from reticent.cli.main import BAD_INPUT, run
from reticent.protect.recipes import statistics

ROWS = np.random.default_rng(0).integers(-9, 9, size=(60, 3))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    lines = ["a,b,c,kind,who"]
    lines += [f"{a},{b},{c},{'xy'[i % 2]},w{i // 3}" for i, (a, b, c) in enumerate(ROWS)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def command(capsys, table):
    def call(line):
        code = run(
            f"audit --private {table} --label kind --classes x,y --records 60 {line}".split()
        )
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


TERMS = "--epsilon 1 --delta 1e-5 --relation add-remove --person who --pairs 6"


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["class-means", "noisy-gradient", "weights --bound 5"])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_protect_holds_on_the_users_own_table(command, learner, relation):
    terms = TERMS.replace("add-remove", relation)
    code, out, error = command(f"--end-to-end {learner} {terms} --json")
    assert (code, error) == (0, "")
    found = json.loads(out)
    assert found["verdict"] == "not refuted"
    assert found["pairs"] == 6
    assert found["rows"] == 60
    assert 0.1 < found["moved_over_claimed"] <= 1
    assert "one person with at most 1 record" in found["claim"]


def test_the_lines_that_are_printed(command):
    code, out, _ = command(f"--end-to-end class-means {TERMS}")
    assert code == 0
    assert "6 neighbouring files built from 60 rows" in out
    assert "verdict: not refuted" in out


def test_rows_that_are_not_scaled_are_found(command, monkeypatch):
    monkeypatch.setattr(statistics, "unit_rows", lambda rows, centre: np.trunc(rows - centre))
    code, out, _ = command(f"--end-to-end class-means {TERMS}")
    assert code == 1
    assert "found: a query moved by" in out
    assert "verdict: refuted" in out


def test_large_tables_are_cut(command, monkeypatch):
    monkeypatch.setattr(pairs, "MOST_ROWS", 20)
    code, out, _ = command(f"--end-to-end class-means {TERMS} --json")
    assert code == 0
    assert json.loads(out)["rows"] == 20


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--end-to-end weights --epsilon 1 --pure --relation add-remove", "--bound must be said"),
        (f"--end-to-end class-means {TERMS} --runs 5", "--runs must not be said"),
        ("--end-to-end class-means --epsilon 1 --pure", "--relation must be said"),
        (f"--end-to-end nothing {TERMS}", "learner must be one of"),
        (f"--end-to-end class-means {TERMS.replace('who', 'whom')}", "must have the column 'whom'"),
        (f"--end-to-end class-means {TERMS.replace('6', '0')}", "pairs must be >= 1"),
    ],
)
def test_bad_input_gets_one_line(command, line, message):
    code, out, error = command(line)
    assert code == BAD_INPUT
    assert out == ""
    assert error.count("\n") == 1
    assert message in error
