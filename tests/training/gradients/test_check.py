"""What the check before the first step refuses, each with its reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from reticent.training.gradients import (
    Clipper,
    GradientSum,
    check_gradients,
    check_slots,
    random_batch,
)
from reticent.training.gradients.check import Loss
from reticent.validation import InputError

BATCH = (torch.randn(6, 7, generator=torch.Generator().manual_seed(0)), torch.arange(6) % 3)


def loss(model: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(model(rows), labels, reduction="none")


class _Linear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(7, 3)


class Functional(_Linear):
    def forward(self, rows: torch.Tensor) -> Any:
        return functional.linear(rows, self.layer.weight) + self.layer(rows)


class OnlyFunctional(_Linear):
    """No hook sees the one use of the weight."""

    def __init__(self) -> None:
        super().__init__()
        self.other = nn.Linear(3, 3)

    def forward(self, rows: torch.Tensor) -> Any:
        return self.other(functional.linear(rows, self.layer.weight))


class Centred(_Linear):
    def forward(self, rows: torch.Tensor) -> Any:
        return self.layer(rows - rows.mean(0))


class MixedIds(nn.Module):
    """Whole numbers mix: there is no gradient to see it by."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 3)

    def forward(self, ids: torch.Tensor) -> Any:
        return self.table(ids[:, 0]) * (1 + ids[:, 1].max())


class ChangedInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(7, 3)

    def forward(self, rows: torch.Tensor) -> Any:
        inner = rows * 2
        output = self.layer(inner)
        with torch.no_grad():
            inner.add_(1.0)
        return output


class Pairs(_Linear):
    """Rows that are no records: neighbours are put together before the layer."""

    def forward(self, rows: torch.Tensor) -> Any:
        return self.layer(rows + rows.roll(1, 0))


