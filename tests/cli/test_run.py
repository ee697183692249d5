"""``reticent run`` on a user's own files: a page, a document, a release; or one line."""

import csv
import json
import os
import signal
import stat
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.datasets import load_digits

from reticent.cli import run as command_module
from reticent.cli.main import BAD_INPUT, INTERRUPTED, run
from reticent.guarantee import PureEvent
from reticent.protect import verify
from reticent.results import read_results
from reticent.run import bounded
from reticent.validation import InputError

GATE = 3
NAMES = ("eight", "rest", "three")
PARTS = {"train": range(150), "test": range(150, 270), "public": range(300, 500)}


def digits():
    """Two rare classes among the rest; a few pixels, in random order."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(X))
    rows = np.round(X[order][:, 20:44] / 16 - 0.3, 4)
    return rows, np.array(["rest", "three", "eight"])[1 * (y[order] == 3) + 2 * (y[order] == 8)]


ROWS, LABELS = digits()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    for name, rows in PARTS.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow([*(f"p{i}" for i in range(ROWS.shape[1])), "label"])
            table.writerows([*ROWS[i], LABELS[i]] for i in rows)
        columns = {
            "id": [f"record {i}" for i in rows],
            "embedding": ROWS[rows].tolist(),
            "label": LABELS[rows].tolist(),
            "who": [f"person {i // 2}" for i in rows],
        }
        parquet.write_table(pa.table(columns), folder / f"{name}.parquet")
    return folder


def asking(folder, out, *more, ending="csv"):
    """The words of a small run; N is counted where nobody says it."""
    counted = () if "--records" in more else ("--records-from-data",)
    return [
        "run", "--private", f"{folder}/train.{ending}", "--test", f"{folder}/test.{ending}",
        "--label", "label", "--epsilon", "1", "--delta", "1e-5", "--out", str(out),
        "--epsilons", "1", "--draws", "2", "--shadows", "10", "--jobs", "1", *counted, *more,
    ]  # fmt: skip


RELATION = ("--relation", "add-remove")
PUBLIC_NUMBERS = ("--classes", "rest,three,eight", "--bound", "2", "--records", "150")


@pytest.fixture
def refused(capsys, monkeypatch):
    """The one line of a run that ends before any work."""

    def work(*_, **__):
        raise AssertionError("work was begun")

    monkeypatch.setattr("reticent.run.run_job", work)

    def call(arguments):
        assert run(arguments) == BAD_INPUT
        captured = capsys.readouterr()
        assert captured.out == ""
        return captured.err.splitlines()[-1]

    return call


def test_a_run_is_charged_to_a_ledger_or_says_that_it_was_not(
    folder, tmp_path, capsys, monkeypatch
):
    """The job itself is tested with its charge in tests/run."""

    class StoppedError(Exception):
        pass

    def work(roles, spec, *, charge, **_):
        if charge is not None:
            terms = spec.terms()
            charge(terms, "weights, gaussian noise", PureEvent(epsilon=terms.epsilon))
        raise StoppedError

    monkeypatch.setattr("reticent.run.run_job", work)
    monkeypatch.setenv("RETICENT_DEBUG", "1")
    book, words = str(tmp_path / "ledger.sqlite"), (*RELATION, *PUBLIC_NUMBERS)
    given = ("--ledger", book, "--data-set", "digits")
    budget = ("--epsilon", "1.5", "--delta", "1e-4", *RELATION)
    assert run(["ledger", "budget", book, "others", *budget]) == 0
    asked = asking(folder, tmp_path / "out", *words, *given)
    assert run(asked) == BAD_INPUT
    assert "account 'digits' must have a budget to be charged" in capsys.readouterr().err
    assert run(["ledger", "budget", book, "digits", *budget]) == 0
    for _ in range(2):  # gone on with: charged once
        with pytest.raises(StoppedError):
            run(asked)
    another = asking(folder, tmp_path / "another", *words, *given)
    assert run(another) == 1, "the second one is beyond the budget"
    assert "budget of 'digits' must not be exceeded" in capsys.readouterr().err
    with pytest.raises(StoppedError):
        run([*asked[:-1], "new", "--open-account"])
    assert "no budget is set for 'new'" in " ".join(capsys.readouterr().err.split())
    assert run(asking(folder, tmp_path / "out", *words, "--data-set", "digits")) == BAD_INPUT
    assert "--data-set must be said with --ledger" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("few_transcripts")
def test_an_imbalanced_table_of_texts(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    out = tmp_path / "out"
    code = run(asking(folder, out, *RELATION, "--fail-above", "auc=.2"))
    printed = capsys.readouterr()
    first, *_, last = printed.err.splitlines()
    assert first == (
        "reticent: declared, not proven: classes, bound, records read from the private data; say"
        " --classes, --bound, --records for a proven release"
    )
    assert code == GATE  # guessing has an AUC of 0.5, whose interval begins above 0.2
    assert last.startswith("reticent: above auc=0.2: ")
    results = read_results(out / "results.json")
    assert results.conclusion.headline in " ".join(printed.out.split())
    assert "← recommended" in printed.out
    assert results.facts.classes == NAMES
    assert results.facts.name == "train.csv"
    assert {one.claim.grade for one in results.releases} == {"declared", "published"}
    assert (out / "report.html").is_file()
    assert stat.S_IMODE((out / "results.json").stat().st_mode) == 0o600
    assert verify(out / results.recommended.file).guarantee.grade == "declared"
    assert f"written to {out}: " in " ".join(printed.out.split())
    assert "not charged to a ledger: releases on the same data add up" in " ".join(
        printed.err.split()
    )
    left = {path.name for path in out.iterdir()}
    assert {"report.html", "results.json", "released.json", "released.safetensors"} <= left
    assert not [name for name in left if name.startswith(".")]


@pytest.mark.slow
@pytest.mark.usefixtures("few_transcripts")
def test_a_column_of_lists_and_the_document_as_json(folder, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = asking(
        folder, out, "--relation", "replace-one", *PUBLIC_NUMBERS, "--embedding", "embedding",
        "--person", "who", "--public", f"{folder}/public.parquet", "--json",
        ending="parquet",
    )  # fmt: skip
    assert run(arguments) == 0
    printed = capsys.readouterr()
    assert [line for line in printed.err.splitlines() if " after " not in line] == []  # progress
    document = json.loads(printed.out)
    assert document == json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert document["facts"]["features"] == ROWS.shape[1]
    assert document["facts"]["private"] == 75  # of 150 rows of 75 people
    assert document["facts"]["unit"] == "one person with at most 1 record"
    assert document["facts"]["public"] == 200
    assert document["facts"]["classes"] == ["rest", "three", "eight"]
    assert document["facts"]["relation"] == "replace-one"
    release = next(
        one for one in document["releases"] if one["name"] == document["conclusion"]["recommended"]
    )
    assert release["claim"]["grade"] == "proven"
    assert {one["claim"]["unit"] for one in document["releases"]} == {document["facts"]["unit"]}
    assert verify(out / "released").holds
    assert verify(out / "released").guarantee.unit == document["facts"]["unit"]
    assert f"unit: {document['facts']['unit']}" in (out / "report.html").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("few_transcripts")
def test_a_pure_run_hands_over_and_shows_releases_at_delta_zero(folder, tmp_path, capsys):
    out = tmp_path / "out"
    words = asking(folder, out, *RELATION, *PUBLIC_NUMBERS, "--json")
    at = words.index("--delta")
    assert run([*words[:at], "--pure", *words[at + 2 :]]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {one["claim"]["delta"] for one in document["releases"]} == {0.0}
    kinds = {one["mechanism"] for one in document["releases"]}
    assert {"laplace", "logistic"} <= kinds
    assert "gaussian" not in kinds
    checked = verify(out / "released")
    assert checked.holds
    assert checked.guarantee.delta == 0
    kept = document["conclusion"]["recommended"]
    grades = {one["name"]: one["claim"]["grade"] for one in document["releases"]}
    assert grades[kept] == "proven"
    assert "δ = 0" in (out / "report.html").read_text("utf-8")


def test_the_relation_has_no_default(refused, folder, tmp_path):
    line = refused(asking(folder, tmp_path / "out"))
    assert line == "reticent: --relation must be add-remove or replace-one, got nothing"
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_ends_it_before_any_work(refused, folder, tmp_path):
    (tmp_path / "file").touch()
    line = refused(asking(folder, tmp_path / "file" / "out", *RELATION))
    assert "must be a folder, got: Not a directory" in line


def test_a_folder_that_cannot_be_written_ends_it_before_any_work(
    refused, folder, tmp_path, monkeypatch
):
    (tmp_path / "out").mkdir(mode=0o500)
    if os.geteuid() == 0:  # who may write everywhere
        writing = os.W_OK | os.X_OK
        monkeypatch.setattr("reticent.files.os.access", lambda _, mode: mode != writing)
    line = refused(asking(folder, tmp_path / "out", *RELATION))
    assert (
        line
        == f"reticent: {tmp_path / 'out'} must be writable, got a folder that is read-only for you"
    )


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--epsilon", "nan"), "epsilon must be > 0"),
        (("--delta", "1"), "--delta must be in [0, 1), got 1.0"),
        (("--pure",), "delta must be said once, got --delta 1e-05 and --pure"),
        (("--bound", "-1"), "bound must be > 0"),
        (("--records", "0"), "records must be >= 1"),
        (("--classes", "rest,three"), "must have labels of the 2 declared classes"),
        (("--classes", "rest"), "--classes must be at least two different names"),
        (("--draws", "1"), "draws must be >= 2"),
        (("--shadows", "9"), "shadows must be >= 10"),
        (("--epsilons", "1,two"), "--epsilons must be numbers"),
        (("--norms", "cut"), "norms"),
        (("--max-records-per-person", "2"), "--max-records-per-person must be said with --person"),
        (("--fail-above", "fun=1"), "--fail-above must be of auc"),
        (("--label", "p0x"), "label must be a column of train.csv, got 'p0x'"),
        (
            ("--test", "nowhere.csv"),
            "nowhere.csv must be a file that can be read, got: No such file",
        ),
    ],
)
def test_bad_input_is_one_line(refused, folder, tmp_path, more, words):
    assert words in refused(asking(folder, tmp_path / "out", *RELATION, *more))


def test_columns_in_another_order_are_refused(refused, folder, tmp_path):
    with (tmp_path / "turned.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*(f"p{i}" for i in reversed(range(ROWS.shape[1]))), "label"])
        table.writerows([*ROWS[i][::-1], LABELS[i]] for i in PARTS["test"])
    more = ("--test", f"{tmp_path}/turned.csv")
    assert "test must have the columns of the private records in their order" in refused(
        asking(folder, tmp_path / "out", *RELATION, *more)
    )


def test_a_refuted_claim_is_said_by_the_exit_code(folder, tmp_path, monkeypatch, capsys):
    from tests.report.sample import sample_results

    sample = sample_results()
    refuted = next(one for one in sample.releases if one.audit and one.audit.refuted_by)
    claim = refuted.claim.model_copy(update={"grade": "proven"})
    changed = refuted.model_copy(update={"claim": claim})
    releases = tuple(changed if one is refuted else one for one in sample.releases)

    class Finished:
        results = sample.model_copy(update={"releases": releases})

    monkeypatch.setattr("reticent.run.run_job", lambda *_, **__: Finished())
    monkeypatch.setattr(command_module, "written_by", lambda *_, **__: [])
    assert run(asking(folder, tmp_path / "out", *RELATION)) == 1
    Finished.results = sample
    assert run(asking(folder, tmp_path / "out", *RELATION)) == 0
    assert run(asking(folder, tmp_path / "out", *RELATION, "--fail-above", "epsilon=1")) == GATE
    capsys.readouterr()


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interruption_leaves_nothing_half_written(folder, tmp_path, jobs):
    """Ctrl-C in the middle: the line about public numbers is the last one before the work."""
    arguments = asking(
        folder, tmp_path / "out", *RELATION, "--shadows", "400", "--draws", "50", "--jobs", jobs
    )
    # Whoever runs the tests in the background has SIGINT ignored, and children inherit that.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = f"{heed}; from reticent.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert "declared, not proven" in process.stderr.readline()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes of the group
        assert process.stderr.readline() == "reticent: interrupted\n"
        assert process.stdout.read() == ""
        assert process.wait(timeout=300) == INTERRUPTED
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("more", [(), ("--unbounded",)])
def test_what_is_not_measured_of_a_large_table_is_printed_before_the_run(
    folder, tmp_path, monkeypatch, capsys, more
):
    def not_today(*_args, **_more):
        raise InputError("the run must not begin here")

    monkeypatch.setattr("reticent.run.run_job", not_today)
    monkeypatch.setattr(bounded, "MEASURED", 1)
    monkeypatch.setattr(bounded, "FEWEST", 20)
    assert run([*asking(folder, tmp_path / "out", *RELATION, *PUBLIC_NUMBERS), *more]) == BAD_INPUT
    said = capsys.readouterr().err
    assert ("Attacks score 20 of the private records and 20 others" in said) == (not more)
    assert ("--unbounded does all of it" in said) == (not more)
