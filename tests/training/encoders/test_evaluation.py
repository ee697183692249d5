"""Probes of frozen features: against scikit-learn, and with draws that every encoder shares."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier

from reticent.training.encoders.evaluation import (
    Memory,
    few_label_probes,
    knn_accuracy,
    label_draws,
    ridge_probe,
)
from reticent.validation import InputError

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(3, 6)) * 1.2
LABELS, TRUTH = np.arange(240) % 3, np.arange(90) % 3
ROWS = CENTRES[LABELS] + RNG.normal(size=(240, 6))
QUERIES = CENTRES[TRUTH] + RNG.normal(size=(90, 6))
MEMORY = Memory.of(ROWS, LABELS, QUERIES, TRUTH, classes=3)


def test_neighbours_are_those_of_scikit_learn():
    unit, asked = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (ROWS, QUERIES))
    similar = {"metric": "euclidean", "weights": lambda distance: 1 - distance**2 / 2}
    model = KNeighborsClassifier(5, **similar).fit(unit, LABELS)
    assert knn_accuracy(MEMORY, k=5) == model.score(asked, TRUTH)
    assert 0.5 < knn_accuracy(MEMORY) < 1


@pytest.mark.parametrize("size", [4, 240])
def test_a_probe_is_ridge_regression_whatever_is_wider(size):
    chosen = np.arange(size)
    rows = ROWS[chosen] - ROWS[chosen].mean(axis=0)
    scale = np.linalg.norm(rows, axis=1).mean()
    targets = np.eye(3)[LABELS[chosen]] - 1 / 3
    ridge = Ridge(alpha=2.0 * size / 6, fit_intercept=False).fit(rows / scale, targets)
    scores = ridge.predict((QUERIES - ROWS[chosen].mean(axis=0)) / scale)
    expected = float((scores.argmax(axis=1) == TRUTH).mean())
    assert ridge_probe(MEMORY, chosen, penalty=2.0) == expected


def test_draws_are_of_each_class_and_the_same_for_every_encoder():
    draws = label_draws(LABELS, per_class=4, draws=3, classes=3, seed=1)
    assert len(draws) == 3
    for draw in draws:
        assert np.bincount(LABELS[draw]).tolist() == [4, 4, 4]
        assert len(set(draw.tolist())) == 12
    again = label_draws(LABELS, per_class=4, draws=3, classes=3, seed=1)
    assert all(np.array_equal(one, other) for one, other in zip(draws, again, strict=True))
    assert not np.array_equal(draws[0], draws[1])
    assert few_label_probes(MEMORY, draws).shape == (3,)


def test_more_labels_are_worth_more():
    few, many = (
        few_label_probes(MEMORY, label_draws(LABELS, per_class=n, draws=5, classes=3)).mean()
        for n in (1, 40)
    )
    assert many > few + 0.05


def test_bad_input_gets_one_line():
    with pytest.raises(InputError, match="queries must have 6 features, got 5"):
        Memory.of(ROWS, LABELS, QUERIES[:, :5], TRUTH, classes=3)
    with pytest.raises(InputError, match="labels must number 2 classes from 0"):
        Memory.of(ROWS, LABELS, QUERIES, TRUTH, classes=2)
    with pytest.raises(InputError, match="labels must be whole numbers"):
        Memory.of(ROWS, LABELS * 1.0, QUERIES, TRUTH, classes=3)
    with pytest.raises(InputError, match="per_class must be at most 80, got 81"):
        label_draws(LABELS, per_class=81, draws=1, classes=3)
    with pytest.raises(InputError, match="penalty must be > 0"):
        ridge_probe(MEMORY, penalty=float("nan"))
