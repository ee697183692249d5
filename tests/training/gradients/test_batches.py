"""Where the records of a step stand: in order, or in secret random slots."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from reticent.training.gradients import GradientSum, batches

DRAWS = 4000
FALSE_ALARM = 1e-7
"""Of each statistical test below."""


@pytest.mark.parametrize(("records", "slots"), [(0, 4), (1, 4), (4, 4), (5, 4), (11, 4), (3, 1)])
def test_each_record_stands_in_one_slot_of_as_few_batches_as_can_be(
    records: int, slots: int
) -> None:
    parts = batches.secret_slots(records, slots)
    assert len(parts) == -(-records // slots)
    assert sorted(one for which, _ in parts for one in which.tolist()) == list(range(records))
    for which, places in parts:
        assert 0 < len(which) == len(places) == len(set(places.tolist())) <= slots
        assert 0 <= min(places) <= max(places) < slots


def standing(records: int, slots: int) -> np.ndarray:
    """The slot of each record among those of all batches."""
    found = np.empty(records, dtype=np.int64)
    for number, (which, places) in enumerate(batches.secret_slots(records, slots)):
        found[which] = number * slots + places
    return found


def least_probability(draws: list[np.ndarray], slots: int) -> float:
    """Of χ² tests that the first record, and the distance of the next to it, are uniform."""
    first = np.bincount([one[0] for one in draws], minlength=slots)
    apart = np.bincount([(one[1] - one[0]) % slots - 1 for one in draws], minlength=slots - 1)
    return min(float(stats.chisquare(one).pvalue) for one in (first, apart))


def test_every_injection_is_as_likely_as_any_other() -> None:
    """By two χ² tests of probability 10⁻⁷ each; what stands in order, or apart by a fixed
    distance from a random start, is found."""
    assert least_probability([standing(5, 4) for _ in range(DRAWS)], 8) > FALSE_ALARM
    in_order = np.arange(5)
    starts = np.random.default_rng(0).integers(8, size=DRAWS)
    assert least_probability([in_order] * DRAWS, 8) < FALSE_ALARM
    assert least_probability([(in_order + one) % 8 for one in starts], 8) < FALSE_ALARM


def watched_sum(seen: list[torch.Tensor], *, exact: bool) -> GradientSum:
    """Of records that are numbers, which the loss notes as they stand."""

    def loss(model: nn.Module, rows: torch.Tensor) -> torch.Tensor:
        seen.append(rows.detach()[:, 0].clone())
        return model(rows)[:, 0]

    example = (-torch.rand(8, 3) - 1,)
    return GradientSum(nn.Linear(3, 1), loss, clip=1.0, example=example, physical=8, exact=exact)


@pytest.mark.parametrize("exact", [True, False])
def test_exact_mode_puts_the_records_of_each_step_into_secret_slots(exact: bool) -> None:
    """In all of eight steps five records stand in the first of eight slots, or in the same ones,
    with probability below 10⁻²⁶: (3!/8!)⁷ = (1/6720)⁷."""
    seen: list[torch.Tensor] = []
    sums = watched_sum(seen, exact=exact)
    assert sums.physical in (8, 64, 32, 16)
    rows = torch.arange(5.0)[:, None].expand(5, 3)
    seen.clear()
    for _ in range(8):
        sums.of((rows,))
    held = [one[one >= 0].tolist() for one in seen]
    assert all(sorted(one) == [0, 1, 2, 3, 4] for one in held)
    in_order = [one[:5].tolist() == [0, 1, 2, 3, 4] for one in seen]
    assert all(in_order) == (not exact)
    assert (len({tuple(one.tolist()) for one in seen}) == 1) == (not exact)


@pytest.mark.parametrize("exact", [True, False])
def test_a_drawn_sample_is_read_part_by_part(exact: bool) -> None:
    data = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
    asked: list[int] = []

    def read(places: np.ndarray) -> tuple[torch.Tensor]:
        asked.append(len(places))
        return (data[places],)

    places = np.arange(1, 40, 2)
    sums = watched_sum([], exact=exact)
    found = sums.of(batches.Drawn(places, read))
    np.testing.assert_allclose(found, sums.of((data[places],)), rtol=1e-5, atol=1e-6)
    assert sum(asked) == 20
    assert max(asked) <= sums.physical
