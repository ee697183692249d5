"""The clipped sum of a batch: physical batches, empty ones, and independence to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from reticent.training.gradients import GradientSum


def loss(model: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(model(rows), labels, reduction="none")


@pytest.fixture
def batch() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(50, 20), torch.arange(50) % 3


def _sum(model: nn.Module, **options: Any) -> GradientSum:
    example = (torch.randn(3, 20), torch.tensor([0, 1, 2]))
    return GradientSum(model, loss, clip=0.5, example=example, **options)


def _model() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 3))


@pytest.mark.parametrize("exact", [True, False])
def test_physical_batches_add_up(batch: tuple[torch.Tensor, torch.Tensor], exact: bool) -> None:
    totals = [_sum(_model(), physical=size, exact=exact).of(batch) for size in (7, 16, 64)]
    for one in totals[1:]:
        np.testing.assert_allclose(one, totals[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("exact", [True, False])
def test_an_empty_batch_is_a_sum_of_nothing(exact: bool) -> None:
    total = _sum(_model(), exact=exact).of((torch.zeros(0, 20), torch.zeros(0, dtype=torch.int64)))
    assert total.shape == (20 * 32 + 32 + 32 * 3 + 3,)
    assert not total.any()


def test_a_record_adds_its_own_part_to_the_last_digits(
    batch: tuple[torch.Tensor, torch.Tensor],
) -> None:
    """With and without a record the other parts are equal to the last bit: only the float64 sum
    rounds. The same in fast mode is off by a thousand times as much."""
    rows, labels = batch
    exact, fast = _sum(_model(), physical=16), _sum(_model(), physical=16, exact=False)

    def rest(gradients: GradientSum) -> float:
        without = gradients.of((rows[1:], labels[1:]))
        alone = gradients.of((rows[:1], labels[:1]))
        return float(np.abs(gradients.of(batch) - without - alone).max())

    assert rest(exact) <= 50 * 2**-53 * 2 * 0.5 * 50
    assert rest(fast) > 1e-9


def test_small_products_take_a_batch_size_at_which_slots_are_alike() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 9), nn.Tanh(), nn.Linear(9, 3))
    gradients = _sum(model, physical=33)
    assert gradients.physical in (33, 64, 32, 16, 8, 1)


@pytest.mark.parametrize("records", [50, 0])
def test_the_sum_is_written_to_memory_that_is_given(
    batch: tuple[torch.Tensor, torch.Tensor], records: int
) -> None:
    gradients, some = _sum(_model(), physical=16), tuple(one[:records] for one in batch)
    memory = np.full(gradients.size, np.nan)
    assert gradients.of(some, out=memory) is memory
    np.testing.assert_allclose(memory, gradients.of(some), rtol=0, atol=1e-13)  # in another order


def test_parameters_that_no_record_reaches_have_a_sum_of_zero(
    batch: tuple[torch.Tensor, torch.Tensor],
) -> None:
    model = _model()
    model.register_module("idle", nn.Linear(4, 2))
    model.forward = lambda rows: model[2](model[1](model[0](rows)))  # type: ignore[method-assign]
    gradients = _sum(model, physical=16)
    total = gradients.of(batch, out=np.full(gradients.size, np.nan))
    assert total[:-10].all()
    assert not total[-10:].any()


def test_a_noisy_sum_is_divided() -> None:
    model = _model()
    gradients = _sum(model)
    noisy = np.arange(gradients.size, dtype=np.float64)
    for divisor in (4.0, 2.0):  # the second step has the memory of the first
        gradients.set_gradients(noisy, divisor=divisor)
        flat = torch.cat([one.grad.flatten() for one in model.parameters() if one.grad is not None])
        assert flat.tolist() == (noisy / divisor).tolist()
    assert noisy[1] == 1.0


def test_gradients_are_handed_to_the_parameters_in_their_order() -> None:
    model = _model()
    gradients = _sum(model)
    gradients.set_gradients(np.arange(gradients.size, dtype=np.float64))
    flat = torch.cat([one.grad.flatten() for one in model.parameters() if one.grad is not None])
    assert flat.tolist() == list(range(gradients.size))


def test_a_partial_batch_is_filled_with_public_records(
    batch: tuple[torch.Tensor, torch.Tensor],
) -> None:
    """Not with those of the batch before, and on as many threads as were checked."""
    seen: list[tuple[torch.Tensor, int]] = []

    def watched(model: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        seen.append((rows.clone(), torch.get_num_threads()))
        return loss(model, rows, labels)

    example = (torch.randn(3, 20), torch.tensor([0, 1, 2]))
    sums = GradientSum(_model(), watched, clip=0.5, example=example, physical=16)
    seen.clear()
    sums.of(batch)
    size = sums.physical
    private = {tuple(one) for one in batch[0].tolist()}
    assert len(seen) == -(-50 // size) > 1
    held = 0
    for rows, threads in seen:
        public = [tuple(one) not in private for one in rows.tolist()]
        assert torch.equal(rows[public], example[0][torch.arange(size) % 3][public])
        held += size - sum(public)
        assert threads == 1
    assert held == 50


def test_how_a_slow_module_is_run_is_settled_by_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in one batch must not change how all later records are computed."""
    from reticent.training.gradients.fallback import Unit, _Again

    slow = Unit("cell", nn.Linear(2, 2))
    again = _Again.__new__(_Again)
    monkeypatch.setattr(_Again, "at_once", lambda _: ["at once"])
    monkeypatch.setattr(_Again, "one_by_one", lambda _: ["one by one"])
    assert slow._rows(again) == ["at once"]

    def fails(_: object) -> None:
        raise RuntimeError("memory")

    monkeypatch.setattr(_Again, "at_once", fails)
    with pytest.raises(RuntimeError, match="memory"):
        slow._rows(again)
    assert Unit("cell", nn.Linear(2, 2))._rows(again) == ["one by one"]
