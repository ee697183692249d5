"""The long end-to-end audit: what it hands back, and what the committed one found."""

import json
from pathlib import Path

import pytest

from reticent.audit.end_to_end.pairs import Combination, combinations
from reticent.guarantee import Relation
from reticent.run.every_release import WHOLE_JOB, every_release
from reticent.studies import end_to_end
from reticent.studies.trained import Run
from reticent.validation import InputError

EVERY_RELEASE = every_release()
COMMITTED = Path(__file__).parents[2] / "results" / "end-to-end.json"


def rows_of(table):
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def fewest_pairs(name):
    """20 of each format, relation and unit; fewer of the whole job."""
    return 12 if name in WHOLE_JOB else 20 * len(combinations({name: EVERY_RELEASE[name]}))


def test_the_committed_audit_went_through_everything_and_found_nothing():
    by_release, by_format = (
        rows_of(table) for table in json.loads(COMMITTED.read_text(encoding="utf-8"))["tables"]
    )
    *releases, every = by_release
    assert {row["release"] for row in releases} == {*EVERY_RELEASE, *WHOLE_JOB}
    assert int(every["pairs"]) >= 10_000
    assert sum(int(row["pairs"]) for row in releases if "(command)" in row["release"]) >= 200
    assert len(by_format) == 12
    for row in by_format:
        assert int(row["fewest of a release"]) >= end_to_end.SPECS["built"].pairs
        assert float(row["moved ÷ claimed"]) <= 1
    for row in releases:
        assert int(row["pairs"]) >= fewest_pairs(row["release"])
        assert float(row["moved ÷ claimed"]) <= 1
        assert row["found"] == "0"
        if row["release"].startswith("hostile"):
            assert row["refused"] == row["pairs"]


def test_a_small_audit(monkeypatch):
    few = {name: EVERY_RELEASE[name] for name in ("mean", "hostile: subclass")}
    monkeypatch.setattr(end_to_end, "every_release", lambda: few)
    monkeypatch.setattr(end_to_end, "WHOLE_JOB", {})
    outcome = end_to_end.study(end_to_end.EndToEnd(pairs=1), Run())
    by_release, by_format = outcome.tables
    assert [row[0] for row in by_release.rows] == [*few, "all"]
    assert [row[1] for row in by_release.rows] == ["12", "12", "24"]
    assert len(by_format.rows) == 12


def test_what_was_found_is_said_in_words():
    combination = Combination(
        release="mean", format="csv", relation=Relation.ADD_REMOVE, unit="record"
    )
    cell = dict.fromkeys(("pairs", "refused", "queries", "ratio", "epsilon"), 1)
    table = end_to_end._table({combination: cell | {"problems": ["it moved too far"]}})
    assert table.notes[-1] == "Found in mean, csv, add-remove, record: it moved too far."


def test_one_recipe_alone_goes_through_its_own_ways():
    asked = set(end_to_end._asked(end_to_end.SPECS["network"]))
    starts = {"network from a head", "network from a released head"}
    assert asked == starts | {f"{one}, arrays" for one in starts} | {
        "network",
        "network, arrays",
        "protect network (command)",
    }
    assert end_to_end.SPECS["network"].pairs >= 20
    assert end_to_end.SPECS["network"].command_pairs >= 20


def test_named_releases_alone():
    names = ("mean", "serve (command)")
    assert set(end_to_end._asked(end_to_end.Named(releases=names))) == set(names)
    with pytest.raises(InputError, match="must be of the end-to-end list, got 'meen'"):
        end_to_end.Named(releases=("meen",))
