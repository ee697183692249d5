"""The layer before the last: times the last weights it gives the logits."""

import numpy as np
import pytest
import torch

from reticent.attacks.reference import last_hidden
from reticent.attacks.targets import FunctionTarget, ModelTarget, TorchTarget
from reticent.training import MLPHead

X = np.random.default_rng(0).standard_normal((7, 5))


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("bound", [None, 0.5])
def test_of_a_head(activation, bound):
    head = MLPHead(layers=3, width=4, steps=2, activation=activation, bound=bound)
    target = ModelTarget(head.fit(X, [0, 1, 2, 0, 1, 2, 0]))
    weight, bias = head.weights_[-1]
    found = last_hidden(target, X)
    assert found.shape == (7, 4)
    assert found @ weight.T + bias == pytest.approx(target.logits(X))


def test_of_a_module_in_batches():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = torch.nn.Sequential(
            torch.nn.Linear(5, 4), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(4, 3)
        )
    target = TorchTarget(module, classes=range(3), batch=3)
    found = last_hidden(target, X)
    weight, bias = (part.detach().double().numpy() for part in module[-1].parameters())
    assert found @ weight.T + bias == pytest.approx(target.logits(X), abs=1e-6)
    assert module.training
    assert not module[-1]._forward_pre_hooks


def softmax(inputs):
    powers = np.exp(np.asarray(inputs)[:, :3])
    return powers / powers.sum(axis=1, keepdims=True)


class Flat(torch.nn.Module):
    """No Linear in it."""

    def forward(self, batch):
        return batch[:, :3] + 4.0


@pytest.mark.parametrize(
    "target",
    [
        FunctionTarget(softmax, classes=range(3)),
        TorchTarget(Flat(), classes=range(3)),
    ],
)
def test_of_any_other_model_centred_logits(target):
    expected = X[:, :3] - X[:, :3].mean(axis=1, keepdims=True)
    assert last_hidden(target, X) == pytest.approx(expected, abs=1e-6)


def test_of_a_head_without_a_hidden_layer():
    target = ModelTarget(MLPHead(layers=1, steps=2).fit(X, [0, 1, 2, 0, 1, 2, 0]))
    logits = target.logits(X)
    assert last_hidden(target, X) == pytest.approx(logits - logits.mean(axis=1, keepdims=True))
