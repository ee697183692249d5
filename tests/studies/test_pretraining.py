"""Pre-training as a study: rows are paired with the first weights of their seed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from reticent.studies import Run, pretraining
from reticent.studies.pretraining import SPECS, Pretraining, Variant


def test_what_stands_in_the_specifications() -> None:
    mnist = SPECS["mnist"]
    assert (mnist.batch, mnist.steps, mnist.seeds, mnist.exact) == (512, 100, 5, True)
    assert mnist.rows == [("spectral", 3.0, 1 / 17, True), ("spectral", 0.9, 1 / 17, True)]
    assert SPECS["mnist-masked"].rows == [("masked-patches", 3.0, None, True)]
    assert [row.share for row in SPECS["mnist-split"].rows] == [0.003, 1 / 17, 0.5, 0.9]
    shares = dataclasses.replace(mnist, coupling_shares=(0.1, 0.2))
    assert [row[1:3] for row in shares.rows] == [(3.0, 0.1), (3.0, 0.2), (0.9, 0.1)]
    twins = Variant(**vars(mnist), twins=True).rows
    assert [row.has_noise for row in twins] == [True, True, False]
    assert twins[-1][:3] == twins[0][:3]


def test_what_an_encoder_sees_goes_into_the_request() -> None:
    asked = {}
    for name in ("mnist", "mnist-standardised", "mnist-fixed-head"):
        recipe = SPECS[name].request(SPECS[name].rows[0], 0).planned(784, 0)
        asked[name] = (recipe.standardised, recipe.fixed_head)
    assert list(asked.values()) == [(False, False), (True, False), (True, True)]
    masked = SPECS["mnist-masked"]
    assert masked.request(masked.rows[0], 0).planned(784, 0).learning_rate == 0.02


def test_maps_are_pooled_square_by_square() -> None:
    recipe = SPECS["mnist"].request(SPECS["mnist"].rows[0], 0).planned(784, 0)
    maps = np.arange(64 * 16, dtype=np.float64).reshape(1, -1)
    pooled = pretraining._pooled(maps, recipe, 2)
    assert pooled.shape == (1, 256)
    assert pooled[0, 0] == np.mean([0, 1, 4, 5])


def test_gains_are_paired_with_the_first_weights_of_the_seed() -> None:
    starts = [{"knn": 0.5}, {"knn": 0.7}]
    text = pretraining.gain([{"knn": 0.6}, {"knn": 0.8}], starts, "knn")
    assert text == "0.7000 (+0.1000 ± 0.0000)"
    assert pretraining.gain([{"knn": 0.6}], starts, "knn") == "0.6000 (+0.1000)"


@pytest.mark.slow
def test_a_twin_takes_the_same_steps_without_noise() -> None:
    every = {"records": 300, "memory": 300, "batch": 300}  # no coin decides what the twins see
    few = {"seeds": 1, "steps": 3, "beside": ()}
    small = Variant(**(vars(SPECS["digits"]) | every | few), twins=True)
    noisy, free = (
        pretraining.study(dataclasses.replace(small, epsilons=(epsilon,)), Run()).tables[0].rows
        for epsilon in (8.0, 1e-3)
    )
    assert noisy[-1] == free[-1]  # its steps are exact: the same twice, at whatever ε
    assert noisy[-1][:4] == ("spectral, no noise", "–", "∞", "–")
    assert free[1][5:] != free[-1][5:]


@pytest.mark.slow
def test_a_small_study_runs() -> None:
    small: Pretraining = dataclasses.replace(SPECS["digits"], seeds=1, steps=2, epsilons=(8.0,))
    table = pretraining.study(small, Run()).tables[0]
    assert [row[0] for row in table.rows] == ["first weights", "spectral", "masked-patches"]
    assert {row[1] for row in table.rows[1:]} == {"declared"}
