"""The grade follows from the terms on the command line too, by every learner of the registry.

Every number that a command lets a user leave out is left out in turn, and what leaves is declared;
what it needs is refused where it is not said. A schema may say that a fact of its own was read off
the private table.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent.cli.main import BAD_INPUT, run
from reticent.guarantee import Grade
from reticent.protect import registry, verify
from reticent.service.serving import PrivateTable, ServeSpec

CLASSES = "--classes a,b,c"
BUDGET = "--epsilon 4 --delta 1e-5 --relation add-remove"
COMMANDS = {
    "protect": f"protect {BUDGET} --learner class-means",
    "train": f"train {BUDGET} --epochs 0.1 --batch 60",
}
NEEDED = {
    "protect": ("records", "classes"),
    "train": ("records", "classes"),
    "compare-protections": ("records", "classes"),
    "fit": ("records", "classes", "bound"),
    "pretrain": ("records",),
}
"""What a command has no other way to; ``serve --private`` takes its numbers from a fit's plan."""
OTHERS = {
    "compare-protections": f"compare-protections {BUDGET} --private in.csv --test out.csv"
    " --label digit --protections class-means --draws 1",
    "fit": f"fit {BUDGET} --private in.csv --label digit",
    "pretrain": f"pretrain {BUDGET} --private in.npz --embedding rows --method spectral"
    " --privacy proven --batch 20 --epochs 0.1 --projection 4",
}
FACTS = ("p0", "digit", "records")
RUN = {"records": "--records 180", "bound": "--bound 2", "classes": CLASSES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graded")
    X, y = load_digits(n_class=3, return_X_y=True)
    rows, names = X[:240, 20:24] / 16 - 0.3, np.array(["a", "b", "c"])[y[:240]]
    for name, part in (("in", slice(0, 180)), ("out", slice(180, 240))):
        lines = ["p0,p1,p2,p3,digit", *(
            ",".join([*(f"{v:.3f}" for v in row), label])
            for row, label in zip(rows[part], names[part], strict=True)
        )]  # fmt: skip
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
        np.savez(folder / f"{name}.npz", rows=rows[part])
    return folder


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def schema_of(fact, folder):
    """A schema, one fact of which is from the private table."""
    off = 'source = "private table"\n'
    columns = [
        f'[columns.p{i}]\ntype = "number"\nrange = [-0.3, 0.7]\n{off if fact == f"p{i}" else ""}'
        for i in range(4)
    ]
    label = '[columns.digit]\nrole = "label"\nclasses = ["a", "b", "c"]\n'
    records = "private table" if fact == "records" else "a law"
    path = folder / "schema.toml"
    path.write_text(
        f'records = 180\nsource = "a codebook"\n[sources]\nrecords = "{records}"\n'
        + "".join(columns) + label + (off if fact == "digit" else "")
    )  # fmt: skip
    return path


def grade_of(path):
    """Of the certificate that a command wrote, which holds."""
    written = json.loads(path.with_suffix(".json").read_text())["guarantee"]["grade"]
    assert verify(path).holds
    return Grade(written)


@pytest.mark.parametrize(
    ("command", "left_out"), [(name, one) for name, needed in NEEDED.items() for one in needed]
)
def test_what_a_command_needs_is_refused_where_it_is_not_said(tmp_path, capsys, command, left_out):
    table = "--private in.csv --label digit"
    line = OTHERS[command] if command in OTHERS else f"{COMMANDS[command]} {table}"
    said = [RUN[name] for name in NEEDED[command] if name != left_out]
    line = " ".join([line, *said])
    assert run([*line.split(), "--out", str(tmp_path / "r")]) == BAD_INPUT
    assert f"--{left_out} must be said" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("fact", [None, *FACTS])
def test_a_fact_of_the_private_table_is_declared(tmp_path, command, fact):
    schema = schema_of(fact, tmp_path)
    line = f"{COMMANDS[command]} --private in.csv --schema {schema} --out {tmp_path / 'r'}"
    assert run(line.split()) == 0
    assert grade_of(tmp_path / "r") is (Grade.PROVEN if fact is None else Grade.DECLARED)


@pytest.mark.slow
@pytest.mark.parametrize("left_out", [None, *RUN])
def test_what_a_run_counts_itself_is_declared(tmp_path, left_out):
    said = [text for name, text in RUN.items() if name != left_out]
    counted = ["--records-from-data"] if left_out == "records" else []
    line = f"run --private in.csv --test out.csv --label digit {BUDGET} --learner class-means"
    small = "--epsilons 4 --draws 2 --shadows 10 --jobs 1"
    words = " ".join([line, small, *said, *counted, "--out", str(tmp_path / "run")])
    assert run(words.split()) == 0
    assert grade_of(tmp_path / "run" / "released") is (
        Grade.PROVEN if left_out is None else Grade.DECLARED
    )
    document = json.loads((tmp_path / "run" / "results.json").read_text())
    graded = {one["claim"]["grade"] for one in document["releases"]} - {"published"}
    assert graded == {"proven" if left_out is None else "declared"}


def labelled(learner, fact, folder):
    """A schema for a learner: of one that predicts a number, p3 is the label."""
    path = schema_of(fact, folder)
    if learner in registry.regressors():
        text = path.read_text().partition("[columns.digit]")[0]
        text = text.replace("[columns.p3]\n", '[columns.p3]\nrole = "label"\n')
        path.write_text(f'{text}[columns.digit]\nrole = "ignored"\n')
    return path


@pytest.mark.slow
@pytest.mark.parametrize("learner", [*registry.classifiers(), *registry.regressors()])
@pytest.mark.parametrize("fact", [None, "p0", "label", "records"])
def test_no_learner_is_more_than_declared_where_a_fact_is_of_the_private_table(
    tmp_path, learner, fact
):
    if fact == "label":
        fact = "p3" if learner in registry.regressors() else "digit"
    schema = labelled(learner, fact, tmp_path)
    public = "--public out.csv" if learner == "pate" else ""
    line = f"protect {BUDGET} --learner {learner} --private in.csv --schema {schema} {public}"
    assert run([*line.split(), "--out", str(tmp_path / "r")]) == 0
    assert grade_of(tmp_path / "r") is (Grade.PROVEN if fact is None else Grade.DECLARED)


@pytest.mark.slow
@pytest.mark.parametrize("fact", [None, *FACTS])
def test_answers_of_a_private_head_are_declared_where_a_fact_is_of_the_private_table(
    tmp_path, fact
):
    """``serve --private``, up to where it would listen."""
    facts, fit = f"--schema {schema_of(fact, tmp_path)}", tmp_path / "head"
    assert run(f"fit --private in.csv {facts} --penalty 0.05 --out {fit}".split()) == 0
    planned = f"plan-answers --fit {fit} {facts} {BUDGET} --queries 9"
    ledger = f"--ledger {tmp_path}/l.sqlite --data-set people --out {tmp_path}/plan.json"
    assert run(f"{planned} {ledger}".split()) == 0
    served = ServeSpec(
        name="model",
        plan=tmp_path / "plan.json",
        fit=fit,
        ledger=f"{tmp_path}/l.sqlite",
        data_set="people",
        private=PrivateTable(path=Path("in.csv")),
    )
    model, _ = served.model()
    model.close()
    assert model.guarantee.grade is (Grade.PROVEN if fact is None else Grade.DECLARED)
