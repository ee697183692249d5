"""DPCL as published: its noise and its ε come out again, and its steps are those of its losses."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch

from reticent.guarantee import Grade
from reticent.protect.noisy_query import record_uniforms, with_noise_function
from reticent.protect.published.dpcl import DPCL, sample_without_replacement, train
from reticent.protect.published.dpcl_steps import DPCLRun
from reticent.training.contrastive import barlow_twins, nt_xent
from reticent.training.contrastive.networks import NetworkChoice
from reticent.validation import InputError

PAPER = {"delta": 1e-5, "records": 50_000, "batch": 128}
ROWS = np.random.default_rng(0).uniform(size=(16, 64))
NETWORK = NetworkChoice("strided", "8x8x1", "digits")


def spec(**options: Any) -> DPCL:
    numbers: dict[str, Any] = {
        "method": "simclr",
        "privacy": "published",
        "epsilon": 100.0,
        "delta": 1e-5,
        "records": 16,
        "batch": 8,
        "steps": 3,
    }
    return DPCL(**(numbers | options))


@pytest.mark.parametrize(
    ("method", "privacy", "epochs", "epsilon", "sigma"),
    [
        ("simclr", "naive", 200, 999.86, 0.3812),
        ("simclr", "published", 200, 999.41, 0.4021),
        ("barlow", "naive", 100, 995.30, 0.3633),
    ],
)
def test_the_noise_multipliers_of_the_paper(
    method: str, privacy: str, epochs: int, epsilon: float, sigma: float
) -> None:
    found = spec(**PAPER, method=method, privacy=privacy, epsilon=epsilon, steps=390 * epochs)
    assert found.multiplier() == pytest.approx(sigma, rel=1e-3)


def test_what_the_paper_spends_where_releases_are_composed_first() -> None:
    similar = spec(**PAPER, epsilon=999.41, steps=78_125)
    own, tight = similar.composed_epsilon(0.4021)
    assert own == pytest.approx(110_009, rel=1e-3)
    assert tight < own
    lines = similar.verdicts(0.4021)
    assert "exceeded 127 times" in lines[0]
    assert "110" in lines[1]
    assert similar.guarantee().grade is Grade.PUBLISHED
    assert spec(privacy="naive").guarantee().grade is Grade.DECLARED


def test_samples_are_distinct_and_secret() -> None:
    one, other = (sample_without_replacement(1000, 100) for _ in range(2))
    assert len(set(one.tolist())) == 100
    assert one.tolist() != other.tolist()
    assert sorted(sample_without_replacement(5, 5).tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("method", ["simclr", "barlow"])
def test_without_clip_and_noise_it_is_the_gradient_of_the_loss(method: str) -> None:
    naive = spec(method=method, privacy="naive", clip=1e9)
    run = DPCLRun(naive, 1.0, ROWS, NETWORK)
    places = np.arange(8)
    with with_noise_function(lambda _, value: value):  # views are functions of the record
        total = run.gradient_sum(places)
        drawn = torch.from_numpy(record_uniforms(ROWS[places], np.zeros(8), 2 * run.views.draws))
    inputs = run.views.inputs(torch.from_numpy(ROWS[places].astype(np.float32)))
    both = [run.views.view(inputs, part) for part in drawn.split(run.views.draws, dim=1)]
    one, other = run.model(torch.cat(both)).chunk(2)
    if method == "simclr":
        loss = 16 * nt_xent(one, other, temperature=0.5)
    else:
        unit = [torch.nn.functional.normalize(rows, dim=1) for rows in (one, other)]
        loss = barlow_twins(unit[0], unit[1])
    parts = torch.autograd.grad(loss, list(run.model.parameters()))
    expected = torch.cat([part.flatten() for part in parts]).double().numpy()
    assert np.linalg.norm(total - expected) <= 1e-3 * np.linalg.norm(expected)


def test_one_view_adds_no_more_than_the_clip() -> None:
    run = DPCLRun(spec(privacy="naive", clip=1e-4), 1.0, ROWS, NETWORK)
    assert np.linalg.norm(run.gradient_sum(np.arange(8))) <= 16 * 1e-4 * (1 + 1e-5)


def test_noise_is_on_what_the_paper_releases() -> None:
    seen: list[tuple[float, int]] = []

    def note(noise: Any, value: Any) -> Any:
        seen.append((noise.scale / noise.bound, value.size))
        return value

    for method, sizes in (("simclr", [256]), ("barlow", [32, 32, 32, 32])):
        seen.clear()
        run = DPCLRun(spec(method=method), 0.4, ROWS, NETWORK)
        with with_noise_function(note):
            run.step(np.arange(8), 0)
        weights = sum(one.numel() for one in run.model.parameters())
        assert [size for _, size in seen] == [*sizes, weights]
        assert all(multiplier == pytest.approx(0.4) for multiplier, _ in seen)


def test_training_moves_the_encoder_and_counts_its_records() -> None:
    tensors, multiplier = train(spec(), ROWS, NETWORK)
    assert multiplier > 0
    start = DPCLRun(spec(), 1.0, ROWS, NETWORK).encoder_tensors()
    assert any(not np.array_equal(tensors[name], start[name]) for name in start)
    with pytest.raises(InputError, match="records must be their number"):
        train(dataclasses.replace(spec(), records=17), ROWS, NETWORK)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "moco"},
        {"privacy": "proven"},
        {"batch": 1},
        {"batch": 17},
        {"epsilon": math.nan},
        {"clip": 0.0},
        {"steps": 0},
    ],
)
def test_numbers_that_do_not_go_together(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        spec(**options)
