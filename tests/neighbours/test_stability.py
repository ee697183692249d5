"""Leave-one-out losses against plain refits, and what noise does to them."""

import numpy as np
import pytest
from sklearn.base import clone

from reticent.data import load
from reticent.neighbours.stability import losses, removed_from_head, removed_from_network
from reticent.training import MLPHead, SoftmaxHead
from reticent.validation import InputError

CLASSES = list(range(10))


@pytest.fixture(scope="module")
def data():
    digits = load("digits")
    return digits.features[:60].astype(np.float64), np.asarray(digits.labels)[:60]


@pytest.fixture(scope="module")
def head():
    return SoftmaxHead(penalty=0.02, bound=8.0, classes=CLASSES, intercept=0.1)


@pytest.fixture(scope="module")
def removed(head, data):
    return removed_from_head(head, *data)


def test_heads_of_the_averaged_loss_are_those_of_refits(head, data, removed):
    X, y = data
    exact = clone(head).set_params(tolerance=1e-9)
    full = clone(exact).fit(X, y)
    assert removed.full == pytest.approx(full.logits(X), abs=1e-5)
    for i in (0, 31, 59):
        kept = np.delete(np.arange(60), i)
        other = clone(exact).fit(X[kept], y[kept])  # its normaliser is 59
        assert removed.without[i] == pytest.approx(other.logits(X[[i]])[0], abs=1e-4)
        apart = np.linalg.norm(other.weights_ - full.weights_)
        assert removed.distances[i] == pytest.approx(apart, rel=1e-3)
        rise = losses(other.logits(X[[i]]), y[[i]]) - losses(full.logits(X[[i]]), y[[i]])
        assert removed.rises[i] == pytest.approx(rise[0], abs=1e-4)


def test_a_record_that_is_left_out_has_a_larger_loss(removed):
    """By the optimality of both heads, for every record."""
    assert (removed.rises > 0).all()


def test_noise_of_zero_changes_nothing(removed):
    both, one = removed.under_gaussian_noise(0.0, draws=2, rng=np.random.default_rng(0))
    assert both == pytest.approx(np.tile(removed.rises, (2, 1)))
    assert one == pytest.approx(both)


def test_noise_on_both_heads_is_noise_on_the_weights(head, data, removed):
    """Logits of noisy weights have the law that the rows' norms say."""
    X, y = data
    rng = np.random.default_rng(1)
    std, draws = 0.2, 2_000
    rows = np.hstack([X, np.full((60, 1), 0.8)])
    assert removed.norms == pytest.approx(np.linalg.norm(rows, axis=1))
    noise, label = std * rng.standard_normal((draws, 10, 65)) @ rows[7], np.full(draws, y[7])
    expected = losses(removed.without[7] + noise, label) - losses(removed.full[7] + noise, label)
    both, _ = removed.under_gaussian_noise(std, draws=draws, rng=rng)
    found = both[:, 7]
    error = np.hypot(expected.std(), found.std()) / np.sqrt(draws)
    assert abs(expected.mean() - found.mean()) < 6 * error


def test_noise_makes_digits_less_stable(removed):
    """Corollary 3 of Lu et al. says the opposite; its own figure goes down instead."""
    both, one = removed.under_gaussian_noise(0.3, draws=100, rng=np.random.default_rng(2))
    means = both.mean(axis=1)
    assert means.mean() - removed.rises.mean() > 10 * means.std() / 10
    assert one.mean() < 0


@pytest.mark.parametrize("risk", [None, 2.0])
def test_networks_are_those_of_stacked_training(data, risk):
    X, y = data[0][:30], data[1][:30]
    network = MLPHead(layers=2, width=5, activation="tanh", steps=30, classes=CLASSES, risk=risk)
    removed = removed_from_network(network, X, y)
    full = clone(network).fit(X, y)
    assert removed.full == pytest.approx(full.logits(X))
    kept = np.arange(1, 30)
    other = clone(network).fit(X[kept], y[kept])
    if risk is not None:  # it has no divisor, and one batch holds all records
        assert removed.without[0] == pytest.approx(other.logits(X[[0]])[0], abs=1e-3)
    (w, b), _ = full.weights_
    hidden = np.hstack([np.tanh(X @ w.T + b), np.ones((30, 1))])
    assert removed.norms == pytest.approx(np.linalg.norm(hidden, axis=1))
    assert removed.distances.shape == (30,)
    assert removed.distances.min() > 0


def test_another_normaliser_is_refused(head, data):
    with pytest.raises(InputError, match="records must be the number of rows"):
        removed_from_head(clone(head).set_params(records=61), *data)
