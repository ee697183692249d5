"""A release that is written over the exact vector: the same noise, entry by entry, in parts."""

import numpy as np
import pytest

from reticent.guarantee import Sensitivity
from reticent.mechanisms import Gaussian, L2Laplace, Laplace, Logistic
from reticent.protect.noisy_query import noisy_query, with_noise_function

ONE = Sensitivity(l1=1.0, l2=1.0)
SIZE, PART = 200, 64


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr("reticent.mechanisms.additive._PART", PART)


@pytest.mark.parametrize("kind", [Laplace, Logistic, Gaussian, L2Laplace])
def test_every_entry_has_noise_of_its_own_on_the_grid(kind):
    """Two of 200 entries in four are equal by luck with probability below 10⁻²⁰."""
    noise, value = kind(scale=1.0, sensitivity=ONE), np.full(SIZE, 1e6)
    released = noise.release(value)
    assert (value == 1e6).all()  # release itself leaves it alone
    assert noise.release_over(value) is value
    for one in (value, released):
        assert len(set(one.tolist())) > SIZE * 3 / 4
        assert np.abs(one - 1e6).max() < 1e5
    grid = noise.grid_in(SIZE)
    assert np.array_equal(np.rint(value / grid) * grid, value)
    assert not np.array_equal(value[:PART], value[PART : 2 * PART])


def test_noise_of_a_whole_vector_is_drawn_as_one(monkeypatch):
    sizes, release = [], L2Laplace.release
    monkeypatch.setattr(
        L2Laplace,
        "release",
        lambda self, value: (sizes.append(len(value)), release(self, value))[1],
    )
    L2Laplace(scale=1.0, sensitivity=ONE).release_over(np.zeros(SIZE))
    assert sizes == [SIZE]


def test_a_query_writes_over_its_value_where_that_is_asked_for_and_no_audit_looks():
    noise, value = Gaussian(scale=1.0, sensitivity=ONE), np.zeros(SIZE)
    assert noisy_query(noise, value) is not value
    assert not value.any()
    with with_noise_function(lambda _, exact: exact + 1):
        assert noisy_query(noise, value, over=True).tolist() == [1.0] * SIZE
    assert not value.any()
    assert noisy_query(noise, value, over=True) is value
    assert value.any()
