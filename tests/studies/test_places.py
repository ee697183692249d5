"""Every place for noise as a study, and certified radii; small, on digits."""

import dataclasses

import pytest

from reticent.protect.registry import classifiers
from reticent.studies import places, smoothing
from reticent.studies.trained import Run


@pytest.mark.slow
def test_a_row_for_each_protection_and_seen_ones_are_declared(monkeypatch):
    (spec,) = places.SPECS["digits"]
    kept = ("lda", "functional", "input")
    others = tuple(name for name in classifiers() if name not in kept)
    small = dataclasses.replace(spec, records=400, draws=1, leave_out=others)
    settled = places.Settled(recipes=("functional",), how="a constant was settled after all")
    monkeypatch.setattr(places, "SEEN", {"digits": settled})
    (table,) = places.study((small,), Run()).tables
    grades = {row[0]: row[1] for row in table.rows}
    assert grades == {"none": "", "lda": "proven", "functional": "declared", "input": "proven"}
    assert "Of functional: a constant was settled after all: declared here" in table.notes[-1]


@pytest.mark.slow
def test_certified_accuracy_falls_with_the_radius():
    (spec,) = smoothing.SPECS["digits"]
    small = dataclasses.replace(spec, queries=25, draws=200)
    (table,) = smoothing.study((small,), Run()).tables
    shares = [float(cell.split(" ")[0]) for cell in table.rows[0][3:]]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.7
    assert "promises nothing about training records" in table.notes[-1]
