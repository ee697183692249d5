"""Training dense layers on fixed features, with torch: fixed steps, one seed, nothing global.

Every random number comes from one ``torch.Generator``, every tensor names its device and type, so
neither torch's global generator nor its settings are read or changed.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch

from reticent.arrays import Floats, Integers
from reticent.training.risk_averting import risk_averting

Layers = list[tuple[Floats, Floats]]

MOMENTUM = 0.9
_CPU = torch.device("cpu")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What is fixed before the data are seen."""

    sizes: tuple[int, ...]
    """Features, hidden widths, classes."""
    activation: Literal["relu", "tanh"]
    penalty: float
    optimiser: Literal["adam", "sgd"]
    learning_rate: float
    steps: int
    batch: int | None
    seed: int
    risk: float | None = None
    """α of the risk-averting loss; None for the mean loss."""


def train(rows: Floats, labels: Integers, recipe: Recipe) -> Layers:
    """The layers (W, b) after the recipe's steps on the loss of each batch + (λ/2)‖all weights‖².

    The loss is the mean cross-entropy, or with α the risk-averting one of the same records.
    """
    generator = torch.Generator(device=_CPU).manual_seed(recipe.seed)
    inputs = torch.tensor(rows, dtype=torch.float32, device=_CPU)
    targets = torch.tensor(labels, dtype=torch.int64, device=_CPU)
    with torch.inference_mode(mode=False), torch.enable_grad():
        layers = _initial(recipe, generator)
        optimiser = _optimiser(list(itertools.chain(*layers)), recipe)
        for chosen in itertools.islice(_batches(len(labels), recipe, generator), recipe.steps):
            optimiser.zero_grad()
            logits = _logits(inputs[chosen], layers, recipe)
            _loss(logits, targets[chosen], recipe.risk).backward()
            optimiser.step()
    return [(_numbers(weight), _numbers(bias)) for weight, bias in layers]


def _initial(recipe: Recipe, generator: torch.Generator) -> list[tuple[Any, Any]]:
    """Glorot and Bengio's uniform weights (2010), with the activation's gain; biases of 0."""
    layers: list[tuple[Any, Any]] = []
    for inputs, outputs in pairwise(recipe.sizes):
        last = len(layers) == len(recipe.sizes) - 2
        gain = torch.nn.init.calculate_gain("linear" if last else recipe.activation)
        weight = torch.empty(outputs, inputs, dtype=torch.float32, device=_CPU)
        torch.nn.init.xavier_uniform_(weight, gain=gain, generator=generator)
        bias = torch.zeros(outputs, dtype=torch.float32, device=_CPU)
        layers.append((weight.requires_grad_(), bias.requires_grad_()))
    return layers


def _optimiser(parameters: list[Any], recipe: Recipe) -> torch.optim.Optimizer:
    """``weight_decay`` adds λw to the gradient: for both it is the penalty (λ/2)‖w‖²."""
    shared: dict[str, Any] = {
        "lr": recipe.learning_rate,
        "weight_decay": recipe.penalty,
        "fused": True,
    }
    if recipe.optimiser == "sgd":
        return torch.optim.SGD(parameters, momentum=MOMENTUM, **shared)
    return torch.optim.Adam(parameters, **shared)


def _batches(records: int, recipe: Recipe, generator: torch.Generator) -> Iterator[Any]:
    """Without end: all records, or one shuffled pass after another in parts of ``batch``.

    The order depends on the seed and the number of records alone, so that data sets which differ
    in one replaced record are seen in the same order.
    """
    if recipe.batch is None or recipe.batch >= records:
        yield from itertools.repeat(slice(None))
    else:
        while True:
            order = torch.randperm(records, generator=generator, device=_CPU)
            yield from torch.split(order, recipe.batch)


def _logits(inputs: Any, layers: list[tuple[Any, Any]], recipe: Recipe) -> Any:
    activate = torch.tanh if recipe.activation == "tanh" else torch.relu
    for weight, bias in layers[:-1]:
        inputs = activate(torch.nn.functional.linear(inputs, weight, bias))
    return torch.nn.functional.linear(inputs, *layers[-1])


def _loss(logits: Any, targets: Any, risk: float | None) -> Any:
    """0 without records, where the mean is not a number."""
    if risk is None or len(targets) == 0:
        total = torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
        return total / max(len(targets), 1)
    losses = torch.nn.functional.cross_entropy(logits, targets, reduction="none")
    return risk_averting(losses, risk)


def _numbers(tensor: Any) -> Floats:
    return np.asarray(tensor.detach().numpy(), dtype=np.float64)