class Noisy(_Linear):
    def forward(self, rows: torch.Tensor) -> Any:
        return self.layer(functional.dropout(rows, 0.5, training=True))


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (Functional, "layer.weight must be used by the module that owns it"),
        (OnlyFunctional, "layer.weight must be used by the module that owns it"),
        (Centred, "must not influence each other"),
        (Pairs, "must not influence each other"),
        (ChangedInput, "changed in place|modified by an inplace operation"),
        (Noisy, "must give the same numbers twice"),
    ],
)
def test_models_that_clipping_would_not_protect(model: type[nn.Module], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        check_gradients(Clipper(model()), loss, BATCH)


def test_whole_numbers_that_mix() -> None:
    ids = torch.randint(0, 9, (6, 2), generator=torch.Generator().manual_seed(1))
    with pytest.raises(InputError, match="must not influence each other"):
        check_gradients(Clipper(MixedIds()), loss, (ids, BATCH[1]))


def test_batch_norm_is_refused_and_a_frozen_one_taken() -> None:
    model = nn.Sequential(nn.Linear(7, 3), nn.BatchNorm1d(3))
    with pytest.raises(InputError, match=r"module '1' must not mix the records .* BatchNorm1d"):
        Clipper(model)
    model[1].requires_grad_(False).eval()
    check_gradients(Clipper(model), loss, BATCH)


def _coupled(model: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    logits = model(rows)
    return torch.logsumexp(logits.flatten(), 0) - logits.gather(1, labels[:, None])[:, 0]


def _mean(model: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(model(rows), labels)


def _neighbours(model: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Each record meets the one before it alone."""
    logits = model(rows)
    return loss(model, rows, labels) + (logits * logits.roll(1, 0)).sum(1)


def _weighted(model: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """As torch divides by the weights of the labels that are in the batch."""
    weights = torch.tensor([1.0, 2.0, 5.0])[labels]
    return loss(model, rows, labels) * weights / weights.sum()


def _by_size(model: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return loss(model, rows, labels) / len(rows)


@pytest.mark.parametrize(
    ("coupled", "reason"),
    [
        (_coupled, "must see rows that belong to one record each"),
        (_mean, "must give one number for each of 6 records"),
        (_by_size, "must not influence each other"),
        (_neighbours, "must see rows that belong to one record each"),
        (_weighted, "must not influence each other"),
    ],
)
def test_losses_of_several_records(coupled: Loss, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        check_gradients(Clipper(nn.Linear(7, 3)), coupled, BATCH)


def test_dropout_is_left_out_of_the_check_alone() -> None:
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(7, 3))
    check_gradients(Clipper(model), loss, BATCH)
    assert model[0].p == 0.5


def test_slots_of_a_batch_are_alike() -> None:
    model = nn.Sequential(nn.Linear(7, 64), nn.Tanh(), nn.Linear(64, 16))
    check_slots(Clipper(model), loss, BATCH, slots=1)


class PlaceDependent(_Linear):
    """A kernel that rounds otherwise in later slots."""

    def forward(self, rows: torch.Tensor) -> Any:
        tiny = torch.where(torch.arange(len(rows)) > 20, 1 + 2.0**-23, 1.0)
        return self.layer(rows * tiny[:, None])


class NeighbourDependent(_Linear):
    """A kernel whose rounding depends on what stands in other slots, by one bit."""

    def forward(self, rows: torch.Tensor) -> Any:
        return self.layer(rows * (1 + 2.0**-23 * (rows.detach()[-1, :1] > 0).float()))


@pytest.mark.parametrize("model", [PlaceDependent, NeighbourDependent])
def test_one_bit_that_depends_on_the_slot_or_the_others(model: type[nn.Module]) -> None:
    clipper = Clipper(model())
    check_gradients(clipper, loss, BATCH)
    with pytest.raises(InputError, match="same gradient in all 32 slots"):
        check_slots(clipper, loss, BATCH, slots=32)


def test_random_records_have_the_shapes_of_a_record_and_nothing_else() -> None:
    record = (torch.full((2, 3), 77.0), torch.tensor(5), torch.tensor([9, 9], dtype=torch.int32))
    batch = random_batch(record, 4)
    assert [(tuple(one.shape), one.dtype) for one in batch] == [
        ((4, 2, 3), torch.float32),
        ((4,), torch.int64),
        ((4, 2), torch.int32),
    ]
    assert all(one.max() < 7 for one in batch)


class ZeroAtFirst(_Linear):
    """Mixes records by a weight that is zero before the first step."""

    def __init__(self) -> None:
        super().__init__()
        self.share = nn.Parameter(torch.zeros(()))

    def forward(self, rows: torch.Tensor) -> Any:
        return self.layer(rows + self.share * rows.mean(0))


def test_mixing_that_a_first_weight_of_zero_hides() -> None:
    with pytest.raises(InputError, match=r"must not influence each other|rows that belong to one"):
        check_gradients(Clipper(ZeroAtFirst()), loss, BATCH)


def test_weights_are_put_back_after_the_checks() -> None:
    model = nn.Linear(7, 3)
    before = model.weight.detach().clone()
    clipper = Clipper(model)
    check_gradients(clipper, loss, BATCH)
    check_slots(clipper, loss, BATCH, slots=1)
    assert torch.equal(before, model.weight)


def test_exact_mode_has_no_dropout_and_no_other_floats() -> None:
    dropping = nn.Sequential(nn.Dropout(0.1), nn.Linear(7, 3))
    with pytest.raises(InputError, match="module '0' must have p = 0 in exact mode"):
        GradientSum(dropping, loss, clip=1.0, example=BATCH)
    double = nn.Linear(7, 3).double()
    with pytest.raises(InputError, match="must be float32 in exact mode"):
        GradientSum(double, loss, clip=1.0, example=(BATCH[0].double(), BATCH[1]))


@pytest.mark.parametrize("hidden", [2, 33])
def test_bits_that_depend_on_the_slot_by_luck_are_found(hidden: int) -> None:
    """Narrow layers round at the edge of a tile: of two records, one in three shows it."""
    example = random_batch((torch.zeros(17), torch.zeros((), dtype=torch.int64)), 64, spread=3)
    for seed in range(3):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(17, hidden), nn.ReLU(), nn.Linear(hidden, 2))
        gradients = GradientSum(model, loss, clip=1.0, example=example, physical=64)
        rows = random_batch((torch.zeros(17), torch.zeros((), dtype=torch.int64)), 40, spread=3)
        whole = [gradients.of(tuple(one[place : place + 1] for one in rows)) for place in range(40)]
        shifted = gradients.of(tuple(one[1:] for one in rows))
        np.testing.assert_allclose(shifted, np.sum(whole[1:], axis=0), rtol=0, atol=1e-11)


class Kinked(_Linear):
    """ReLU at 10⁻⁹ above its kink, and a rounding that depends on the size of the batch.

    In float32 that decides the side it falls on, as it does for some of a deep network's million
    activations; in float64 it does not.
    """

    constant: torch.Tensor | None = None

    def forward(self, rows: torch.Tensor) -> Any:
        scores = self.layer(rows)
        if self.constant is not None:
            scores = scores @ self.constant
        rounding = torch.finfo(rows.dtype).eps * (1 if len(rows) > 1 else -1)
        return scores + functional.relu(scores - scores.detach() + 1e-9 + rounding)


def test_an_activation_at_its_kink_is_looked_at_in_float64() -> None:
    model = Kinked()
    before = model.layer.weight.detach().clone()
    check_gradients(Clipper(model), loss, BATCH)
    assert model.layer.weight.dtype == torch.float32
    assert torch.equal(model.layer.weight, before)


def test_a_model_that_takes_float32_alone_is_refused_as_float32_says() -> None:
    model = Kinked()
    model.constant = torch.eye(3)
    with pytest.raises(InputError, match="per-example gradients that are not those of autograd"):
        check_gradients(Clipper(model), loss, BATCH)
