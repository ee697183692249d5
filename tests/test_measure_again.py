"""Learners of a committed study that are measured again; the rest of its table stays."""

import json
from dataclasses import asdict, replace

import pytest

from reticent.studies import (
    end_to_end,
    learners,
    places,
    plan_fit,
    plan_uneven,
    pure_grid,
    scattering,
)
from reticent.studies.trained import Run
from tools.measure_again import AGAIN, main

OLD = "-1"
"""No accuracy: what is kept is told from what is measured."""


def committed(folder, name, columns, rows):
    table = {"title": "t", "columns": list(columns), "rows": rows, "notes": ["Why."]}
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"date": "2026-01-31", "tables": [table]}))
    return path


def again(folder, path, *said):
    main([*said, "--results", str(folder)])
    assert not path.with_name(f"{path.name}.part").exists()
    (table,) = json.loads(path.read_text())["tables"]
    return table


@pytest.fixture
def small(monkeypatch):
    """Studies of so few records that they take a second."""
    one = {"sizes": (300,), "epsilons": (8.0,), "draws": 1}
    grid = replace(plan_fit.SPECS["digits"], **one)
    monkeypatch.setattr(plan_fit, "SPECS", {"digits": grid})
    pure = replace(pure_grid.SPECS["digits"], before=(0.9,), **one)
    monkeypatch.setattr(pure_grid, "SPECS", {"digits": pure})
    uneven = replace(plan_uneven.SPECS["digits"], draws=1)
    monkeypatch.setattr(plan_uneven, "SPECS", {"digits": uneven})
    spec = replace(
        learners.SPECS["digits"][0],
        draws=2,
        penalties=(1e-2,),
        plan=((1.0, ("lda",)), (8.0, ("lda", "class-means"))),
    )
    monkeypatch.setattr(learners, "SPECS", {"digits": (spec,)})


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("study", "columns", "place"),
    [
        ("plan-grid", plan_fit.COLUMNS, ["300", "64", "10", "8", ".9"]),
        ("pure-grid", pure_grid.COLUMNS, ["300", "64", "10", "8", ".9"]),
        (
            "plan-uneven",
            plan_uneven.COLUMNS,
            ["digits-80-15-5", "150", "64", "3", ".05", "8", ".9"],
        ),
    ],
)
def test_columns_are_measured_and_others_stay(tmp_path, study, columns, place):
    rows = [[*place, *[OLD] * (len(columns) - len(place))]]
    path = committed(tmp_path, f"{study}-digits", columns, rows)
    table = again(tmp_path, path, study, "class-means", "--on", "digits")
    (row,) = table["rows"]
    for column, text in zip(columns[len(place) :], row[len(place) :], strict=True):
        if column.endswith("class-means") and "pure" not in column:
            assert 0.3 < float(text) <= 1  # a guess has .1, or a third where three are balanced
        else:
            assert text == OLD
    assert row[: len(place)] == place
    note = f"class-means:{AGAIN}"
    assert table["notes"][0] == "Why."
    assert [one.startswith(note) for one in table["notes"]] == [False, True]
    table = again(tmp_path, path, study, "class-means", "--on", "digits")
    assert len(table["notes"]) == 2


@pytest.mark.usefixtures("small")
def test_rows_of_learners_are_measured_and_others_stay(tmp_path):
    columns = ["grade", "mechanism", "ε", "δ", "before", "after", "loss", "low", "high", "std"]
    rows = [["proven", name, epsilon, "1e-5", *[OLD] * 6]
            for name, epsilon in (("lda", "1"), ("weights", "1"), ("lda", "8"),
                                  ("class-means", "8"))]  # fmt: skip
    path = committed(tmp_path, "learners-digits", columns, rows)
    table = again(tmp_path, path, "learners", "lda", "--on", "digits")
    assert [row[1:4] for row in table["rows"]] == [row[1:4] for row in rows]
    kept = [row[5] == OLD for row in table["rows"]]
    assert kept == [False, True, False, True]
    assert float(table["rows"][2][5]) > 0.6


