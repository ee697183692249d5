"""Our optimisers take the steps of torch's, and load no compiler."""

import subprocess
import sys

import pytest
import torch

from reticent.training import optimisers

KINDS = {
    "SGD": {"momentum": 0.9, "weight_decay": 0.01, "fused": True},
    "Adam": {"weight_decay": 0.01, "fused": True},
    "AdamW": {"weight_decay": 0.01},
}
CODE = """
import sys
import numpy as np
from reticent.attacks import gradient_network
from reticent.training import MLPHead
rows = np.random.default_rng(0).normal(size=(20, 3))
for name in ("sgd", "adam"):
    MLPHead(layers=2, steps=2, optimiser=name).fit(rows, np.arange(20) % 2)
print("torch._dynamo" in sys.modules)
"""


def trained(kind, settings, *, stopped=False):
    """Weights after eight steps, in one go or from a saved state on."""
    weights = [
        torch.linspace(-1, 1, 6).reshape(2, 3).requires_grad_(),
        torch.ones(2).requires_grad_(),
    ]
    steps = kind(weights, lr=0.1, **settings)
    for step in range(8):
        if stopped and step == 4:
            kept = steps.state_dict()
            steps = kind(weights, lr=0.1, **settings)
            steps.load_state_dict(kept)
        steps.zero_grad()
        (weights[0] ** 4).sum().add(torch.sin(weights[1]).sum()).backward()
        steps.step()
    assert not any(one.grad_fn for one in weights)
    return torch.cat([one.detach().flatten() for one in weights])


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_every_bit_is_torchs(name, stopped):
    ours = trained(getattr(optimisers, name), KINDS[name], stopped=stopped)
    assert torch.equal(ours, trained(getattr(torch.optim, name), KINDS[name]))


def test_training_loads_no_compiler():
    """It would take as long as torch itself, at the start of every command that trains."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
