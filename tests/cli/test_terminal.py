"""Everything that prints a table, at 60, 80 and 120 columns: nothing wider, and no broken word.

Of commands whose figures are always the same, the whole text is compared with a file as well.
After a wanted change: UPDATE_SNAPSHOTS=1 pytest tests/cli/test_terminal.py.
"""

import csv
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import typer
from rich.cells import cell_len

from reticent import cli
from reticent.cli.app import app
from reticent.cli.main import run
from reticent.cli.summary import print_summary
from reticent.results import write_results
from tests.report.sample import sample_results

WIDTHS = (60, 80, 120)
WIDE = 1000
FRAME = re.compile("[━─┃│╇┼]+")
SNAPSHOTS = Path(__file__).parent / "snapshots"
SAME = {
    "plan": "plan --records 300 --features 32 --classes 3 --epsilon 2 --delta 1e-5"
    " --relation add-remove",
    "plan served": "plan --records 3000 --features 32 --classes 3 --epsilon 2 --delta 1e-5"
    " --relation add-remove --queries 10",
    "calibrate": "calibrate --epsilon 1 --delta 1e-5 --l1 1 --l2 1",
    "account": "account --mechanism gaussian --noise-multiplier 4 --delta 1e-5 --times 100"
    " --sampling-rate 0.01 --relation add-remove",
    "reproduce": "reproduce",
}
NAMES = "Sjögren's syndrome,nothing found at all"
SCHEMA = """
source = "the clinic's published codebook, second edition"
[columns.age]
type = "number"
range = [-5, 5]
[columns.height]
type = "number"
range = [-5, 5]
[columns.diagnosis]
role = "label"
classes = ["Sjögren's syndrome", "nothing found at all"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, a release of it, two runs and a ledger with a charge."""
    folder = tmp_path_factory.mktemp("printed")
    rng = np.random.default_rng(0)
    for name, size in (("in", 60), ("out", 60)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["age", "height", "diagnosis"])
            for _ in range(size):
                kind = int(rng.integers(2))
                row = np.round(rng.normal(2 * kind - 1, 1, size=2), 3)
                table.writerow([*row, ("Sjögren's syndrome", "nothing found at all")[kind]])
    asked = ["--epsilon", "2", "--delta", "1e-5", "--relation", "add-remove"]
    book = [f"{folder}/book.sqlite", "the clinic's patients of 2024"]
    assert run(["ledger", "budget", *book, *asked]) == 0
    private = ["--private", f"{folder}/in.csv", "--label", "diagnosis", "--records", "60"]
    charged = ["--ledger", book[0], "--data-set", book[1], "--quiet", "--out", f"{folder}/released"]
    assert run(["protect", *private, "--classes", NAMES, *asked, *charged]) == 0
    write_results(sample_results(), folder / "results.json")
    (folder / "table.toml").write_text(SCHEMA, encoding="utf-8")
    assert run(["fit", *private, "--classes", NAMES, "--bound", "3", "--penalty", "0.1",
                "--quiet", "--out", f"{folder}/head"]) == 0  # fmt: skip
    keys = f"{folder}/keys.sqlite"
    assert run(["client", "add", keys, "the clinic next door", "--create"]) == 0
    assert run(["client", "key", keys, "the clinic next door"]) == 0
    return folder


ASKED = "--epsilon 2 --delta 1e-5 --relation add-remove"
PRIVATE = "--private in.csv --label diagnosis --records 60 --classes NAMES"
VARYING = {
    "predict": "predict released --queries out.csv --label diagnosis",
    "attack": "attack --target released --members in.csv --nonmembers out.csv"
    " --label diagnosis --attacks loss,gap,entropy --slices --jobs 1",
    "compare": "compare results.json results.json",
    "ledger": "ledger show book.sqlite",
    "ledger verify": "ledger verify book.sqlite",
    "protect": f"protect {PRIVATE} {ASKED} --learner class-means --out new-release --replace",
    "verify": "verify released",
    "fit": f"fit {PRIVATE} --bound 3 --penalty 0.1 --out head",
    "plan by schema": f"plan --schema table.toml --records 60 {ASKED}",
    "schema init": "schema init --from in.csv --label diagnosis --out new-draft.toml",
    "schema check": "schema check table.toml in.csv",
    "schema example": "schema example tickets --out new-tickets",
    "plan-answers": f"plan-answers --fit head --queries 10 {ASKED} --out new-plan.json",
    "client add": "client add new-keys.sqlite alice --create",
    "client list": "client list keys.sqlite",
    "export": "export released --onnx new-model.onnx",
}
"""What begins with new- is taken away before each time."""


def printed(words, width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    capsys.readouterr()
    code = run(words)
    text = capsys.readouterr().out
    assert code == 0, text
    return text


def words_of(text):
    return set(FRAME.sub(" ", text).split())


def assert_fits(text, wide, width):
    too_long = [line for line in text.splitlines() if cell_len(line.rstrip()) > width]
    assert not too_long
    names = {word.rstrip(":") for word in words_of(wide)}  # in blocks a colon follows a name
    assert {word for word in words_of(text) if word.rstrip(":") not in names} == set()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SAME)
