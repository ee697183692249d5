"""What a private loop asks of its data: the records that it needs, when it needs them."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from reticent.protect import private_training, training_data
from reticent.protect.private_training import PrivateTraining
from reticent.training.contrastive.augmentations import natural
from reticent.validation import InputError

RECORDS, PHYSICAL = 120, 8


class Counting:
    """A data set on disk, say: how many of its records are in memory, and which were asked for."""

    def __init__(self) -> None:
        self.alive = self.most = 0
        self.asked: list[int] = []

    def __len__(self) -> int:
        return RECORDS

    def __getitem__(self, place: int) -> tuple[torch.Tensor, int]:
        record = torch.full((12,), float(place))
        self.asked.append(place)
        self.alive += 1
        self.most = max(self.most, self.alive)
        weakref.finalize(record, self._gone)
        return record, place % 2

    def _gone(self) -> None:
        self.alive -= 1


def loss(model: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(model(rows), labels, reduction="none")


def training(model: nn.Module, **options: Any) -> PrivateTraining:
    numbers: dict[str, Any] = {
        **{"epsilon": 8.0, "delta": 1e-3, "relation": "add-remove"},
        **{"records": RECORDS, "batch": 60, "epochs": 1, "clip": 1.0, "physical": PHYSICAL},
    }
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    return PrivateTraining(model, optimiser, loss, **(numbers | options))


@pytest.mark.parametrize("exact", [True, False])
def test_a_physical_batch_of_records_is_in_memory_at_once(exact: bool) -> None:
    """A sample is of 60 records on average: below 16 by a probability of 10⁻¹⁷."""
    data = Counting()
    private = training(nn.Linear(12, 2), exact=exact)
    for number, batch in enumerate(private.batches(data)):
        data.asked.clear()
        data.most = 0
        assert data.alive == 0
        private.step(*batch)
        assert data.most <= PHYSICAL
        assert sorted(data.asked) == sorted(set(data.asked)) == sorted(batch[0].places.tolist())
        assert len(batch[0]) > 2 * PHYSICAL
        assert number < 2
    assert data.alive == 0


def test_a_data_set_gives_what_its_tensors_give(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Counting()
    records = [data[place] for place in range(RECORDS)]
    tensors = torch.stack([one for one, _ in records]), torch.tensor([one for _, one in records])
    monkeypatch.setattr(private_training, "secret_sample", lambda size, rate: np.arange(5, 45))
    sums = []
    for one in (data, tensors):
        torch.manual_seed(0)
        private = training(nn.Linear(12, 2))
        next(private.batches(one))
        assert private._gradients is not None
        sums.append(private._gradients.of(private._sample))
    np.testing.assert_allclose(*sums, rtol=0, atol=1e-12)


def test_a_tuple_in_memory_is_taken_as_it_is() -> None:
    rows, labels = torch.arange(12.0).view(6, 2), torch.arange(6)
    held = training_data.sample_of((rows, labels), np.array([4, 1]))
    assert isinstance(held, private_training.Held)
    assert held.parts[0].tolist() == [[8.0, 9.0], [2.0, 3.0]]
    assert held.parts[1].tolist() == [4, 1]


def test_no_record_and_no_example_are_refused() -> None:
    with pytest.raises(InputError, match="example must be given where the data have no record"):
        training_data.first_shapes((torch.zeros(0, 3),))


def test_each_record_has_numbers_of_its_own_for_its_views() -> None:
    """Two of 90 words of 24 bits are equal by chance with probability 3·10⁻⁴: all of two rows of
    nine by 10⁻⁶⁰."""
    images = torch.zeros(10, 1, 4, 4)
    drawn = training_data.with_uniforms(
        training_data.sample_of((images,), np.arange(10)), natural().draws(1)
    )
    twice = [drawn.rows(slice(0, 10)) for _ in range(2)]
    assert all(torch.equal(rows[1], images) for rows in twice)
    numbers = torch.cat([rows[0] for rows in twice])
    assert 0 <= float(numbers.min()) <= float(numbers.max()) < 1
    assert len({tuple(row) for row in numbers.tolist()}) == 20
