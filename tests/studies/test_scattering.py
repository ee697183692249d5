"""The study of scattering: proven rows, one cell a draw, and figures that meet the bar."""

import dataclasses

import numpy as np
import pytest

from reticent.studies import scattering
from reticent.studies.trained import Cells, Run

SMALL = dataclasses.replace(scattering.SPECS["digits"], epsilons=(50.0, 0.1), draws=2)


@pytest.mark.slow
def test_rows_are_proven_kept_and_better_with_more_budget(tmp_path, monkeypatch):
    monkeypatch.setenv("RETICENT_CACHE", str(tmp_path))
    kept = tmp_path / "cells.json"
    table = scattering.study(SMALL, Run(cells=Cells(kept))).tables[0]
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["ε"] for row in rows] == ["0.1", "50"]
    assert {(row["grade"], row["mechanism"], row["δ"]) for row in rows} == {
        ("proven", "noisy-gradient", "1e-5")
    }
    few, much = (float(row["accuracy"]) for row in rows)
    assert much > max(few + 0.2, 0.9)
    for row in rows:
        assert float(row["low"]) < float(row["accuracy"]) < float(row["high"])
    monkeypatch.setattr(scattering, "release_table", None)  # every draw comes from the file
    assert scattering.study(SMALL, Run(cells=Cells(kept))).tables[0] == table


def test_an_accuracy_is_that_of_the_answers():
    """One draw of two is right for 3 of 4 queries, the other for all: 7/8."""
    truth = np.array(["a", "b", "a", "b"])
    answers = [truth, np.array(["a", "b", "a", "a"])]
    claim = {"grade": "proven", "mechanism": "m", "epsilon": 1.0, "delta": 1e-5}
    cells = [{"claim": claim, "answers": one.tolist()} for one in answers]

    class Kept(Run):
        def cell(self, key, *_):
            return cells[key[2]]

    data = scattering.Task(private=None, queries=np.zeros((4, 1)), truth=truth)
    row = scattering._row(dataclasses.replace(SMALL, draws=2), data, 1.0, Kept())
    assert row.protected == pytest.approx(7 / 8)
    assert 1 - row.loss == pytest.approx(7 / 8)


def test_specifications_have_the_sizes_of_the_data():
    assert scattering.SPECS["mnist"].records == 60_000
    assert scattering.SPECS["cifar10"].records == 50_000
    for spec in scattering.SPECS.values():
        assert (spec.draws, spec.delta, spec.grid) == (5, 1e-5, 4)
