"""The attack studies, tiny, on digits: who sees which records, tables, kept cells, orderings."""

import dataclasses

import numpy as np
import pytest

from reticent.attacks.shadow_network import NetworkRecipe
from reticent.studies import alm_attack, membership, slides_table
from reticent.studies.membership import Membership, Victim, records_of, trials
from reticent.studies.trained import Cells, Run, Steps

QUICK = NetworkRecipe(passes=10)
TINY = Membership(
    on="digits",
    members=200,
    attack="shokri",
    network=QUICK,
    shadows=2,
    around=12,
    victim=Victim(width=64, activation="relu", penalty=0.0, batch=None, learning_rate=0.01),
    tried="nothing was tried.",
    seeds=3,
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A study whose cells were computed once."""
    path = tmp_path_factory.mktemp("study") / "cells.json"
    slides_table.study(TINY, Run(cells=Cells(path)))
    return path


@pytest.mark.slow
def test_cells_are_kept_and_give_the_same_tables(kept, monkeypatch):
    monkeypatch.setattr(membership, "train_shadows", None)
    first, second = slides_table.study(TINY, Run(cells=Cells(kept))).tables
    assert [row[0] for row in first.rows] == [
        "training accuracy",
        "test accuracy",
        "attack precision",
        "attack recall",
    ]
    for _, published, ours, low, high in first.rows:
        assert published == "–"
        assert float(low) <= float(ours) <= float(high)
    assert [row[0] for row in second.rows] == ["shadow networks", "LiRA, online"]
    assert {row[3] for row in second.rows} == {"–"}  # 200 others are too few for 1 %
    assert "TPR at" not in second.notes[0]


@pytest.mark.slow
def test_lira_finds_more_than_shadow_networks(kept):
    cells = trials(TINY, Run(cells=Cells(kept)))
    for figure in ("AUC", "TPR − FPR"):
        lira = membership.over_seeds(cells, "LiRA, online", figure)
        assert lira.value > membership.over_seeds(cells, "shadow networks", figure).value
    assert membership.seeds_above(cells, ("AUC",)) == "AUC in 3 of 3 seeds"


def test_means_and_counts_of_seeds_are_those_of_the_cells():
    def cell(first, lira):
        return {"attacks": {"a": {"auc": first, "tpr": None}, "b": {"auc": lira, "tpr": 0.5}}}

    cells = [cell(0.5, 0.6), cell(0.7, 0.6), cell(0.6, 0.9)]
    assert membership.over_seeds(cells, "a", "AUC").value == pytest.approx(0.6)
    assert membership.over_seeds(cells, "a", "TPR at 1 % FPR") is None
    cells[0]["attacks"]["a"]["auc"] = None
    assert membership.over_seeds(cells, "a", "AUC").value == pytest.approx(0.65)
    cells[0]["attacks"]["a"]["auc"] = 0.5
    assert membership.seeds_above(cells, ("AUC", "TPR at 1 % FPR")) == "AUC in 2 of 3 seeds"
    assert membership.attack_rows(cells, ("TPR at 1 % FPR",))[0] == ("a", "–")


def test_the_shadows_of_the_network_saw_no_scored_record(monkeypatch):
    pools, heads = [], []

    def watched(head, pool, **settings):
        pools.append(pool)
        heads.append(head)
        return real(head, pool, **settings)

    real = membership.train_shadows
    monkeypatch.setattr(membership, "train_shadows", watched)
    steps = Steps()
    small = dataclasses.replace(TINY, members=60, seeds=1, around=4)
    trials(dataclasses.replace(small, victim=Victim(passes=2)), Run(steps=steps))
    own, scored = (set(pool.keys) for pool in pools)
    assert [len(pool) for pool in pools] == [120, 120]
    assert not own & scored
    assert steps.done == steps.whole == 1 + 2 + 4
    assert heads[0].steps == 2  # 60 records are one batch of up to 100


@pytest.mark.slow
def test_alms_study_names_the_published_accuracies():
    spec = dataclasses.replace(
        alm_attack.SPECS["digits"], members=150, around=6, seeds=2, network=QUICK
    )
    (table,) = alm_attack.study(spec, Run()).tables
    assert [row[1] for row in table.rows[:3]] == [".62", ".61", ".71"]
    assert [row[0] for row in table.rows[3:]] == ["ALM's shadow network", "LiRA, online"]
    assert "learns from 300 answers" in table.notes[1]


def test_a_seed_without_a_precision_is_said_and_left_out():
    def cell(precision):
        figures = {"auc": 0.5, "leakage": 0.0, "precision": precision, "recall": 0.0, "tpr": None}
        return {"training": 0.9, "test": 0.8, "attacks": {"shadow networks": figures}}

    cells = iter([cell(0.5), cell(None), cell(0.52)])

    class Given(Cells):
        def get(self, key, compute):
            assert key[1] in (10, 11, 12)
            return next(cells)

    spec = dataclasses.replace(TINY, around=0)
    first, second = slides_table.study(spec, Run(cells=Given())).tables
    assert first.rows[2][2] == ".5100"
    assert any("In 1 of 3 seeds nobody is called a member" in note for note in first.notes)
    for table in (first, second):
        assert table.notes[-1] == (
            "Seeds 10 to 12 are reported. On earlier seeds: nothing was tried."
        )


def test_specifications_are_the_papers():
    mnist = alm_attack.SPECS["mnist5k"]
    assert (mnist.members, mnist.shadows, mnist.victim.layers) == (1_000, 1, 1)
    assert len(mnist.network.hidden) == 5
    assert mnist.network.learning_rate == 1e-3
    location = slides_table.SPECS["location"]
    assert (location.members, location.victim) == (1_200, Victim())
    head = Victim().head(records_of("digits", None), members=1_200, seed=3)
    assert (head.layers, head.width, head.activation, head.steps) == (2, 128, "tanh", 1_200)
    assert (head.penalty, head.learning_rate, head.batch, head.seed) == (1e-3, 1e-3, 100, 3)
    assert all(spec.seeds >= 5 for spec in (mnist, *slides_table.SPECS.values()))
    assert all(spec.tried for spec in (mnist, *slides_table.SPECS.values()))


def test_published_parts_are_one_data_set(monkeypatch):
    asked = []

    def loaded(name, folder):
        asked.append((name, folder))
        return real("digits")

    real = membership.load
    monkeypatch.setattr(membership, "load", loaded)
    assert len(records_of("adult", "DIR")) == 2 * 1797
    assert len(records_of("mnist", "DIR")) == 1797
    assert asked == [("adult-train", "DIR"), ("adult-test", "DIR"), ("mnist-train", "DIR")]
    assert np.array_equal(records_of("digits", None).inputs, real("digits").features)
