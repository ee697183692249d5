"""Networks by DP-SGD: what the study hands back, and what its committed files say."""

import dataclasses
import json
from pathlib import Path

import pytest

from reticent.studies import private_networks
from reticent.studies.attacked_networks import AttackedNetworks
from reticent.studies.fine_tuned_victim import FineTunedVictim
from reticent.studies.membership import Victim
from reticent.studies.network_training import AdamTraining, Training
from reticent.studies.private_networks import PrivateNetworks, Row
from reticent.studies.trained import Cells, Run

RESULTS = Path(__file__).parents[2] / "results"
FEW = Training(architecture="mlp", shape=None, batch=60, epochs=2.0, learning_rate=1.0)


def rows_of(name):
    (table,) = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["tables"]
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


@pytest.mark.slow
def test_exact_rows_are_proven_and_draws_are_kept(tmp_path):
    rows = (
        Row(epsilon=50.0, training=dataclasses.replace(FEW, epochs=30.0), draws=2),
        Row(epsilon=2.0, training=FEW, mechanism="logistic", draws=1),
        Row(epsilon=2.0, training=FEW, exact=False, draws=1),
    )
    spec = PrivateNetworks(on="digits", records=600, rows=rows, reasons=())
    run = Run(cells=Cells(tmp_path / "cells.json"))
    (table,) = private_networks.study(spec, run).tables
    assert [row[0] for row in table.rows] == ["proven", "proven", "declared"]
    assert run.steps.done == 4
    accuracy = [float(row[table.columns.index("accuracy")]) for row in table.rows]
    assert accuracy[0] > 0.6
    again = private_networks.study(spec, Run(cells=Cells(tmp_path / "cells.json"))).tables
    assert again == (table,)  # fresh noise would differ: every draw was kept


@pytest.mark.slow
def test_an_overfit_network_is_attacked_before_and_after():
    spec = AttackedNetworks(
        on="digits", members=60, training=FEW, victim=Victim(penalty=0.0, passes=200),
        epsilons=(0.5,), shadows=4, seeds=2,
    )  # fmt: skip
    (table,) = private_networks.study(spec, Run()).tables
    free, private = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert (free["ε"], private["ε"], private["grade"]) == ("none", "0.5", "proven")
    assert float(free["training"].split()[0]) == 1
    assert float(free["loss AUC"].split()[0]) > float(private["loss AUC"].split()[0])


@pytest.mark.slow
def test_a_network_without_noise_is_the_victim_of_a_study():
    """Its shadows are made as it is, and it learns 60 digits by heart."""
    adam = AdamTraining(
        architecture="mlp", shape=None, batch=20, epochs=40.0, learning_rate=5e-3, clip=1e3
    )
    spec = AttackedNetworks(
        on="digits", members=60, training=FEW, victim=FineTunedVictim(training=adam),
        epsilons=(0.5,), shadows=4, seeds=2,
    )  # fmt: skip
    (table,) = private_networks.study(spec, Run()).tables
    free, private = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert float(free["training"].split()[0]) > 0.95
    assert float(free["loss AUC"].split()[0]) > float(private["loss AUC"].split()[0])
    assert "Adam" in table.notes[0]


def test_networks_on_mnist_reach_what_was_asked_of_them():
    rows = rows_of("private-networks-mnist")
    exact = [row for row in rows if row["mode"] == "exact"]
    assert {row["grade"] for row in rows} == {"declared"}  # numbers were chosen by a look at MNIST
    gaussian = {row["ε"]: float(row["least"]) for row in exact if row["noise"] == "gaussian"}
    assert gaussian["3"] >= 0.96
    assert gaussian["1"] >= 0.94
    assert {row["noise"] for row in exact} == {"gaussian", "logistic"}


@pytest.mark.parametrize("on", ["mnist", "mnist-scattering"])
def test_numbers_that_were_chosen_by_a_look_at_the_records_are_declared(on):
    """The grade follows from the request, and the committed rows say it."""
    spec = private_networks.SPECS[on]
    assert spec.inferred
    for row in spec.rows:
        assert spec.wanted(row).terms.inferred == spec.inferred
    assert all("declared" in reason for reason in spec.reasons)
    assert {row["grade"] for row in rows_of(f"private-networks-{on}")} == {"declared"}
    honest = private_networks.SPECS["digits"]
    assert not honest.wanted(honest.rows[0]).terms.inferred


def test_on_location_the_attack_is_gone():
    free, *private = rows_of("private-networks-location")
    assert float(free["LiRA AUC"].split()[0]) > 0.7
    assert {row["grade"] for row in private} == {"proven"}
    for row in private:
        assert float(row["LiRA AUC"].split()[0]) < 0.6
