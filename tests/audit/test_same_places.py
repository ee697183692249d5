"""What two worlds have in common stands at one place of a sample in both."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from reticent.audit.same_places import SamePlaces
from reticent.protect.noisy_query import FixedSize

ROWS = np.array([[0.0], [1.0], [1.0], [2.0], [3.0], [0.0]])


@pytest.mark.parametrize("size", [1, 3, 6])
@pytest.mark.parametrize(("leaves", "place"), list(itertools.product([0, 2, 5], [0, 3, 5])))
def test_one_place_of_a_sample_differs_and_it_is_in_the_sample(
    size: int, leaves: int, place: int
) -> None:
    other = np.insert(np.delete(ROWS, leaves, axis=0), place, [[9.0]], axis=0)
    places, rate, marks = SamePlaces(), FixedSize(size, 6), np.zeros(6)
    for again in range(2):
        first = [ROWS[places.first(ROWS, marks, rate)] for _ in range(3)]
        second = [other[places.second(other, marks, rate)] for _ in range(3)]
        for one, two in zip(first, second, strict=True):
            assert len(one) == len(two) == size
            differ = (one != two).ravel()
            assert differ.sum() == (0 if places.is_missed else 1)
            assert places.is_missed or (one[differ], two[differ]) == (ROWS[leaves], 9.0)
        if again or not places.is_missed:
            assert not places.is_missed
            break
        assert size < 6
        places.start_again()


def test_samples_of_a_rate_are_in_the_order_of_the_table() -> None:
    places, marks = SamePlaces(), np.zeros(6)
    for rate in (1.0, 0.5):
        for sampler in (places.first, places.second):
            assert sampler(ROWS, marks, rate).tolist() == list(range(6))
