"""Stability, small: rows, verdicts, kept cells."""

import dataclasses

import pytest

from reticent.audit.metrics import over_repeats
from reticent.studies.lu import oaro
from reticent.studies.lu.oaro import SPECS, study
from reticent.studies.trained import Cells, Run, Steps

TINY = dataclasses.replace(
    SPECS["digits"],
    records=60,
    network_records=24,
    penalties=(0.01, 0.1),
    alphas=(None, 1.0),
    epsilons=(0.1, 10.0),
    passes=5,
    draws=20,
    seeds=2,
)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    path = tmp_path_factory.mktemp("oaro") / "cells.json"
    steps = Steps()
    first = study(TINY, Run(cells=Cells(path), steps=steps))
    assert steps.done == steps.whole == 8
    assert study(TINY, Run(cells=Cells(path))) == first
    return first


@pytest.mark.slow
def test_each_model_with_and_without_noise(outcome):
    (table,) = outcome.tables
    assert len(table.rows) == 2 * (1 + 3 * 2) + 2 * (1 + 2 * 2)
    for _, noise, stability, change, proof, _, _ in table.rows:
        assert float(stability.split()[0]) > 0
        assert (noise == "none") == (change == "–") == (proof == "–")


@pytest.mark.slow
def test_the_published_bound_is_exceeded_and_the_valid_one_is_not(outcome):
    rows = [row for row in outcome.tables[0].rows if row[1] == "none" and row[6] != "–"]
    assert len(rows) == 2
    for row in rows:
        measured = float(row[2].split()[0])
        assert 5 * float(row[5]) < measured < float(row[6]) / 5
    (said,) = [note for note in outcome.tables[0].notes if note.startswith("“OARO ≤")]
    assert "does not hold" in said


@pytest.mark.slow
def test_corollary_3_falls_noise_by_noise(outcome):
    said = [note for note in outcome.tables[0].notes if note.startswith("Corollary 3")]
    assert len(said) == 3
    assert all("does not hold" in note for note in said)


def test_a_change_counts_where_its_interval_leaves_zero_out():
    better, worse, neither = (
        over_repeats(changes) for changes in ([-1.0, -1.1, -0.9], [2.0, 2.1, 1.9], [1.0, -1.0, 0.1])
    )
    holds, why = oaro._corollary_3([better, worse, neither])
    assert not holds
    assert why == "does not hold; of 3 cases 1 get worse (by up to 2) and 1 better (by up to 1)"
    holds, why = oaro._corollary_3([better])
    assert holds
    assert why.startswith("holds; of 1 cases 0 get worse and 1 better")


def test_the_published_change_of_a_neuron_is_table_6s():
    """A 446–128–30 network on 1,200 records: Δz = 3.1190."""
    case = oaro.Case(name="", penalty=5e-4, alpha=None, linear=False, records=1_200)
    assert oaro._published_change(case, 446, 30) == pytest.approx(3.1190, abs=5e-5)