def test_what_is_always_printed_alike(name, width, monkeypatch, capsys):
    text = printed(SAME[name].split(), width, monkeypatch, capsys)
    wide = printed(SAME[name].split(), WIDE, monkeypatch, capsys)
    assert_fits(text, wide, width)
    path = SNAPSHOTS / f"{name.replace(' ', '-')}-{width}.txt"
    shown = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")


def words(command, folder):
    """The words of a command in its folder, from which what it will write is taken away."""
    for path in folder.glob("new-*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return [NAMES if word == "NAMES" else word for word in command.split()]


@pytest.mark.parametrize("name", VARYING)
def test_other_tables_fit_too(name, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    wide = printed(words(VARYING[name], folder), WIDE, monkeypatch, capsys)
    assert wide.strip()
    for width in WIDTHS:
        text = printed(words(VARYING[name], folder), width, monkeypatch, capsys)
        assert_fits(text, wide, width)


def commands(command, path=()):
    """Every command of the program by its words, groups included."""
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_the_help_of_every_command_fits(width, monkeypatch, capsys):
    every = list(commands(typer.main.get_command(app)))
    assert {("serve",), ("pretrain",), ("compare-protections",), ("schema", "init")} <= set(every)
    for path in every:
        text = printed([*path, "--help"], width, monkeypatch, capsys)
        assert [line for line in text.splitlines() if cell_len(line.rstrip()) > width] == [], path


def test_whatever_a_command_prints_passes_the_layout():
    """Commands that take minutes print by the same three functions: none writes a line itself."""
    raw = re.compile(r"\btyper\.echo\(|(?<![\w.])print\(")
    sources = {path.name: path.read_text() for path in Path(cli.__file__).parent.glob("*.py")}
    found = {name: len(raw.findall(text)) for name, text in sources.items() if raw.search(text)}
    assert found == {
        "app.py": 1,  # the version
        "card.py": 1,  # a document in Markdown
        "client.py": 1,  # a key, to be copied
        "gate.py": 1,  # one line on the error stream, as whoever reads a log wants it
        "main.py": 1,  # likewise
        "output.py": 1,  # JSON
        "pretrain.py": 1,
        "progress.py": 2,
        "schema.py": 1,  # a file
    }


LONG = ("demo", "run", "pretrain", "fit", "protect", "train", "attack", "audit", "reproduce")


def test_every_command_of_long_work_can_be_told_how_much_to_say():
    every = typer.main.get_command(app).commands
    for name in (*LONG, "compare-protections"):
        options = {option for one in every[name].params for option in one.opts}
        assert {"--quiet", "--verbose"} <= options, name


def test_every_command_can_be_quiet():
    def leaves(command, path=()):
        inner = getattr(command, "commands", None)
        if inner is None:
            yield path, {option for one in command.params for option in one.opts}
            return
        for name, one in inner.items():
            yield from leaves(one, (*path, name))

    loud = [
        path for path, options in leaves(typer.main.get_command(app)) if "--quiet" not in options
    ]
    assert loud == []


def test_a_quiet_schema_says_the_verdict_alone(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    text = printed(["schema", "check", "table.toml", "--quiet"], WIDE, monkeypatch, capsys)
    assert text == "nothing is read off the private table: releases can be proven\n"
    key = ["client", "key", "keys.sqlite", "the clinic next door", "--quiet"]
    assert len(printed(key, WIDE, monkeypatch, capsys).splitlines()) == 1


def test_verbose_says_when_each_stage_begins(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", str(WIDE))
    asked = words(VARYING["attack"], folder)
    assert run([*asked, "--verbose"]) == 0
    shown = capsys.readouterr()
    lines = [line for line in shown.err.splitlines() if " begins" in line]
    assert any(line.startswith("reticent: attacks begins") for line in lines), shown.err
    assert all(re.search(r", after \d+ s$", line) for line in lines)
    assert shown.out.splitlines()[-1].startswith("verdict: ")
    assert run([*asked, "--verbose", "--quiet"]) == 2
    assert "--quiet and --verbose" in capsys.readouterr().err


@pytest.mark.parametrize("width", WIDTHS)
def test_a_run_ends_with_where_the_page_is_and_the_verdict(width, monkeypatch, capsys):
    """Of a document that is always the same: the command's figures are not."""
    results, texts = sample_results(), {}
    for columns in (width, WIDE):
        monkeypatch.setenv("COLUMNS", str(columns))
        print_summary(results, Path("run"), ["report.html", "results.json"])
        texts[columns] = capsys.readouterr().out
    assert_fits(texts[width], texts[WIDE], width)
    lines = texts[WIDE].splitlines()
    assert lines[-1] == f"verdict: {results.conclusion.headline}"
    assert lines[-2] == "page: run/report.html"


def test_quiet_leaves_the_result_alone(folder, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(WIDE))
    monkeypatch.chdir(folder)
    assert run([*words(VARYING["attack"], folder), "--quiet"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [shown.out.splitlines()[-1]]
    assert shown.out.startswith("verdict: ")
    assert shown.err == ""
    assert run(["verify", "released", "--quiet"]) == 0
    assert "checked by the code" not in capsys.readouterr().out
    assert run(["verify", "released"]) == 0
    assert "checked by the code" in capsys.readouterr().out
