"""Somebody who knows the documentation alone brings a table of their own.

The commands are those of the engineer's tutorial, run as they stand there on an imbalanced table
with labels in several scripts and patients with several rows.
"""

import csv
import errno
import json
import os
import re
import shlex
import stat
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.cli.main import run as reticent
from reticent.protect import release_weights
from reticent.run import Finished
from reticent.training import SoftmaxHead
from tests.report.sample import sample_results
from tools import console

PAGE = Path(__file__).parent.parent / "docs" / "tutorials" / "engineer.md"
MARKED = re.compile(r"<!-- the stranger's trial[^\n]*-->\n```text\n(.*?)```", re.DOTALL)
CLASSES = ("no finding", "Sjögren's syndrome", "Ménière's disease")
KINDS = [0] * 16 + [1] * 3 + [2]
"""80, 15 and 5 of a hundred patients."""
COLUMNS = [f"f{i}" for i in range(8)]
ONE_PATIENT = "one person with at most 1 record"


def commands():
    """The marked block of the page, one command after the other."""
    (block,) = MARKED.findall(PAGE.read_text(encoding="utf-8"))
    return re.sub(r"\s*\\\n\s*", " ", block).splitlines()


def write_table(path, patients, rng):
    """Of so many patients, one to four rows each; most have nothing."""
    centres = 3 * np.eye(len(CLASSES), len(COLUMNS))
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["patient", *COLUMNS, "diagnosis"])
        for patient in patients:
            kind = KINDS[patient % len(KINDS)]
            for _ in range(rng.integers(1, 5)):
                row = (centres[kind] + rng.normal(size=len(COLUMNS))).round(3)
                table.writerow([f"Patient {patient}", *row, CLASSES[kind]])


def write_tables(folder, patients):
    rng = np.random.default_rng(8)
    write_table(folder / "train.csv", range(patients), rng)
    write_table(folder / "test.csv", range(patients, 2 * patients), rng)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The folder after all commands, and what each of them gave."""
    folder = tmp_path_factory.mktemp("stranger")
    write_tables(folder, 360)
    return folder, [console.run(command, directory=folder) for command in commands()]


def test_the_tables_are_what_the_trial_is_about(tmp_path):
    write_tables(tmp_path, 360)
    with (tmp_path / "train.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert 850 < len(rows) < 950
    whose = Counter(row["patient"] for row in rows)
    assert set(whose.values()) == {1, 2, 3, 4}
    of = {row["patient"]: row["diagnosis"] for row in rows}
    assert Counter(of.values()) == dict(zip(CLASSES, (288, 54, 18), strict=True))
    assert f'--classes "{",".join(CLASSES)}"' in commands()[0]


@pytest.mark.slow
def test_every_step_ends_well(done):
    _, outcomes = done
    assert [shlex.split(command)[1] for command in commands()] == [
        *("fit", "protect", "attack", "attack", "audit", "card"),
    ]
    assert [outcome.exit_code for outcome in outcomes] == [0] * 6, outcomes
    assert "UNPROTECTED" in outcomes[0].output
    claim = f"ε ≤ 2, δ ≤ 1e-5 (proven; neighbours: add-remove; unit: {ONE_PATIENT})"
    assert " ".join(outcomes[1].output.split()).startswith(claim)


def attacks_in(path):
    """What `attack --json` wrote, by the names of attacks."""
    return {one["name"]: one for one in json.loads(path.read_text(encoding="utf-8"))["attacks"]}


@pytest.mark.slow
def test_attacks_see_one_row_of_each_patient(done):
    folder, _ = done
    for name in ("before.json", "after.json"):
        found = attacks_in(folder / name)
        assert {(one["members"], one["others"]) for one in found.values()} == {(360, 360)}
    assert "released-weights" in found
    assert found["gap"]["threat"].startswith("black box")


@pytest.mark.slow
def test_the_card_says_what_the_steps_found(done):
    folder, _ = done
    card, annex = (folder / name for name in ("card.md", "annex.md"))
    text = card.read_text(encoding="utf-8")
    audit = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    assert audit["audit"]["verdict"] == "not refuted"
    assert audit["claim"]["unit"] == ONE_PATIENT
    assert f"ε ≤ 2, δ ≤ 1e-5 (declared; neighbours: add-remove; unit: {ONE_PATIENT})" in text
    assert "not refuted" in text
    for name in ("before.json", "after.json"):
        attacks = attacks_in(folder / name)
        assert f"{attacks['loss']['auc']['value']:.3f}" in text
    assert "claims no compliance" in annex.read_text(encoding="utf-8")
    assert {stat.S_IMODE(path.stat().st_mode) for path in (card, annex)} == {0o600}


# --- persons with several rows, and the whole job -------------------------------------------------


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with small tables, which is the current one."""
    write_tables(tmp_path, 60)
    monkeypatch.chdir(tmp_path)
    return tmp_path


