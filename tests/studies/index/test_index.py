"""Every item of the papers has a row, and every verdict follows from what stands in it."""

import dataclasses
import re
from pathlib import Path

import pytest

from reticent.studies import STUDIES, Trained, index
from reticent.studies.index.checklist import CHECKLIST, uncovered
from reticent.studies.index.entry import Counted, Entry, Figure, Held, Missing, Verdict, row_of

ROOT = Path(__file__).parents[3]
STORED = index.stored()
FILES = index.committed(ROOT / "results")
NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?")


def entry(**fields):
    given = {"item": "x", "kind": "exact", "source": "s", "published": "1", "command": "alm noise"}
    return Entry(**(given | {"ours": lambda _: None} | fields))


def verdict_from_text(row):
    """The verdict, from the cells of a row alone; None where the row's words decide."""
    if row.ours == "–":
        return Verdict.NOT_RUN
    if row.ours.startswith("needs "):
        return Verdict.DATA_MISSING
    if row.ours.startswith("holds"):
        return Verdict.REPRODUCED
    if row.ours.startswith("does not hold"):
        return None
    if counted := re.fullmatch(r"(\d+) of (\d+)", row.ours):
        matched, whole = map(int, counted.groups())
        near = whole - matched <= float(row.tolerance)
    else:
        parts = NUMBER.findall(row.ours)
        ends = [float(part) for part in (parts[1:] or parts)]
        digit = 10.0 ** -len(parts[0].partition(".")[2]) if "." in parts[0] else 0.0
        away = max(min(ends) - float(row.published), float(row.published) - max(ends), 0.0)
        near = away <= float(row.tolerance) + digit / 2
        if abs(away - float(row.tolerance)) <= digit / 2:  # the last digit was rounded
            near = row.verdict == Verdict.REPRODUCED
    return Verdict.REPRODUCED if near else Verdict.NOT_REPRODUCED


def test_every_item_of_the_checklist_has_a_row():
    items = {
        paper: tuple(row.item for row in STORED if row.paper == paper) for paper in index.PAPERS
    }
    assert uncovered(items) == []
    assert set(CHECKLIST) == set(index.PAPERS)


def test_an_item_without_a_row_is_found():
    items = {paper: names for paper, names in CHECKLIST.items() if paper != "dpcl"}
    items["dpcl"] = tuple(name for name in CHECKLIST["dpcl"] if name != "Lemma 2")
    assert uncovered(items) == ["dpcl: Lemma 2"]


def follows(row):
    wanted = verdict_from_text(row)
    if wanted is None:
        return row.verdict in (Verdict.NOT_REPRODUCED, Verdict.FALSE)
    return row.verdict == wanted


def test_a_verdict_follows_from_the_figures_of_its_row():
    assert [row for row in STORED if not follows(row)] == []


def test_a_verdict_that_does_not_follow_is_found():
    row = next(row for row in STORED if row.item.startswith("Table 5, Location: leakage"))
    assert follows(row)
    assert not follows(row._replace(published="0.8"))
    held = next(row for row in STORED if row.item == "Eq. 18")
    assert follows(held)
    assert not follows(held._replace(verdict="reproduced"))


def no_target(name):
    """What is wrong with a benchmark of this name."""
    return None if (ROOT / f"benchmarks/bench_{name}.py").is_file() else "no such benchmark"


def faults(row):  # noqa: PLR0911 - one for each fault
    """What is wrong with the command or the file of a row."""
    words = row.command.split()
    ran = row.verdict not in (Verdict.NOT_RUN, Verdict.DATA_MISSING)
    if row.command == "–":
        return "no command" if ran else None
    if words[0] == "make":
        return no_target(words[-1].removeprefix("BENCH="))
    if "--on" in words:
        study, on = STUDIES.get(" ".join(words[2:4])), words[words.index("--on") + 1]
        if not isinstance(study, Trained) or on not in study.on:
            return "no such data"
        if ("--data" in words) != (on in study.in_folder):
            return "--data"
    elif len(words) > 3 and " ".join(words[2:4]) not in STUDIES:
        return "no such item"
    if ran and row.file != "–" and not (ROOT / "results" / row.file).is_file():
        return "no such file"
    return None


