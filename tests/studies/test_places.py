"""Every place for noise as a study, and certified radii; small, on digits."""

import dataclasses

import pytest

from reticent.protect.registry import classifiers
from reticent.studies import places, settled, smoothing
from reticent.studies.trained import Run


@pytest.mark.slow
def test_a_row_for_each_protection_and_seen_ones_are_declared(monkeypatch):
    (spec,) = places.SPECS["digits"]
    kept = ("lda", "functional", "objective", "matrix-lda")
    others = tuple(name for name in classifiers() if name not in kept)
    small = dataclasses.replace(spec, records=400, draws=1, leave_out=others)
    why = {"functional": "a constant was settled after all"}
    monkeypatch.setattr(settled, "SETTLED", {"digits": why})
    (table,) = places.study((small,), Run()).tables
    grades = {row[0]: row[1] for row in table.rows}
    assert grades == {
        "none": "",
        **dict.fromkeys(("lda", "lda, δ = 0", "objective"), "proven"),
        **dict.fromkeys(("matrix-lda", "matrix-lda, δ = 0"), "proven"),
        **dict.fromkeys(("functional", "functional, δ = 0"), "declared"),
    }
    assert any(note.startswith("objective, δ = 0: ") for note in table.notes)
    assert "functional (a constant was settled after all)" in table.notes[-1]


@pytest.mark.parametrize("on", sorted(places.SPECS))
def test_every_place_is_asked_at_delta_zero_too_and_dp_sgd_stands_among_them(on):
    (spec,) = places.SPECS[on]
    asked = spec.releases
    assert ("network", False) in asked
    assert ("network", True) not in asked
    both = {name for name, _ in asked} - {"network"}
    assert {("matrix-lda", True), ("pure-class-means", True), ("lda", True)} <= set(asked)
    assert {(name, pure) for name in both for pure in (False, True)} == set(asked) - {
        ("network", False)
    }


def test_a_kept_cell_does_not_depend_on_the_other_rows():
    (spec,) = places.SPECS["adult"]
    fewer = dataclasses.replace(spec, rows=("lda",), leave_out=("weights",))
    assert fewer.releases == (("lda", False),)
    assert fewer.key("lda", False) == spec.key("lda", False)
    assert dataclasses.replace(spec, epsilon=2.0).key("lda", False) != spec.key("lda", False)


@pytest.mark.slow
def test_certified_accuracy_falls_with_the_radius():
    (spec,) = smoothing.SPECS["digits"]
    small = dataclasses.replace(spec, queries=25, draws=200)
    (table,) = smoothing.study((small,), Run()).tables
    shares = [float(cell.split(" ")[0]) for cell in table.rows[0][3:]]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.7
    assert "promises nothing about training records" in table.notes[-1]