PUBLIC = ("--classes", ",".join(CLASSES), "--bound", "8", "--records", "60")
ASKED = ("--epsilon", "2", "--delta", "1e-5", "--relation", "add-remove")
PRIVATE = ("--private", "train.csv", "--label", "diagnosis", "--person", "patient")
WEIGHTS = ("--learner", "weights")


@pytest.mark.slow
def test_persons_with_several_rows_are_audited_as_persons(here, capsys):
    two = ("--max-records-per-person", "2")
    assert reticent(["protect", *PRIVATE, *PUBLIC, *ASKED, *WEIGHTS, *two, "--out", "two"]) == 0
    assert "unit: one person with at most 2 records)" in " ".join(capsys.readouterr().out.split())
    tried = ("--runs", "200", "--beta", "1e-6")
    assert reticent(["audit", "two", *PRIVATE, *tried]) == 0
    assert "of a person" in capsys.readouterr().out
    assert reticent(["audit", "two", *PRIVATE[:-2], *tried]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("reticent: --person must be said")
    assert said.err.count("\n") == 1
    assert reticent(["protect", *PRIVATE, *PUBLIC, *ASKED, *WEIGHTS, "--out", "one"]) == 0
    assert reticent(["audit", "one", *PRIVATE, *tried]) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("few_transcripts")
def test_the_whole_job_takes_the_same_table(here, capsys):
    small = ("--epsilons", "2", "--draws", "2", "--shadows", "10", "--jobs", "1", "--out", "run")
    asked = ["run", *PRIVATE, "--test", "test.csv", *PUBLIC, *ASKED, *small]
    assert reticent(asked) == 0, capsys.readouterr().err
    found = json.loads((here / "run" / "results.json").read_text(encoding="utf-8"))
    assert found["facts"]["classes"] == list(CLASSES)
    assert found["facts"]["private"] == 60
    assert not [path for path in (here / "run").iterdir() if path.name.startswith(".")]


# --- what goes wrong is one line, exit code 2, and nothing written --------------------------------

FORMS = {
    "run": ["run", *PRIVATE, "--test", "test.csv", *PUBLIC, *ASKED, "--quiet", "--out", "out/run"],
    "protect": ["protect", *PRIVATE, *PUBLIC, *ASKED, *WEIGHTS, "--out", "out/released"],
    "fit": ["fit", *PRIVATE, *PUBLIC, *ASKED, "--out", "out/head"],
    "attack": [
        *("attack", "--target", "theirs:model", "--members", "train.csv"),
        *("--nonmembers", "test.csv", "--label", "diagnosis", "--person", "patient"),
        *("--classes", ",".join(CLASSES), "--attacks", "gap,loss"),
        *("--scores-out", "out/scores.csv"),
    ],
}
THEIRS = """
import numpy

def model(rows):
    raised = numpy.exp(rows[:, :3])
    return raised / raised.sum(axis=1, keepdims=True)
"""


@pytest.fixture
def trial(here, capsys, monkeypatch):
    """Runs one of the forms with some words changed, and sees that it is refused."""
    (here / "theirs.py").write_text(THEIRS)
    (here / "out").mkdir()
    monkeypatch.syspath_prepend(here)

    def refused(form, **changed):
        words = list(FORMS[form])
        for option, value in changed.items():
            words[words.index(f"--{option.replace('_', '-')}") + 1] = value
        assert reticent(words) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("reticent: ")
        assert said.err.count("\n") == 1
        left = [path for path in (here / "out").rglob("*") if path != here / "out" / "run"]
        assert left == []
        return said.err

    return refused


def spoil(path, row, column, cell):
    """One cell of a table is another."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    rows[row + 1][rows[0].index(column)] = cell
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


every_form = pytest.mark.parametrize("form", FORMS)


def test_the_forms_work_where_nothing_is_wrong(here, capsys, monkeypatch):
    (here / "theirs.py").write_text(THEIRS)
    (here / "out").mkdir()
    monkeypatch.syspath_prepend(here)
    for form in ("protect", "fit", "attack"):
        assert reticent(FORMS[form]) == 0, capsys.readouterr().err


@every_form
@pytest.mark.parametrize("cell", ["nan", "", "NaN", "high"])
def test_a_cell_that_is_no_number(trial, here, form, cell):
    spoil(here / "train.csv", 41, "f6", cell)
    said = trial(form)
    assert "row 41 (counting from 0)" in said
    assert "column 'f6'" in said


@every_form
@pytest.mark.parametrize("option", ["label", "person"])
def test_a_column_that_is_not_there(trial, form, option):
    said = trial(form, **{option: "absent"})
    assert "must be a column of train.csv, got 'absent': it has 'patient', 'f0'" in said


@every_form
@pytest.mark.parametrize("content", [b"\xff\xfe\x00binary", b"", None])
def test_a_file_that_cannot_be_read(trial, here, form, content):
    if content is None:
        (here / "train.csv").unlink()
    else:
        (here / "train.csv").write_bytes(content)
    assert "train.csv" in trial(form)


@every_form
@pytest.mark.parametrize("classes", ["no finding", "a,a", "", "a,,b"])
def test_fewer_than_two_classes(trial, form, classes):
    assert "--classes must be at least two different names" in trial(form, classes=classes)


@every_form
def test_a_label_of_no_declared_class(trial, form):
    said = trial(form, classes="no finding,Sjögren's syndrome,other")
    assert "column 'diagnosis'" in said or "of the target's classes" in said
    assert "Ménière" not in said


@pytest.mark.parametrize("form", [form for form in FORMS if form != "attack"])
@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf"])
def test_an_epsilon_that_is_none(trial, form, epsilon):
    assert re.search(r"epsilon must be [^;]*, got (0|-1|nan|inf)", trial(form, epsilon=epsilon))


@every_form
@pytest.mark.parametrize("where", ["/proc/nowhere/deep", "train.csv/below"])
def test_a_folder_that_cannot_be_written_to(trial, form, where):
    option = "scores_out" if form == "attack" else "out"
    path = f"{where}/scores.csv" if form == "attack" else where
    assert where.split("/")[1] in trial(form, **{option: path})


def finished():
    """A run that was made long ago."""
    X, y = load_digits(return_X_y=True)
    head = SoftmaxHead(penalty=1.0, bound=80, classes=range(10), records=100).fit(X[:100], y[:100])
    released = release_weights(head, epsilon=1, delta=1e-5, relation="add-remove")
    return Finished(results=sample_results(), released=released)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "nth"),
    [("run", 1), ("run", 3), ("run", 5), ("protect", 1), ("protect", 2), ("fit", 1), ("attack", 1)],
)
@pytest.mark.usefixtures("few_transcripts")
def test_a_full_disk(trial, monkeypatch, form, nth):
    written = []

    def full(descriptor):
        written.append(descriptor)
        if len(written) >= nth:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("reticent.run.run_job", lambda *_, **__: finished())
    monkeypatch.setattr(os, "fsync", full)
    said = trial(form)
    assert "No space left on device" in said
    assert len(written) == nth
    assert "/." not in said
