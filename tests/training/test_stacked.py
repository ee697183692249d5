"""Stacked training against one head after the other, written with torch's own layers."""

import itertools

import numpy as np
import pytest
import torch

from reticent.training import dense
from reticent.training.dense import train_without

REMOVED = np.array([0, 17, 55, 17])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 60)
    return rng.standard_normal((60, 7)) + np.eye(4, 7)[labels], labels


def recipe(**settings):
    usual = {
        "sizes": (7, 4),
        "activation": "relu",
        "penalty": 1e-3,
        "optimiser": "sgd",
        "learning_rate": 0.1,
        "steps": 60,
        "batch": 16,
        "seed": 5,
    }
    return dense.Recipe(**usual | settings)


def one_by_one(rows, labels, plan, removed):
    """A plain loop of autograd over one head, in which the removed record weighs nothing."""
    generator = torch.Generator().manual_seed(plan.seed)
    inputs, targets = torch.tensor(rows, dtype=torch.float32), torch.tensor(labels)
    weights = torch.ones(len(rows))
    weights[removed] = 0
    layers = dense.initial_layers(plan, generator)
    optimiser = dense.optimiser_of(list(itertools.chain(*layers)), plan)
    batches = dense._batches(len(rows), plan, generator)
    for chosen in itertools.islice(batches, plan.steps):
        optimiser.zero_grad()
        logits = dense._logits(inputs[chosen], layers, plan)
        losses = torch.nn.functional.cross_entropy(logits, targets[chosen], reduction="none")
        ((losses * weights[chosen]).sum() / len(losses)).backward()
        optimiser.step()
    return [(w.detach().numpy(), b.detach().numpy()) for w, b in layers]


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("batch", [16, None])
@pytest.mark.parametrize(
    ("sizes", "activation"),
    [((7, 4), "relu"), ((7, 9, 4), "relu"), ((7, 9, 4), "tanh"), ((7, 6, 5, 4), "tanh")],
)
def test_weights_are_those_of_a_loop(data, sizes, activation, batch, optimiser):
    plan = recipe(
        sizes=sizes,
        activation=activation,
        batch=batch,
        optimiser=optimiser,
        learning_rate=0.1 if optimiser == "sgd" else 0.01,
    )
    found = train_without(*data, plan, REMOVED)
    for head, removed in zip(found, REMOVED, strict=True):
        expected = one_by_one(*data, plan, removed)
        for (weight, bias), (true_weight, true_bias) in zip(head, expected, strict=True):
            assert weight == pytest.approx(true_weight, abs=1e-6)
            assert bias == pytest.approx(true_bias, abs=1e-6)


def test_removed_records_matter_and_equal_ones_give_equal_heads(data):
    found = train_without(*data, recipe(), REMOVED)
    assert np.array_equal(found[1][0][0], found[3][0][0])
    assert np.abs(found[0][0][0] - found[1][0][0]).max() > 1e-4


def test_groups_of_heads_change_nothing(data, monkeypatch):
    plan = recipe(sizes=(7, 9, 4))
    at_once = train_without(*data, plan, REMOVED)
    monkeypatch.setattr(dense, "COLUMNS", 27)
    in_groups = train_without(*data, plan, REMOVED)
    assert len(in_groups) == len(REMOVED)
    for one, other in zip(at_once, in_groups, strict=True):
        assert one[0][0] == pytest.approx(other[0][0], abs=1e-6)


def test_no_steps_leave_the_initial_weights(data):
    plan = recipe(steps=0, sizes=(7, 3, 4))
    first, second = train_without(*data, plan, REMOVED)[:2]
    expected = dense.train(*data, plan)
    for one, other, true in zip(first, second, expected, strict=True):
        assert np.array_equal(one[0], true[0])
        assert np.array_equal(other[0], true[0])


def test_torchs_global_generator_is_left_alone(data):
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    train_without(*data, recipe(), REMOVED)
    assert torch.equal(torch.rand(4), expected)
