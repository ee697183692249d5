"""Measures beside scikit-learn's, and intervals that hold what they say."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, mean_absolute_error, r2_score

from reticent.run.tasks.measures import Measured, kinds_of

RNG = np.random.default_rng(0)


def test_numbers_are_those_of_scikit_learn():
    truth = RNG.normal(1e6, 3.0, size=200)
    told = truth + RNG.normal(0, 1, size=200)
    measured = Measured(kinds=kinds_of(("y",), numbers=True, unit="mm"), truth=truth)
    rmse, mae, r2 = measured.of([told])
    assert rmse.words == "RMSE (mm)"
    assert rmse.figure.value == pytest.approx(np.sqrt(np.mean((truth - told) ** 2)))
    assert mae.figure.value == pytest.approx(mean_absolute_error(truth, told))
    assert r2.figure.value == pytest.approx(r2_score(truth, told), abs=1e-9)


def test_labels_are_those_of_scikit_learn():
    truth = (RNG.random((300, 3)) < 0.3).astype(int)
    told = np.where(RNG.random((300, 3)) < 0.2, 1 - truth, truth)
    measured = Measured(kinds=kinds_of(("a", "b", "c"), numbers=False), truth=truth)
    found = {one.words: one.figure.value for one in measured.of([told])}
    for k, name in enumerate("abc"):
        assert found[f"F1 of {name}"] == pytest.approx(f1_score(truth[:, k], told[:, k]))
        assert found[f"accuracy of {name}"] == pytest.approx((truth[:, k] == told[:, k]).mean())
    assert found["F1, mean of all labels"] == pytest.approx(f1_score(truth, told, average="macro"))


def test_a_label_that_is_never_true_nor_said_is_right():
    nothing = np.zeros((5, 2), dtype=int)
    measured = Measured(kinds=kinds_of(("a", "b"), numbers=False), truth=nothing)
    assert {one.figure.value for one in measured.of([nothing])} == {1.0}


def test_the_change_is_relative_and_positive_where_it_is_worse():
    truth = RNG.normal(size=400)
    numbers = Measured(kinds=kinds_of(("y",), numbers=True), truth=truth)
    assert numbers.change(truth + 1, [truth + 2]).value == pytest.approx(1.0)
    labels = (RNG.random((400, 2)) < 0.5).astype(int)
    several = Measured(kinds=kinds_of(("a", "b"), numbers=False), truth=labels)
    worse = labels.copy()
    worse[:100] = 1 - worse[:100]
    assert several.change(labels, [worse]).value == pytest.approx(0.25)


@pytest.mark.slow
def test_intervals_hold_the_true_rmse_about_as_often_as_they_say():
    """95 % intervals of 100 tables: fewer than 82 hold it in one of a million tests, were it so.

    With the records' part alone far fewer would: the models differ by their noise.
    """
    rng, held, by_records = np.random.default_rng(1), 0, 0
    kinds = kinds_of(("y",), numbers=True)[:1]
    expected = 1.1093  # E√(1 + o²), o ~ N(0, ½²), by quadrature
    for _ in range(100):
        truth = rng.normal(size=120)
        told = [truth + offset + rng.normal(size=120) for offset in rng.normal(0, 0.5, size=4)]
        measured = Measured(kinds=kinds, truth=truth)
        figure = measured.of(told)[0].figure
        held += figure.low <= expected <= figure.high
        alone = kinds[0].of(measured._sums(told)[1]).mean(axis=0)
        low, high = np.quantile(alone, [0.025, 0.975])
        by_records += low <= expected <= high
    assert held >= 82
    assert by_records < 82
