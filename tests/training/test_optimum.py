"""The certified search ends on every data set, and says the truth about its gradient."""

import numpy as np
import pytest

from reticent.training.linear_head import _tolerance
from reticent.training.optimum import certified_minimum
from reticent.training.sigmoid_head import SigmoidObjective
from reticent.training.softmax import SoftmaxObjective, zero_sum_basis

MOST_STEPS = 100
"""At most 52 were seen on 4,000 such data sets; a search that stalls takes millions."""


def rows_of(kind, rng, n, d):
    return {
        "normal": lambda: rng.normal(size=(n, d)),
        "copies": lambda: rng.normal(size=(5, d))[rng.integers(0, 5, n)],
        "nearly equal": lambda: 1 + 1e-9 * rng.normal(size=(n, d)),
        "scales": lambda: rng.normal(size=(n, d)) * 10 ** rng.uniform(-8, 0, size=(1, d)),
        "outliers": lambda: rng.normal(size=(n, d)) * 10 ** rng.uniform(-7, 0, size=(n, 1)),
        "one-hot": lambda: np.eye(d)[rng.integers(0, d, n)] * 10 ** rng.uniform(-5, 0, (n, 1)),
        "collinear": lambda: rng.normal(size=(n, 1)) * np.ones((1, d)),
    }[kind]()


KINDS = ("normal", "copies", "nearly equal", "scales", "outliers", "one-hot", "collinear")


def hard_softmax(kind, seed):
    """Class weights over three to twelve orders of magnitude and hardly a penalty."""
    rng = np.random.default_rng(seed)
    classes, d = int(rng.choice([2, 4, 20])), int(rng.choice([1, 2, 10, 40]))
    n = int(rng.choice([0, 1, 10, 100, 300]))
    rows = rows_of(kind, rng, n, d)
    rows = rows / max(float(np.linalg.norm(rows, axis=1).max(initial=0.0)), 1e-300)
    span = float(rng.choice([3, 6, 12]))
    weights = 10 ** rng.choice([-span / 2, 0.0, span / 2], classes)
    return SoftmaxObjective(
        rows=rows,
        labels=np.minimum(rng.exponential(size=n).astype(np.int64), classes - 1),
        basis=zero_sum_basis(classes),
        weights=weights,
        penalty=float(10 ** rng.uniform(-16, -4) * weights.max()),
        records=int(rng.choice([n // 2 + 1, 10 * n + 1])),
        radius=1.0 + 1e-12,
    )


def ends(objective):
    tolerance = _tolerance(objective, None)
    found = certified_minimum(objective, tolerance=tolerance)
    assert found.gradient_bound <= tolerance
    assert found.steps <= MOST_STEPS
    return found, tolerance


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(12))
def test_the_search_ends_on_hard_data(kind, seed):
    ends(hard_softmax(kind, seed))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_several_labels(kind, seed):
    rng = np.random.default_rng(seed)
    rows = rows_of(kind, rng, 60, 8)
    rows = rows / max(float(np.linalg.norm(rows, axis=1).max()), 1e-300)
    ends(
        SigmoidObjective(
            rows=rows,
            targets=(rng.random((60, 3)) < rng.choice([0.02, 0.5])).astype(float),
            penalty=float(10 ** rng.uniform(-12, -2)),
            records=60,
            radius=1.0 + 1e-12,
        )
    )


def test_the_certificate_is_true():
    """The bound is at least the gradient in many more digits, at the very floats returned."""
    for seed in range(20):
        objective = hard_softmax("normal", seed)
        found, _ = ends(objective)
        h, U = objective.rows.astype(np.longdouble), objective.basis.astype(np.longdouble)
        V = found.point.astype(np.longdouble)
        logits = h @ V.T @ U.T
        p = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(h)), objective.labels] -= 1
        p *= objective.weights[objective.labels][:, None]
        exact = (p @ U).T @ h / objective.records + np.longdouble(objective.penalty) * V
        assert np.sqrt((exact**2).sum()) <= found.gradient_bound


@pytest.mark.parametrize("far", [0.0, 1e3, 1e200, np.inf, np.nan])
def test_where_the_search_starts_decides_nothing(far):
    objective = hard_softmax("normal", 3)
    tolerance = _tolerance(objective, None)
    start = np.full(objective.shape, far)
    found = certified_minimum(objective, tolerance=tolerance, start=start)
    assert found.gradient_bound <= tolerance
    assert found.steps <= MOST_STEPS