def test_the_command_of_a_row_exists_and_its_file_is_there_if_it_was_read():
    assert [(row.item, faults(row)) for row in STORED if faults(row)] == []
    assert faults(STORED[0]._replace(command="reticent reproduce alm fig9 --on digits"))
    assert faults(STORED[0]._replace(file="nowhere.json"))
    assert faults(STORED[0]._replace(command="make bench BENCH=nothing"))


def test_all_exact_items_are_reproduced_or_false():
    said = {Verdict.REPRODUCED, Verdict.FALSE}
    exact = [row for row in STORED if row.kind == "exact"]
    assert len(exact) > 80
    assert [row.item for row in exact if row.verdict not in said] == []


def test_there_are_four_verdicts_and_what_was_not_run():
    four = {"reproduced", "not reproduced", "cannot be: data missing", "claim is false"}
    assert {str(verdict) for verdict in Verdict} == four | {"not yet run"}


@pytest.mark.parametrize("item", ["Table 6", "OARO column"])
def test_one_misprint_more_changes_the_verdict(item, monkeypatch):
    """Of a cell that is right, of a listed one to another digit, and of one that would be right."""
    from reticent.studies.index import lu

    (one,) = (e for e in index.entries("lu") if e.item == item)
    column = "stability" if item == "OARO column" else "neuron"
    listed = next(cell for cell in lu.MISPRINTS if cell[1] == column)
    computed_text = lu.computed_text
    assert row_of("lu", one, FILES).verdict == "reproduced"
    for cell, text in ((("MNIST", column), "9.9"), (listed, "9.9"), (listed, lu.printed(*listed))):
        other = {cell: text}
        monkeypatch.setattr(
            lu, "computed_text", lambda *cell, other=other: other.get(cell, computed_text(*cell))
        )
        assert row_of("lu", one, FILES).verdict == "not reproduced"


def test_what_no_theorem_is_cannot_be_false():
    held = Held(False, "why")
    assert row_of("alm", entry(ours=lambda _: held), lambda _: None).verdict == "not reproduced"
    theorem = entry(ours=lambda _: held, theorem=True)
    assert row_of("alm", theorem, lambda _: None).verdict == "claim is false"


@pytest.mark.parametrize(
    ("ours", "published", "tolerance", "verdict"),
    [
        (Figure(value=0.62, low=0.60, high=0.64), "0.65", 0.005, "not reproduced"),
        (Figure(value=0.62, low=0.60, high=0.64), "0.65", 0.01, "reproduced"),
        (Figure.exact(1.0), "1", 0.0, "reproduced"),
        (Figure.exact(1.1), "1", 0.05, "not reproduced"),
        (Counted(9, 10), "10 cells", 0, "not reproduced"),
        (Counted(9, 10), "10 cells", 1, "reproduced"),
        (Missing("a file"), "1", 0.0, "cannot be: data missing"),
        (None, "1", 0.0, "not yet run"),
    ],
)
def test_verdicts(ours, published, tolerance, verdict):
    made = entry(ours=lambda _: ours, published=published, tolerance=tolerance)
    assert row_of("alm", made, lambda _: None).verdict == verdict


def test_a_changed_committed_figure_changes_the_row():
    files = index.committed(ROOT / "results")
    (one,) = (e for e in index.entries("alm") if e.item.startswith("baseline attack, MNIST"))

    def changed(name):
        document = files(name)
        table = document["tables"][0]
        for row, values in zip(table["rows"], table["values"], strict=True):
            if row[0] == "ALM's shadow network":
                row[1], values[1] = "0.517 [0.509, 0.525]", [0.517, 0.509, 0.525]
        return document

    assert row_of("alm", one, files).verdict == "reproduced"
    assert row_of("alm", one, changed).verdict == "not reproduced"
    assert row_of("alm", one, lambda _: None).verdict == "not yet run"


def test_a_wrong_formula_is_no_longer_reproduced(monkeypatch):
    from reticent.bounds.published import lu

    (splits,) = (e for e in index.entries("lu") if e.item == "budget splits")
    assert row_of("lu", splits, lambda _: None).verdict == "reproduced"
    monkeypatch.setattr(lu, "laplace_part", lambda epsilon, classes: epsilon / (2 * classes))
    assert row_of("lu", splits, lambda _: None).verdict == "not reproduced"


def test_entries_are_frozen_and_names_are_unique():
    for paper in index.PAPERS:
        items = [one.item for one in index.entries(paper)]
        assert len(items) == len(set(items))
    with pytest.raises(dataclasses.FrozenInstanceError):
        index.entries("alm")[0].item = "y"
