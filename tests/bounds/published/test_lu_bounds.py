"""Table 1: values where all conditions hold, one line where one of them does not."""

import math
from dataclasses import replace

import numpy as np
import pytest

from reticent.bounds.published import lu
from reticent.bounds.published.lu import TABLE_1, Setting
from reticent.validation import InputError

HEAD = Setting(rho=3.0, penalty=0.01, records=500, classes=2, smoothness=2.0)


def test_five_bounds_at_one_setting():
    assert lu.chaudhuri_binary(HEAD) == pytest.approx(1.2)
    wide = replace(HEAD, classes=7, largest_norm=2.0)
    assert lu.chaudhuri(wide) == pytest.approx(7 * 2 * 3 / 5)
    assert lu.wu_decreasing(replace(wide, steps="decreasing")) == pytest.approx(1.2)
    constant = replace(wide, steps="constant", step_length=0.4)
    expected = 2 * 0.4 * 3 / (1 - (1 - 0.004) ** 500)
    assert lu.wu_constant(constant) == pytest.approx(expected)
    assert lu.lu_theorem_4(wide) == pytest.approx(1.2)


def test_a_constant_step_keeps_its_digits_where_little_shrinks():
    tiny = replace(HEAD, penalty=1e-14, records=1, steps="constant", step_length=0.1)
    assert lu.wu_constant(tiny) == pytest.approx(2 * 0.1 * 3 / 1e-15)


@pytest.mark.parametrize(
    ("bound", "setting", "said"),
    [
        *[(bound, replace(HEAD, convex=False), "convex") for bound in TABLE_1.values()],
        (lu.chaudhuri_binary, replace(HEAD, largest_norm=1.5), "largest_norm must be <= 1"),
        (lu.chaudhuri_binary, replace(HEAD, classes=3), "classes must be 2"),
        (lu.chaudhuri, replace(HEAD, steps="decreasing"), "steps must be minimiser"),
        (lu.wu_decreasing, replace(HEAD, smoothness=None), "smooth"),
        (lu.wu_decreasing, HEAD, "steps must be decreasing"),
        (lu.wu_constant, replace(HEAD, steps="constant"), "step_length must be"),
        (
            lu.wu_constant,
            replace(HEAD, steps="constant", step_length=0.51),
            "step_length must be <= 1/smoothness = 0.5",
        ),
        (
            lu.wu_constant,
            replace(HEAD, steps="constant", step_length=0.5, penalty=2.0),
            "step_length·penalty must be < 1",
        ),
        (lu.lu_theorem_4, replace(HEAD, steps="constant"), "steps must be minimiser"),
    ],
)
def test_a_condition_that_fails_gets_one_line(bound, setting, said):
    with pytest.raises(InputError, match=said) as refused:
        bound(setting)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["rho", "penalty", "largest_norm", "smoothness", "step_length"])
def test_nan_is_refused(name):
    with pytest.raises(InputError, match=f"{name} must be > 0"):
        replace(HEAD, **{name: math.nan})


def test_unknown_steps_are_refused():
    with pytest.raises(InputError, match="steps must be minimiser, decreasing or constant"):
        replace(HEAD, steps="none")


def test_theorem_4_holds_for_an_averaged_convex_loss():
    """Ridge regression with losses that are 1-Lipschitz where it is used: every leave-one-out."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        x = rng.normal(size=(40, 3))
        x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1)
        y = rng.uniform(-0.2, 0.2, size=40)

        def fitted(rows, x=x, y=y):
            inputs, targets = x[rows], y[rows]
            gram = inputs.T @ inputs / len(rows) + 0.5 * np.eye(3)
            return np.linalg.solve(gram, inputs.T @ targets / len(rows))

        every = np.arange(40)
        full = fitted(every)
        gradients = [np.linalg.norm((x[i] @ full - y[i]) * x[i]) for i in every]
        moved = [np.linalg.norm(fitted(np.delete(every, i)) - full) for i in every]
        setting = Setting(rho=max(gradients), penalty=0.5, records=40, classes=2)
        assert max(moved) <= lu.lu_theorem_4(setting)
