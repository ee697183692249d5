"""Private loops with schedulers: killed and gone on with, and beside plain training."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.optim import lr_scheduler

from reticent.protect import private_training
from reticent.protect.noisy_query import with_noise_function
from reticent.protect.private_training import PrivateTraining
from reticent.randomness import seeded
from reticent.training.contrastive.augmentations import natural
from reticent.training.gradients import batches
from reticent.validation import InputError

RECORDS, BATCH, STEPS = 60, 20, 9
ROWS = torch.randn(RECORDS, 12, generator=torch.Generator().manual_seed(0))
LABELS = (ROWS[:, 0] > 0).long()
DATA = ROWS, LABELS


def loss(model: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(model(rows), labels, reduction="none")


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(12, 5), nn.Tanh(), nn.Linear(5, 2))


def momentum(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)


def adam(model: nn.Module) -> torch.optim.Optimizer:
    halves = [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.02}]
    return torch.optim.AdamW(halves, lr=0.05, amsgrad=True)


def in_turn(optimiser: torch.optim.Optimizer) -> lr_scheduler.LRScheduler:
    parts = [lr_scheduler.ConstantLR(optimiser, 0.1, 3), lr_scheduler.ExponentialLR(optimiser, 0.8)]
    return lr_scheduler.SequentialLR(optimiser, parts, milestones=[3])


SCHEDULES: dict[str, Callable[[torch.optim.Optimizer], lr_scheduler.LRScheduler]] = {
    "step": lambda one: lr_scheduler.StepLR(one, 2, gamma=0.7),
    "milestones": lambda one: lr_scheduler.MultiStepLR(one, [2, 5], gamma=0.3),
    "one cycle": lambda one: lr_scheduler.OneCycleLR(one, max_lr=0.9, total_steps=STEPS + 1),
    "restarts": lambda one: lr_scheduler.CosineAnnealingWarmRestarts(one, T_0=4),
    "function": lambda one: lr_scheduler.LambdaLR(one, lambda step: 1 / (1 + step)),
    "in turn": in_turn,
}


class Seeded:
    """Samples, slots and noise by the number of the step: of every run the same."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.step = 0
        monkeypatch.setattr(private_training, "secret_sample", self.sample)
        monkeypatch.setattr(batches, "secret_order", self.order)

    def sample(self, size: int, rate: float) -> np.ndarray:
        return np.flatnonzero(seeded("coins", self.step).random(size) < rate)

    def order(self, size: int) -> np.ndarray:
        return seeded("slots", self.step).permutation(size)

    def noisy(self, _: Any, value: Any) -> np.ndarray:
        return np.asarray(value) + seeded("noise", self.step).normal(size=np.shape(value))


def training(
    make: Callable[[nn.Module], torch.optim.Optimizer], schedule: str | None, **options: Any
) -> PrivateTraining:
    model = network()
    optimiser = make(model)
    numbers: dict[str, Any] = {
        **{"epsilon": 8.0, "delta": 1e-3, "relation": "add-remove", "records": RECORDS},
        **{"batch": BATCH, "epochs": STEPS * BATCH / RECORDS, "clip": 1.0, "physical": 7},
        "schedulers": () if schedule is None else (SCHEDULES[schedule](optimiser),),
    }
    return PrivateTraining(model, optimiser, loss, **(numbers | options))


def run(private: PrivateTraining, seeds: Seeded, path: Path, stop: int | None = None) -> None:
    """To the end, saving after each step; or killed in the step after ``stop``, half done."""
    seeds.step = private.taken
    with with_noise_function(seeds.noisy):
        for batch in private.batches(DATA):
            private.step(*batch)
            if private.taken == stop:
                return  # before the scheduler and the state of this step
            for one in private.schedulers:
                one.step()
            private.save(path)
            seeds.step = private.taken


