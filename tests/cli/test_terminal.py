"""Everything that prints a table, at 60, 80 and 120 columns: nothing wider, and no broken word.

Of commands whose figures are always the same, the whole text is compared with a file as well.
After a wanted change: UPDATE_SNAPSHOTS=1 pytest tests/cli/test_terminal.py.
"""

import csv
import os
import re
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len

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
    names = "Sjögren's syndrome,nothing found at all"
    asked = ["--epsilon", "2", "--delta", "1e-5", "--relation", "add-remove"]
    book = [f"{folder}/book.sqlite", "the clinic's patients of 2024"]
    assert run(["ledger", "budget", *book, *asked]) == 0
    private = ["--private", f"{folder}/in.csv", "--label", "diagnosis", "--records", "60"]
    charged = ["--ledger", book[0], "--data-set", book[1], "--quiet", "--out", f"{folder}/released"]
    assert run(["protect", *private, "--classes", names, *asked, *charged]) == 0
    write_results(sample_results(), folder / "results.json")
    return folder


VARYING = {
    "predict": "predict {0}/released --queries {0}/out.csv --label diagnosis",
    "attack": "attack --target {0}/released --members {0}/in.csv --nonmembers {0}/out.csv"
    " --label diagnosis --attacks loss,gap,entropy --slices --jobs 1",
    "compare": "compare {0}/results.json {0}/results.json",
    "ledger": "ledger show {0}/book.sqlite",
}


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


@pytest.mark.parametrize("name", VARYING)
def test_other_tables_fit_too(name, folder, monkeypatch, capsys):
    words = VARYING[name].format(folder).split()
    wide = printed(words, WIDE, monkeypatch, capsys)
    for width in WIDTHS:
        assert_fits(printed(words, width, monkeypatch, capsys), wide, width)


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
    words = VARYING["attack"].format(folder).split()
    assert run([*words, "--quiet"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [shown.out.splitlines()[-1]]
    assert shown.out.startswith("verdict: ")
    assert shown.err == ""
    assert run(["verify", f"{folder}/released", "--quiet"]) == 0
    assert "checked by the code" not in capsys.readouterr().out
    assert run(["verify", f"{folder}/released"]) == 0
    assert "checked by the code" in capsys.readouterr().out
