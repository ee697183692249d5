"""Findings of Lu et al. on all data sets, from the means and intervals of committed files."""

import json
from pathlib import Path

import pytest

from reticent.results.table import Table
from reticent.studies import index
from reticent.studies.index.entry import Counted, Figure, row_of
from reticent.studies.index.lu_findings import (
    Baseline,
    baseline,
    falling_curve,
    judged,
    losses,
    of_two_noises,
    overfitting,
)
from reticent.studies.lu.formulas import EPSILONS

ROOT = Path(__file__).parents[3]
MNIST = json.loads((ROOT / "results/lu-dp-sgd-mnist.json").read_text(encoding="utf-8"))


def near(value, half=0.01):
    return Figure(value=value, low=value - half, high=value + half)


def victim(gap, leakage):
    return Baseline(near(0.9), near(0.9 - gap), near(leakage))


def test_a_victim_is_that_of_the_note_and_its_gap_is_training_less_test():
    found = baseline(MNIST)
    note = MNIST["tables"][1]["notes"][1]
    for name in Baseline._fields:
        assert f"{name} {getattr(found, name)}" in note
    assert found.gap == pytest.approx(found.training.value - found.test.value)
    without = Table(title="", columns=(), rows=()).to_dict()
    assert baseline({"tables": [{}, without]}) is None


def test_leakage_must_go_with_the_gap_over_data_sets():
    rising = {str(place): victim(0.1 * place + 0.1, 0.05 * place) for place in range(6)}
    assert list(overfitting(rising)) == [True]
    falling = {str(place): victim(0.1 * place + 0.1, 0.5 - 0.05 * place) for place in range(6)}
    assert list(overfitting(falling)) == [False]
    assert list(overfitting({"a": victim(0.01, 0.01)})) == [True]
    assert list(overfitting({"a": victim(0.01, 0.3)})) == [False]
    assert list(overfitting({"a": victim(0.3, 0.01)})) == []  # five data sets are the least


def curves(steps):
    return {noise: [near(value) for value in steps] for noise in ("laplace", "gaussian")}


def test_a_curve_must_fall_from_a_half_within_the_stated_range():
    """At ε = .01, .05, .1, .5, 1, 5, 10, 50, 100, 500 and 1,000."""
    good = curves([0.5, 0.5, 0.5, 0.48, 0.47, 0.2, 0.03, 0.02, 0.01, 0, 0])
    assert list(falling_curve("mnist", EPSILONS, good)) == [True] * 6
    rising = curves([0.5, 0.5, 0.5, 0.48, 0.47, 0.2, 0.03, 0.02, 0.04, 0, 0])
    assert list(falling_curve("mnist", EPSILONS, rising)) == [True] * 6  # within the intervals
    jump = curves([0.5, 0.5, 0.5, 0.48, 0.47, 0.2, 0.03, 0.02, 0.2, 0, 0])
    assert list(falling_curve("mnist", EPSILONS, jump)) == [False, True, False, False, True, True]
    high = curves([0.9, 0.9, 0.9, 0.85, 0.84, 0.2, 0.03, 0.02, 0.01, 0, 0])
    assert list(falling_curve("mnist", EPSILONS, high)) == [True, False, True] * 2


def test_two_noises_are_alike_for_two_classes_and_differ_for_more():
    alike = {"laplace": [near(0.40)], "gaussian": [near(0.37)]}
    assert of_two_noises(2, alike)
    assert of_two_noises(3, alike)
    apart = {"laplace": [near(0.40), near(0.2)], "gaussian": [near(0.3), near(0.3)]}
    assert not of_two_noises(2, apart)
    assert not of_two_noises(3, apart)
    overlap = {"laplace": [near(0.4, 0.2)], "gaussian": [near(0.3, 0.2)]}
    assert not of_two_noises(3, overlap)


def test_committed_files_are_counted_and_a_changed_one_changes_the_count():
    files = index.committed(ROOT / "results")
    sets = {"mnist": ("lu-dp-sgd-mnist", 10)}
    epsilons, own = losses(MNIST)
    assert (tuple(epsilons), {len(curve) for curve in own.values()}) == (EPSILONS, {11})
    assert judged(4, sets)(files) == Counted(1, 1)
    assert judged(4, {"mnist": ("lu-dp-sgd-mnist", 2)})(files) == Counted(0, 1)
    assert judged(4, sets)(lambda _: None) is None


def test_rows_of_missing_data_read_their_file_once_it_is_there():
    """CIFAR-100: no file, and then one that somebody with the data has made."""
    files = index.committed(ROOT / "results")

    def with_cifar100(name):
        return MNIST if name == "lu-dp-sgd-cifar100" else files(name)

    entries = [e for e in index.entries("lu") if "CIFAR-100:" in e.item]
    assert len(entries) == 6  # four columns of Table 5 and two halves of the figure
    for one in entries:
        assert row_of("lu", one, files).verdict == "cannot be: data missing"
        found = row_of("lu", one, with_cifar100)
        assert found.verdict in ("reproduced", "not reproduced")
        assert found.ours[0] in "0123456789h"
