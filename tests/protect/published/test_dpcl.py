"""DPCL as published: its noise and its ε come out again, and its steps are those of its losses."""

from __future__ import annotations

import copy
import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from reticent.guarantee import Grade
from reticent.protect.noisy_query import record_uniforms, with_noise_function
from reticent.protect.published.dpcl import DPCL, sample_without_replacement, train
from reticent.protect.published.dpcl_steps import DPCLRun
from reticent.protect.training_progress import follow_training, resumptions
from reticent.training.contrastive import barlow_twins, nt_xent
from reticent.training.contrastive.barlow_twins import OFF_DIAGONAL, correlation_loss
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


def same_views(run: DPCLRun, places: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The views that a step draws in an audit: there they are functions of the record."""
    rows = ROWS[places]
    drawn = torch.from_numpy(record_uniforms(rows, np.zeros(len(rows)), 2 * run.views.draws))
    inputs = run.views.inputs(torch.from_numpy(rows.astype(np.float32)))
    one, other = (run.views.view(inputs, part) for part in drawn.split(run.views.draws, dim=1))
    return one, other


def plain_loss(model: Any, views: tuple[torch.Tensor, torch.Tensor], one: DPCL) -> torch.Tensor:
    """Summed as DPCL sums: in float64, and as published with moments that are constants."""
    embedded = model(torch.cat(views).double()).chunk(2)
    if one.method == "simclr":
        return 16 * nt_xent(embedded[0], embedded[1], temperature=0.5)
    units = [torch.nn.functional.normalize(rows, dim=1) for rows in embedded]
    if one.privacy == "naive":
        return barlow_twins(units[0], units[1])
    standard = []
    for rows in units:
        variance, mean = torch.var_mean(rows.detach(), dim=0, correction=0)
        standard.append((rows - mean) / variance.clamp(min=1e-3).sqrt())
    return correlation_loss(standard[0].T @ standard[1] / 8, off_diagonal=OFF_DIAGONAL)


@pytest.mark.parametrize("method", ["simclr", "barlow"])
@pytest.mark.parametrize("privacy", ["naive", "published"])
def test_without_clip_and_noise_it_is_plain_training(method: str, privacy: str) -> None:
    """Three steps of SGD with momentum, of the loss in float64: weights move alike.

    The rate is large enough for float32 weights to show 10⁻⁵ of what moved them.
    """
    clip, rate = 1e9, {"simclr": 0.1, "barlow": 0.01}[method]
    one = spec(method=method, privacy=privacy, clip=clip, learning_rate=rate * clip)
    run = DPCLRun(one, 1.0, ROWS, NETWORK)
    plain = copy.deepcopy(run.model).double()
    before = flat(plain)
    optimiser = torch.optim.SGD(plain.parameters(), lr=rate, momentum=0.9)
    with with_noise_function(lambda _, value: value):
        for step in range(3):
            places = np.arange(step, step + 8)
            views = same_views(run, places)
            run.step(places, step)
            optimiser.zero_grad()
            (plain_loss(plain, views, one) / 8).backward()
            for group in optimiser.param_groups:
                group["lr"] = rate * (step + 1) / 10 * (0.5 + 0.5 * math.cos(math.pi * step / 3))
            optimiser.step()
    moved = flat(plain) - before
    assert np.linalg.norm(moved) > 1e-2
    assert np.linalg.norm(flat(run.model) - flat(plain)) <= 1e-5 * np.linalg.norm(moved)


def flat(model: Any) -> Any:
    return torch.cat([one.detach().flatten().double() for one in model.parameters()]).numpy()


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


class _StoppedError(Exception):
    """In the place of a kill."""


@pytest.mark.parametrize("privacy", ["naive", "published"])
def test_a_stopped_training_goes_on_and_logs_noisy_answers_alone(
    privacy: str, tmp_path: Path
) -> None:
    state, told, seen = tmp_path / "state", [], []

    def stop(taken: int, _planned: int) -> None:
        if taken == 2:
            raise _StoppedError

    one, before = spec(privacy=privacy), resumptions()
    with (
        pytest.raises(_StoppedError),
        follow_training(progress=stop, checkpoint=state, log=told.append),
    ):
        train(one, ROWS, NETWORK)
    with follow_training(progress=lambda *at: seen.append(at), checkpoint=state, log=told.append):
        train(one, ROWS, NETWORK)
    assert seen == [(2, 3), (3, 3)]
    assert resumptions() == before + 1
    assert [line["step"] for line in told] == [1, 2, 2, 3]
    more = {"coupling_norm"} if privacy == "published" else set()
    assert all(set(line) == {"step", "gradient_norm"} | more for line in told)
    with (
        pytest.raises(InputError, match="same plan on the same records"),
        follow_training(checkpoint=state),
    ):
        train(spec(privacy=privacy, clip=2.0), ROWS, NETWORK)


def test_a_state_holds_all_that_the_next_step_depends_on() -> None:
    """With exact answers a restored run takes the very step that the other one takes."""
    one = spec(privacy="naive")
    run, again = (DPCLRun(one, 1.0, ROWS, NETWORK) for _ in range(2))
    with with_noise_function(lambda _, value: value):
        run.step(np.arange(8), 0)
        again.restore({name: value.clone() for name, value in run.state().items()})
        for each in (run, again):
            each.step(np.arange(8, 16), 1)
    assert np.array_equal(flat(run.model), flat(again.model))
