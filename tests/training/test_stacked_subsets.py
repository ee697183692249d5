"""Dense heads on many parts at once against ``MLPHead.fit`` on each part."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

from reticent.training import MLPHead, dense
from reticent.training.dense import fit_parts
from reticent.validation import InputError

SEEDS = [5, 6, 7, 8, 9]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 60)
    return rng.standard_normal((60, 7)) + np.eye(4, 7)[labels], labels


@pytest.fixture(scope="module")
def inside(data):
    """Two that divide the records, one small, one nearly whole, one that lacks a class."""
    rng = np.random.default_rng(1)
    flags = np.zeros((5, 60), dtype=bool)
    flags[0, rng.permutation(60)[:30]] = True
    flags[1] = ~flags[0]
    flags[2, :11] = True
    flags[3, 1:] = True
    flags[4] = data[1] != 3
    return flags


def alone(head, data, rows, seed):
    return clone(head).set_params(seed=seed, classes=[0, 1, 2, 3]).fit(data[0][rows], data[1][rows])


def assert_same(models, head, data, inside):
    for model, rows, seed in zip(models, inside, SEEDS, strict=True):
        expected = alone(head, data, rows, seed)
        assert model.get_params() == expected.get_params()
        for (weight, bias), (true_weight, true_bias) in zip(
            model.weights_, expected.weights_, strict=True
        ):
            assert weight == pytest.approx(true_weight, abs=1e-6)
            assert bias == pytest.approx(true_bias, abs=1e-6)
        true = expected.predict_proba(data[0])  # of some ten weights each
        assert model.predict_proba(data[0]) == pytest.approx(true, abs=1e-5)


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("batch", [16, 25, None])
@pytest.mark.parametrize(
    ("layers", "activation"), [(1, "relu"), (2, "relu"), (2, "tanh"), (3, "tanh")]
)
def test_each_head_is_that_of_fit_on_its_part(data, inside, layers, activation, batch, optimiser):
    head = MLPHead(
        layers=layers,
        width=9,
        activation=activation,
        batch=batch,
        optimiser=optimiser,
        learning_rate=0.1 if optimiser == "sgd" else 0.01,
        penalty=1e-3,
        steps=40,
        bound=2.0,
    )
    assert_same(fit_parts(head, *data, inside, SEEDS), head, data, inside)


def test_groups_threads_and_progress_change_nothing(data, inside, monkeypatch):
    head, seen = MLPHead(layers=2, width=5, steps=20, batch=8), []
    monkeypatch.setattr(dense, "MOST_HEADS", 2)
    models = fit_parts(head, *data, inside, SEEDS, threads=2, on_done=seen.append)
    assert seen == [2, 4, 5]
    assert_same(models, head, data, inside)


def test_seeds_matter(data, inside):
    twice = np.stack([inside[0], inside[0], inside[0]])
    models = fit_parts(MLPHead(steps=5, batch=7), *data, twice, [1, 2, 1])
    one, other, again = (model.weights_[0][0] for model in models)
    assert np.array_equal(one, again)
    assert np.abs(one - other).max() > 1e-2


def test_the_size_of_a_group_follows_its_inputs(data, inside, monkeypatch):
    recipe = MLPHead(batch=16, classes=range(4))
    recipe.mapped_records(*data)
    monkeypatch.setattr(dense, "BYTES", 3 * 4 * 16 * 7)
    assert dense._group_size(recipe.recipe(7), inside) == 3


def test_weights_that_ran_away_are_refused(data, inside):
    head = MLPHead(optimiser="sgd", learning_rate=1e30, steps=20, penalty=1e10)
    with pytest.raises(InputError, match="weights must stay finite"):
        fit_parts(head, *data, inside, SEEDS)


def test_nothing_global_changes(data, inside):
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    head = MLPHead(steps=3)
    fit_parts(head, *data, inside, SEEDS)
    assert torch.equal(torch.rand(4), expected)
    assert vars(head) == vars(MLPHead(steps=3))