@pytest.mark.slow
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("make", [momentum, adam])
def test_a_killed_run_with_a_scheduler_ends_as_the_unbroken_one_to_the_last_bit(
    schedule: str,
    make: Callable[[nn.Module], torch.optim.Optimizer],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    seeds = Seeded(monkeypatch)
    whole = training(make, schedule, average=0.5)
    run(whole, seeds, tmp_path / "whole")
    for stop in (2, 6):
        killed = training(make, schedule, average=0.5)
        if stop == 6:
            killed.resume(tmp_path / "state")
        run(killed, seeds, tmp_path / "state", stop)
    last = training(make, schedule, average=0.5)
    last.resume(tmp_path / "state")
    assert last.taken == 5
    run(last, seeds, tmp_path / "state")
    assert last.taken == whole.taken == STEPS
    for one, other in zip(whole.model.parameters(), last.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert all(torch.equal(one, last.averages[name]) for name, one in whole.averages.items())
    rates = [[group["lr"] for group in run.optimiser.param_groups] for run in (whole, last)]
    assert rates[0] == rates[1] != [group["lr"] for group in make(network()).param_groups]


def test_the_learning_rate_of_the_file_is_gone_on_with(tmp_path: Path) -> None:
    first = training(momentum, None)
    first.optimiser.param_groups[0]["lr"] = 0.125
    first.save(tmp_path / "state")
    again = training(momentum, None)
    again.resume(tmp_path / "state")
    assert again.optimiser.param_groups[0]["lr"] == 0.125


def test_schedulers_that_are_not_those_of_the_file_are_refused(tmp_path: Path) -> None:
    training(momentum, "step").save(tmp_path / "state")
    without = training(momentum, None)
    with pytest.raises(InputError, match=r"schedulers must be as many as in .*, 1, got 0: give"):
        without.resume(tmp_path / "state")
    with pytest.raises(InputError, match=r"optimiser must be as when .* was saved, got: loaded"):
        training(adam, "step").resume(tmp_path / "state")
    assert without.taken == 0


def test_a_scheduler_that_reads_a_loss_is_refused_and_others_are_stated_not_to() -> None:
    """A private loss moves step sizes without noise."""
    model = network()
    optimiser = momentum(model)
    plateau = lr_scheduler.ReduceLROnPlateau(optimiser)
    numbers = {"epsilon": 8.0, "delta": 1e-3, "relation": "add-remove", "records": RECORDS}
    with pytest.raises(InputError, match="must follow the number of steps, got ReduceLROnPlateau"):
        PrivateTraining(
            model, optimiser, loss, **numbers, batch=9, epochs=1, clip=1.0, schedulers=[plateau]
        )
    stated = training(momentum, "step").guarantee.stated
    assert any("reads no loss or other number of these records" in line for line in stated)


def test_weights_that_are_tied_are_saved_and_come_back(tmp_path: Path) -> None:
    def tied() -> nn.Module:
        model = nn.Sequential(nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 12))
        model[2].weight = model[0].weight
        return model

    models = tied(), tied()
    private = [
        PrivateTraining(
            model,
            momentum(model),
            loss,
            **{"epsilon": 8.0, "delta": 1e-3, "relation": "add-remove", "records": RECORDS},
            **{"batch": BATCH, "epochs": 1, "clip": 1.0},
        )
        for model in models
    ]
    private[0].save(tmp_path / "state")
    private[1].resume(tmp_path / "state")
    assert torch.equal(models[0][2].weight, models[1][0].weight)
    assert models[1][0].weight is models[1][2].weight


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("batch", [RECORDS, BATCH])
def test_without_noise_and_clipping_it_is_plain_training(exact: bool, batch: int) -> None:
    """Some steps with momentum and a schedule, on the same samples."""
    private = training(
        momentum, "step", exact=exact, batch=batch, clip=1e30, epochs=6 * batch / RECORDS
    )
    plain = copy.deepcopy(private.model)
    first = [one.detach().clone() for one in plain.parameters()]
    optimiser = momentum(plain)
    schedule = SCHEDULES["step"](optimiser)
    with with_noise_function(lambda _, value: value):
        for drawn in private.batches(DATA):
            optimiser.zero_grad()
            (loss(plain, *drawn).sum() / batch).backward()
            optimiser.step()
            schedule.step()
            private.step(*drawn)
            private.schedulers[0].step()
    assert private.taken == 6
    pairs = zip(private.model.parameters(), plain.parameters(), first, strict=True)
    for ours, theirs, before in pairs:
        assert (ours - theirs).norm() <= 1e-5 * theirs.norm()
        assert (theirs - before).norm() > 1e-2 * before.norm()


def images(model: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(model(rows), labels, reduction="none")


@pytest.mark.parametrize("exact", [True, False])
def test_views_of_images_are_averaged_in_the_loop(exact: bool, tmp_path: Path) -> None:
    rows, labels = torch.rand(30, 3, 8, 8), torch.arange(30) % 2

    def views(number: int) -> PrivateTraining:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(144, 2))
        return PrivateTraining(
            model,
            momentum(model),
            images,
            **{"epsilon": 8.0, "delta": 1e-3, "relation": "add-remove", "records": 30},
            **{"batch": 10, "epochs": 0.7, "clip": 1.0, "physical": 8, "exact": exact},
            **{"augmentation": natural(), "views": number},
        )

    private = views(2)
    for batch in private.batches((rows, labels)):
        assert len(batch) == 2
        private.step(*batch)
    assert private.taken == private.steps == 3
    private.save(tmp_path / "state")
    with pytest.raises(InputError, match="must be of the same plan, got another"):
        views(3).resume(tmp_path / "state")
    with pytest.raises(InputError, match="views must be 1 without an augmentation, got 2"):
        training(momentum, None, views=2)
