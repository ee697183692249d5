"""Every false claim falls and every sound one stands; one in a million audits may err."""

import numpy as np
import pytest

from reticent.studies import STUDIES, items, study
from reticent.studies.refutations import dpcl_4c, lu_neuron, naive_floats
from reticent.studies.refutations.rows import BETA, COLUMNS

SOUND = {  # the rows that stand, by how they begin
    "lu-neuron": (
        "Algorithm 1, laplace, C = 2, valid",
        "Algorithm 1, gaussian, C = 2, valid",
        "release_weights",
    ),
    "algorithm-2": ("release_weights",),
    "naive-floats": ("reticent logistic", "reticent laplace"),
    "half-noise": ("release_weights",),
    "zero-sum-floats": ("release_weights, the same event", "release_weights, the released"),
    "dpcl-4c": ("4|B|C, |B| = 8", "4|B|C, |B| = 128"),
    "one-sided-wishart": ("matrix-laplace",),
}
MEASURED, EXACT, BOTH = (
    f"refuted by {what}" for what in ("the measured bound", "the exact pair", "both")
)
BY = {
    "lu-neuron": {MEASURED},
    "algorithm-2": {MEASURED, EXACT, BOTH},
    "naive-floats": {MEASURED},
    "half-noise": {MEASURED},
    "zero-sum-floats": {MEASURED},
    "dpcl-4c": {MEASURED, BOTH},
    "one-sided-wishart": {MEASURED},
}
WORDS = {
    "lu-neuron": "TPR 1 at FPR 0",
    "algorithm-2": "probability 0.905 (.905 by theory)",
    "naive-floats": "79 % of the floats that come out for 0 (79 % by theory)",
    "half-noise": "0.94",
    "zero-sum-floats": "96 % of the columns of projected noise (95 % by theory)",
    "dpcl-4c": "7.071 times 4C (7.07 by theory)",
    "one-sided-wishart": "1 − e^{−ε/3} = .28",
}


def test_each_item_is_here():
    assert set(items("refutations")) == set(SOUND) == set(WORDS)


@pytest.mark.slow
@pytest.mark.parametrize("item", items("refutations"))
def test_false_claims_fall_and_sound_ones_stand(item):
    table = study("refutations", item)
    assert table.columns == COLUMNS
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in table.rows]
    standing = {row["mechanism"] for row in rows if row["verdict"] == "not refuted"}
    falling = [row for row in rows if row["verdict"].startswith("refuted by ")]
    assert len(standing) + len(falling) == len(rows)
    assert len(standing) == len(SOUND[item])
    assert all(name.startswith(SOUND[item]) for name in standing)
    assert falling
    assert {row["grade"] for row in falling} <= {"published", "declared"}
    assert any("published" in note.lower() or "declared" in note.lower() for note in table.notes)
    assert WORDS[item] in " ".join(table.notes)
    assert STUDIES[f"refutations {item}"].__doc__
    assert {row["verdict"] for row in falling} == BY[item]


@pytest.mark.parametrize("classes", [3, 10])
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_noise_on_one_neuron_is_seen_through_in_every_answer(classes, noise):
    found = lu_neuron.audit_ratios(lu_neuron.query(classes), noise, runs=2_000)
    assert found.refuted
    evidence = found.bound.evidence
    assert (evidence.false_positives, evidence.false_negatives) == (0, 0)


def test_two_classes_show_no_exact_ratio():
    found = lu_neuron.audit_ratios(lu_neuron.negative_query(), "laplace", runs=2_000)
    assert found.bound.epsilon == 0


def test_a_valid_change_of_a_logit_is_one():
    for asked in (lu_neuron.query(2), lu_neuron.query(10), lu_neuron.negative_query()):
        moved = np.abs(asked.present - asked.absent).max()
        assert 0 < moved < asked.valid_change
    assert moved > 5 * asked.published_change


def test_naive_floats_fall_where_rounded_ones_stand():
    for kind in naive_floats.KINDS:
        noise = naive_floats.calibrated(kind)
        assert naive_floats.audit(naive_floats.naive(noise), runs=10_000).bound.epsilon > 2
        assert not naive_floats.audit(noise, runs=10_000).refuted


def test_most_floats_of_one_answer_cannot_be_those_of_the_other():
    assert naive_floats.impossible_share(5_000) == pytest.approx(0.79, abs=0.04)


def test_the_gradient_moves_as_far_as_theory_says():
    assert dpcl_4c.exceeded(8) == pytest.approx(7.07, abs=0.005)
    assert dpcl_4c.exceeded(128) == pytest.approx(127, abs=0.01)
    assert dpcl_4c.exceeded_with_noise(8) == pytest.approx(6.6, abs=0.3)
    assert dpcl_4c.exceeded_with_noise(128, draws=50) > 3


def test_bounds_are_sure():
    assert BETA == 1e-6
