"""Small networks by name, for private training: tanh, no batch norms, a public seed."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Final

from reticent.training.encoders.named import imported
from reticent.training.encoders.torch_extra import nn, torch
from reticent.validation import InputError

Builder = Callable[[tuple[int, ...], int], nn.Module]
"""From the shape of a record and the number of classes."""


def mlp(shape: tuple[int, ...], classes: int) -> nn.Module:
    """One hidden layer of 128 units."""
    return nn.Sequential(
        nn.Flatten(), nn.Linear(math.prod(shape), 128), nn.Tanh(), nn.Linear(128, classes)
    )


class _MaxPool(nn.MaxPool2d):
    """The same numbers with the channels last in memory, where torch is five times as fast."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The largest of each window."""
        pooled: torch.Tensor = super().forward(images.contiguous(memory_format=torch.channels_last))
        return pooled.contiguous()


def conv(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Two convolutions with tanh, as in Papernot et al. 2021; 26,010 weights at 1×28×28."""
    if len(shape) != 3:
        raise InputError(f"shape must be channels×height×width for conv, got {shape}")
    features = nn.Sequential(
        nn.Conv2d(shape[0], 16, 8, stride=2, padding=2),
        nn.Tanh(),
        _MaxPool(2, 1),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.Tanh(),
        _MaxPool(2, 1),
        nn.Flatten(),
    )
    try:
        width = features(torch.zeros(1, *shape)).shape[1]
    except RuntimeError:
        raise InputError(f"shape must be at least 1×18×18 for conv, got {shape}") from None
    return nn.Sequential(*features, nn.Linear(width, 32), nn.Tanh(), nn.Linear(32, classes))


NETWORKS: Final[dict[str, Builder]] = {"mlp": mlp, "conv": conv}


def network(name: str, shape: tuple[int, ...], classes: int, *, seed: int) -> nn.Module:
    """A network with its first weights drawn from a public seed.

    ``name`` is one of ``NETWORKS`` or ``package.module:function`` of a function that is called with
    the shape of a record and the number of classes.
    """
    builder = NETWORKS.get(name) or imported(name, kind="network")
    if not callable(builder):
        raise InputError(f"network {name!r} must be a function, got {type(builder).__name__}")
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = builder(shape, classes)
        if name not in NETWORKS:
            model = copy.deepcopy(model)  # a foreign builder may give the same one twice
    if not isinstance(model, nn.Module):
        raise InputError(f"{name} must return a torch module, got {type(model).__name__}")
    return model.to(torch.float32).train()