@pytest.mark.slow
def test_rows_of_places_are_added_in_their_order_and_others_stay(tmp_path, monkeypatch):
    others = ("noisy-gradient", "weights", "adassp", "functional", "objective", "pate", "input")
    spec = replace(
        places.SPECS["digits"][0], records=300, draws=1, epsilon=50.0,
        leave_out=(*others, "class-means", "matrix-lda", "pure-class-means", "network"),
    )  # fmt: skip
    monkeypatch.setattr(places, "SPECS", {"digits": (spec,)})
    columns = ["protection", "grade", "neighbours", "accuracy", "balanced", "lowest recall", "AUC"]
    best, worst = "1.5 [1, 2]", "-1.5 [-2, -1]"
    rows = [[name, "proven", "add-remove", accuracy, OLD, OLD, OLD]
            for name, accuracy in (("none", "0"), ("lda", best), ("input", worst))]  # fmt: skip
    path = committed(tmp_path, "places-digits", columns, rows)
    table = again(tmp_path, path, "places", "pure", "--on", "digits")
    assert [row[0] for row in table["rows"]] == ["none", "lda", "lda, δ = 0", "input"]
    assert [row[-1] == OLD for row in table["rows"]] == [False, True, False, True]
    assert json.loads(path.read_text())["specifications"][0]["rows"] == []
    with pytest.raises(SystemExit, match="rows must be among lda, lda, δ = 0 and pure"):
        again(tmp_path, path, "places", "hope", "--on", "digits")


@pytest.mark.slow
def test_rows_of_scattering_are_measured_by_their_epsilon_and_added(tmp_path, monkeypatch):
    monkeypatch.setenv("RETICENT_CACHE", str(tmp_path))
    spec = replace(scattering.SPECS["digits"], epsilons=(3.0, 4.0), draws=2)
    monkeypatch.setattr(scattering, "SPECS", {"digits": spec})
    columns = ["grade", "mechanism", "ε", "δ", "accuracy", "low", "high", "std", "published"]
    rows = [["proven", "noisy-gradient", "3", "1e-5", *[OLD] * 5]]
    path = committed(tmp_path, "scattering-digits", columns, rows)
    table = again(tmp_path, path, "scattering", "4", "--on", "digits")
    assert [row[2] for row in table["rows"]] == ["3", "4"]
    assert table["rows"][0] == rows[0]
    assert float(table["rows"][1][4]) > 0.8
    assert json.loads(path.read_text())["specifications"][0]["epsilons"] == [3.0, 4.0]


def end_to_end_document(monkeypatch, releases, pairs):
    """What the study itself writes of these releases alone."""
    monkeypatch.setattr(end_to_end, "SPECS", {"built": end_to_end.EndToEnd(pairs=pairs)})
    named = end_to_end.Named(pairs=pairs, releases=releases)
    tables = [asdict(one) for one in end_to_end.study(named, Run()).tables]
    return json.loads(json.dumps({"date": "2026-01-31", "tables": tables}))


@pytest.mark.slow
def test_releases_of_the_end_to_end_audit_are_gone_through_again(tmp_path, monkeypatch):
    """The rows that are there and those that are new make the tables of a whole audit."""
    names = ("mean", "mean, arrays", "hostile: subclass")
    whole = end_to_end_document(monkeypatch, names, 2)
    before = end_to_end_document(monkeypatch, names[:2], 1)
    found = "Found in {}, csv, add-remove, record: it moved too far."
    before["tables"][0]["notes"] += [found.format("mean"), found.format("mean, arrays")]
    kept = before["tables"][0]["rows"][0]
    path = tmp_path / "end-to-end.json"
    path.write_text(json.dumps(before))
    monkeypatch.setattr(end_to_end, "SPECS", {"built": end_to_end.EndToEnd(pairs=2)})
    main(["end-to-end", "mean, arrays", names[2], "--on", "all", "--results", str(tmp_path)])
    document = json.loads(path.read_text())
    releases, formats = document["tables"]
    assert document["specifications"][0]["pairs"] == 2
    assert releases["rows"][:-1] == [kept, *whole["tables"][0]["rows"][1:-1]]
    assert releases["rows"][-1][:2] == ["all", str(12 + 24 + 24)]
    assert formats["rows"][0][3:5] == [str(1 + 2 + 2), "1"]
    assert found.format("mean") in releases["notes"]
    assert found.format("mean, arrays") not in releases["notes"]
    main(["end-to-end", "mean", "--on", "all", "--results", str(tmp_path)])
    document = json.loads(path.read_text())
    for again, table in zip(document["tables"], whole["tables"], strict=True):
        assert again["rows"] == table["rows"]
        assert set(table["notes"]) <= set(again["notes"])
