"""DP-SGD around a user's own loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import TensorDataset

from reticent.guarantee import Event
from reticent.mechanisms.additive import IDEAL_NOISE
from reticent.protect.noisy_query import with_noise_function
from reticent.protect.private_training import PrivateTraining
from reticent.protect.terms import RESUMED
from reticent.training.contrastive.nt_xent import nt_xent_terms
from reticent.validation import InputError

ROWS = torch.randn(60, 12, generator=torch.Generator().manual_seed(0))
LABELS = (ROWS[:, 0] > 0).long()


def loss(model: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(model(rows), labels, reduction="none")


def test_a_batch_is_at_most_all_records() -> None:
    assert training(batch=60).rate == 1.0
    with pytest.raises(InputError, match=r"batch must be at most records.*got 61 of 60: say 60"):
        training(batch=61)


def training(model: nn.Module | None = None, **options: Any) -> PrivateTraining:
    torch.manual_seed(0)
    model = nn.Linear(12, 2) if model is None else model
    optimiser = options.pop("optimiser", None) or torch.optim.Adam(model.parameters(), lr=0.1)
    numbers = {
        "epsilon": 8.0,
        "delta": 1e-3,
        "relation": "add-remove",
        "records": 60,
        "batch": 20,
        "epochs": 2,
        "clip": 1.0,
    }
    return PrivateTraining(model, optimiser, loss, **(numbers | options))


@pytest.mark.parametrize("data", [(ROWS, LABELS), TensorDataset(ROWS, LABELS)])
def test_all_planned_steps_and_no_more(data: Any) -> None:
    private = training()
    for batch in private.batches(data):
        private.step(*batch)
    assert private.taken == private.steps == 6
    assert list(private.batches(data)) == []
    assert min(private.accounted().epsilons.values()) <= 8.0


def test_a_batch_that_was_not_drawn_is_refused() -> None:
    private = training()
    drawn = private.batches((ROWS, LABELS))
    next(drawn)
    with pytest.raises(InputError, match="must be the one that batches"):
        private.step(ROWS, LABELS)


def test_a_batch_counts_once() -> None:
    private = training()
    batch = next(private.batches((ROWS, LABELS)))
    private.step(*batch)
    with pytest.raises(InputError, match="must be the one that batches"):
        private.step(*batch)


def test_an_empty_sample_still_takes_a_noisy_step() -> None:
    private = training(batch=1, records=10**6, epochs=3e-6)
    before = private.model.weight.detach().clone()  # type: ignore[operator]
    for batch in private.batches((ROWS[:1], LABELS[:1])):
        private.step(*batch)
    assert private.taken == 3
    assert not torch.equal(before, private.model.weight)  # type: ignore[arg-type]


def test_the_whole_plan_is_charged_once_before_the_first_step(tmp_path: Path) -> None:
    charged: list[Event] = []
    private = training(charge=charged.append)
    for batch in private.batches((ROWS, LABELS)):
        assert charged == [private.event()]
        private.step(*batch)
        private.save(tmp_path / "state.safetensors")
        break
    again = training(charge=charged.append)
    again.resume(tmp_path / "state.safetensors")
    for batch in again.batches((ROWS, LABELS)):
        again.step(*batch)
    assert (again.taken, len(charged)) == (6, 1)
    assert (RESUMED in private.guarantee.stated, RESUMED in again.guarantee.stated) == (False, True)


def test_a_state_that_others_may_write_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "state.safetensors"
    training().save(state)
    assert state.stat().st_mode & 0o077 == 0
    state.chmod(0o660)
    with pytest.raises(InputError, match="must be writable by you alone, got mode 660"):
        training().resume(state)


def test_a_resumed_run_has_the_same_weights_and_optimiser(tmp_path: Path) -> None:
    private = training()
    for batch in private.batches((ROWS, LABELS)):
        private.step(*batch)
    private.save(tmp_path / "state.safetensors")
    again = training()
    again.resume(tmp_path / "state.safetensors")
    assert again.taken == 6
    for one, other in zip(private.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(one, other)
    states = [run.optimiser.state_dict()["state"] for run in (private, again)]
    assert torch.equal(states[0][0]["exp_avg"], states[1][0]["exp_avg"])


def test_a_state_of_another_plan_is_refused(tmp_path: Path) -> None:
    training().save(tmp_path / "state.safetensors")
    with pytest.raises(InputError, match="must be of the same plan"):
        training(clip=2.0).resume(tmp_path / "state.safetensors")


def test_an_optimiser_of_other_parameters_is_refused() -> None:
    model = nn.Sequential(nn.Linear(12, 4), nn.Linear(4, 2))
    with pytest.raises(InputError, match=r"got none for 1\.weight"):
        training(model, optimiser=torch.optim.SGD(model[0].parameters(), lr=0.1))


def test_a_frozen_model_is_refused() -> None:
    with pytest.raises(InputError, match="model must have parameters to train, got none"):
        training(nn.Linear(12, 2).requires_grad_(False))


def test_a_scheduler_and_an_average_work_as_ever() -> None:
    private = training(average=0.5)
    scheduler = torch.optim.lr_scheduler.StepLR(private.optimiser, 1)
    first = {name: one.clone() for name, one in private.averages.items()}
    for batch in private.batches((ROWS, LABELS)):
        private.step(*batch)
        scheduler.step()
    assert private.optimiser.param_groups[0]["lr"] == pytest.approx(0.1 * 0.1**6)
    assert not torch.equal(first["weight"], private.averages["weight"])


def test_mixing_models_are_refused_before_anything_is_charged() -> None:
    charged: list[Event] = []
    model = nn.Sequential(nn.Linear(12, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    private = training(model, charge=charged.append)
    with pytest.raises(InputError, match="BatchNorm1d"):
        next(private.batches((ROWS, LABELS)))
    assert not charged


def contrastive(model: nn.Module, rows: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """NT-Xent of two views of each record, each of half of its entries: one number a record."""
    views = [model(functional.pad(half, (0, 6))) for half in rows.split(6, dim=1)]
    return nt_xent_terms(views[0], views[1], temperature=0.5).view(2, -1).sum(0)


def whole(model: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return contrastive(model, rows, labels).mean()


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        (contrastive, "belong to one record each, got rows that several records share"),
        (whole, "one number for each of .* records .* a loss of the batch as a whole has no bound"),
    ],
)
def test_a_loss_of_the_users_that_couples_records_is_refused_before_anything_is_charged(
    own: Any, reason: str
) -> None:
    charged: list[Event] = []
    private = training(charge=charged.append)
    private.loss = own
    with pytest.raises(InputError, match=reason):
        next(private.batches((ROWS, LABELS)))
    assert not charged


def test_fast_mode_states_that_its_noise_is_taken_for_ideal() -> None:
    assert IDEAL_NOISE in training(exact=False).guarantee.stated
    assert IDEAL_NOISE not in training().guarantee.stated


@pytest.mark.parametrize("exact", [True, False])
def test_without_noise_the_gradient_is_the_clipped_sum_over_the_public_normaliser(
    exact: bool,
) -> None:
    model = nn.Sequential(nn.Linear(12, 5), nn.Tanh(), nn.Linear(5, 2))
    private = training(model, exact=exact, batch=60, physical=7, clip=0.3)
    batch = next(private.batches((ROWS, LABELS)))
    expected = {name: torch.zeros_like(one) for name, one in model.named_parameters()}
    for row, label in zip(*batch, strict=True):
        model.zero_grad()
        loss(model, row[None], label[None]).sum().backward()
        norm = sum(float(one.grad.square().sum()) for one in model.parameters()) ** 0.5
        for name, one in model.named_parameters():
            expected[name] += one.grad * min(1.0, 0.3 / norm) / 60
    with with_noise_function(lambda _, value: value):
        private.step(*batch)
    for name, one in model.named_parameters():
        assert torch.allclose(one.grad, expected[name], atol=1e-6)


def test_no_exact_sum_is_left_where_gradients_are_when_noise_fails() -> None:
    model = nn.Linear(12, 2)
    private = training(model, exact=False)
    batches = private.batches((ROWS, LABELS))
    private.step(*next(batches))

    def fail(_: Any, value: Any) -> Any:
        raise KeyboardInterrupt

    batch = next(batches)
    with pytest.raises(KeyboardInterrupt), with_noise_function(fail):
        private.step(*batch)
    assert all(not one.grad.any() for one in model.parameters())


class WithNorm(nn.Module):
    """A linear map behind a normalisation of channels, which frozen is a fixed affine map."""

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.norm, self.last = norm, nn.Linear(12, 2)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.last(self.norm(rows.view(-1, 3, 4)).flatten(1))
        return found


@pytest.mark.parametrize("exact", [True, False])
def test_a_frozen_batch_norm_that_is_woken_stops_the_step(exact: bool) -> None:
    model = WithNorm(nn.BatchNorm1d(3, affine=False).eval())
    private = training(model, exact=exact)
    batches = private.batches((ROWS, LABELS))
    private.step(*next(batches))
    model.train()
    with pytest.raises(InputError, match=r"module 'norm' must be in the mode .* eval\(\), got tra"):
        private.step(*next(batches))
    model.norm.eval()
    private.step(*next(batches))
    assert private.taken == 2


@pytest.mark.parametrize("exact", [True, False])
def test_running_statistics_are_refused(exact: bool) -> None:
    model = WithNorm(nn.InstanceNorm1d(3, track_running_stats=True))
    with pytest.raises(InputError, match=r"buffer 'norm.running_mean' must not change with the"):
        next(training(model, exact=exact).batches((ROWS, LABELS)))
    assert not model.norm.running_mean.any(), "they are as they were"
    calm = training(WithNorm(nn.InstanceNorm1d(3)), exact=exact)
    calm.step(*next(calm.batches((ROWS, LABELS))))


@pytest.mark.parametrize("name", ["epsilon", "delta", "records", "rate", "steps", "clip", "noise"])
def test_what_the_noise_was_calibrated_for_stays(name: str) -> None:
    private = training()
    with pytest.raises(InputError, match=f"{name} must stay as the noise was calibrated for it"):
        setattr(private, name, 100)


def test_steps_taken_are_not_set_by_hand() -> None:
    with pytest.raises(AttributeError):
        training().taken = 0  # type: ignore[misc]


def test_a_state_that_was_never_charged_is_charged_when_it_goes_on(tmp_path: Path) -> None:
    charged: list[Event] = []
    first = training()
    first.step(*next(first.batches((ROWS, LABELS))))
    first.save(tmp_path / "state.safetensors")
    again = training(charge=charged.append)
    again.resume(tmp_path / "state.safetensors")
    again.step(*next(again.batches((ROWS, LABELS))))
    assert charged == [again.event()]


@pytest.mark.parametrize("exact", [True, False])
def test_randomness_that_records_share_is_stated(exact: bool) -> None:
    stated = training(exact=exact).guarantee.stated
    assert any(
        "what the data set gives for a record depends on that record" in one for one in stated
    )
    assert any("dropout draws the masks" in one for one in stated) == (not exact)


def test_dropout_that_is_turned_up_after_the_check_stops_an_exact_step() -> None:
    model = nn.Sequential(nn.Dropout(0.0), nn.Linear(12, 2))
    private = training(model)
    batches = private.batches((ROWS, LABELS))
    private.step(*next(batches))
    model[0].p = 0.5
    with pytest.raises(InputError, match=r"module '0' must have p = 0 in exact mode, got dropout"):
        private.step(*next(batches))
