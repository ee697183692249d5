"""The study of prototypes: proven rows beside the frozen encoder, paired gains, intervals."""

import dataclasses

import numpy as np
import pytest

from reticent.studies import prototypes
from reticent.studies.encoder_rows import Probing, gains
from reticent.studies.trained import Cells, Run

SMALL = dataclasses.replace(
    prototypes.SPECS["digits"],
    epsilons=(1e6,),
    probing=Probing(memory=600, queries=200, label_draws=3, per_class=(1, 5)),
)


def test_rows_are_proven_kept_and_beside_the_frozen_encoder(tmp_path, monkeypatch):
    kept = tmp_path / "cells.json"
    table = prototypes.study(SMALL, Run(cells=Cells(kept))).tables[0]
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["features"] for row in rows] == ["frozen", "prototypes", "private PCA only"]
    assert [row["grade"] for row in rows] == ["–", "proven", "proven"]
    assert "(" not in rows[0]["kNN"]
    frozen, found = (float(row["1 a class"].split()[0]) for row in rows[:2])
    assert found > frozen + 0.02  # with next to no noise clusters are digits
    monkeypatch.setattr(prototypes, "release_encoder", None)  # every release comes from the file
    assert prototypes.study(SMALL, Run(cells=Cells(kept))).tables[0] == table


def test_gains_are_paired_and_vary_over_runs_and_draws():
    base = {"probes": {"1": [0.5, 0.7]}, "knn": 0.8}
    runs = [
        {"probes": {"1": [0.6, 0.8]}, "knn": 0.81},
        {"probes": {"1": [0.62, 0.82]}, "knn": 0.83},
    ]
    found = gains(runs, base)
    assert found["1"].accuracy == pytest.approx(0.71)
    assert found["1"].gain == pytest.approx(0.11)  # the same gain in each label draw
    between_runs = np.std([0.10, 0.12], ddof=1) / np.sqrt(2)
    assert found["1"].half == pytest.approx(12.706 * between_runs, rel=1e-3)
    assert found["kNN"].gain == pytest.approx(0.02)
    alone = gains([base], base)
    assert (alone["1"].text(), alone["kNN"].text()) == ("0.6000", "0.8000")


def test_specifications_have_the_sizes_of_the_data():
    sizes = {spec.on: spec.records for spec in prototypes.SPECS.values()}
    assert sizes == {"cifar10": 50_000, "mnist": 60_000, "trec": 5_452, "digits": 1_400}
    for name, spec in prototypes.SPECS.items():
        if name == "digits":
            continue
        assert (spec.delta, spec.runs, spec.epsilons) == (1e-5, 5, (3.0, 1.0))
        assert (spec.probing.label_draws, spec.probing.per_class) == (12, (1, 5, 10, 50))
