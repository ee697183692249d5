import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.mechanisms.rounded import default_grid, l2_laplace_grid, saturation
from reticent.mechanisms.rounded.grid import checked_grid, frame


@given(st.floats(2.0**-900, 2.0**900))
def test_the_default_grid_is_a_power_of_two_below_the_scale(scale):
    grid = default_grid(scale)
    assert math.frexp(grid)[0] == 0.5
    assert 2**12 <= scale / grid < 2**13
    assert checked_grid(scale, grid) == checked_grid(scale, None) == grid


def test_a_frame_is_exact():
    exact = frame(0.3, 2.0**-30)
    assert exact.ratio / 2**30 == 0.3
    assert exact.inverse * exact.step == 1
    assert exact.caution == 1


def test_saturation_is_a_function_of_public_numbers():
    assert saturation(1.0, 0.25) == (2.0**49, 2.0**50)
    assert saturation(1.0) == (2.0**39, 2.0**40)


def test_the_grid_of_a_vector_follows_the_noise_of_a_coordinate():
    assert l2_laplace_grid(1.0, 1) == default_grid(1.0)
    assert l2_laplace_grid(1.0, 10_000) == default_grid(100.0)
    assert l2_laplace_grid(1.0, 0) == default_grid(1.0)


@pytest.mark.parametrize(
    ("scale", "grid", "message"),
    [
        (1.0, 0.3, "grid must be a power of two, got 0.3"),
        (1.0, 0.0, "grid must be > 0 and finite, got 0.0"),
        (1.0, math.nan, "grid must be > 0 and finite, got nan"),
        (1.0, -0.5, "grid must be > 0 and finite, got -0.5"),
        (1.0, 2.0**-46, "grid must be in [scale/2**45, scale*2**45], got 1.42"),
        (1.0, 2.0**46, "grid must be in [scale/2**45, scale*2**45], got 70368744177664.0 for"),
        (1e300, 2.0**961, "grid must be in [2**-960, 2**960], got"),
        (1e-300, 2.0**-1000, "grid must be in [2**-960, 2**960], got"),
        (0.0, None, "scale must be > 0 and finite, got 0.0"),
        (math.inf, None, "scale must be > 0 and finite, got inf"),
        (math.nan, 1.0, "scale must be > 0 and finite, got nan"),
        (1e300, None, "scale must be in [2**-931, 2**970), got 1e+300: rescale the values"),
        (5e-324, None, "scale must be in [2**-931, 2**970), got 5e-324: rescale the values"),
    ],
)
def test_a_refusal_names_the_rule_and_the_value(scale, grid, message):
    with pytest.raises(ValueError, match="must be") as refused:
        frame(scale, grid)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
