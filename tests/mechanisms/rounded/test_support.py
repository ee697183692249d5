"""Which outputs are possible does not depend on the value: the leak of naive noise is absent."""

import numpy as np
import pytest

from reticent.mechanisms.rounded import default_grid, rounded_laplace, rounded_logistic
from reticent.mechanisms.rounded.grid import frame
from reticent.mechanisms.rounded.release import LOGISTIC, release_block
from reticent.randomness import seeded

VALUES = [0.0, 1.0, 1 / 3]
GRID = default_grid(1.0)


def naive(value, words):
    """What a textbook does: value + ln(u/(1 − u)) in floats, u of 53 bits."""
    u = ((words >> np.uint64(11)) | np.uint64(1)).astype(float) * 2.0**-53
    return value + np.log(u / (1 - u))


def ours(value, words):
    return release_block(
        np.full(words.size, value), words, lambda count: 0, LOGISTIC, frame(1.0, GRID)
    )


def reachable(sampler, outputs, value):
    """The share of outputs that some word near the inverse distribution function leads to."""
    centre = 2.0**64 / (1 + np.exp(value - outputs))
    found = np.zeros(outputs.size, dtype=bool)
    for step in range(-64, 65):
        words = np.clip(centre + step * 2.0**11, 2.0**12, 2.0**64 - 2.0**12).astype(np.uint64)
        found |= sampler(value, words) == outputs
    return found.mean()


@pytest.fixture
def words():
    return seeded("support").integers(2**64, size=20_000, dtype=np.uint64)


@pytest.mark.parametrize("value", VALUES[1:])
def test_naive_noise_is_rejected(words, value):
    outputs = naive(0.0, words)
    assert reachable(naive, outputs, 0.0) > 0.9
    assert reachable(naive, outputs, value) < 0.5


@pytest.mark.parametrize("value", VALUES)
def test_every_output_is_possible_for_every_value(words, value):
    outputs = ours(0.0, words)
    assert reachable(ours, outputs, value) == 1


@pytest.mark.parametrize("release", [rounded_logistic, rounded_laplace])
@pytest.mark.parametrize("value", VALUES)
def test_all_outputs_lie_on_one_grid(release, value):
    places = release(np.full(100_000, value), scale=1.0) / GRID
    assert (places == np.rint(places)).all()
    assert abs(np.mean(places % 2) - 0.5) < 0.02  # no coarser grid in disguise
