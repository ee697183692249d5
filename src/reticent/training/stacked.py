"""Many dense heads trained at once, each without one record: one product serves all of them.

A head makes the steps of ``dense.train`` on all records, except that its removed record has weight
0: initial weights, the order of the records and the divisor of each mean stay those of the full
data. So heads without i and without j differ by these two records alone.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from reticent.training.dense import Floats, Layers, Recipe, _batches, _initial, _optimiser

Rows = NDArray[np.int64]


COLUMNS = 4096
"""Outputs of all first layers in one product; more would leave the cache."""


def train_without(
    rows: Floats, labels: NDArray[np.int64], recipe: Recipe, removed: Rows
) -> list[Layers]:
    """The layers (W, b) of one head for each removed record; all share the recipe's seed."""
    inputs = torch.tensor(rows, dtype=torch.float32)
    wanted = torch.nn.functional.one_hot(torch.tensor(labels), recipe.sizes[-1]).float()
    groups = torch.split(torch.tensor(np.asarray(removed)), max(1, COLUMNS // recipe.sizes[1]))
    with torch.no_grad():
        return [layers for group in groups for layers in _trained(inputs, wanted, recipe, group)]


def _trained(inputs: Any, wanted: Any, recipe: Recipe, removed: Any) -> list[Layers]:
    generator = torch.Generator().manual_seed(recipe.seed)
    stack = _Stack.of(_initial(recipe, generator), len(removed), recipe.activation)
    optimiser = _optimiser(stack.parameters, recipe)
    every = torch.arange(len(inputs))
    for chosen in itertools.islice(_batches(len(inputs), recipe, generator), recipe.steps):
        stack.take_gradients(inputs[chosen], wanted[chosen], every[chosen][:, None] == removed)
        optimiser.step()
    return stack.layers()


@dataclass(frozen=True)
class _Stack:
    """Heads × layers: the first layer as one matrix d × (heads·width), the others one per head."""

    weights: list[Any]
    biases: list[Any]
    heads: int
    activation: str

    @classmethod
    def of(cls, layers: list[tuple[Any, Any]], heads: int, activation: str) -> _Stack:
        """Equal copies of one head."""
        first, bias = layers[0]
        weights, biases = [first.t().repeat(1, heads).contiguous()], [bias.repeat(heads)]
        for weight, bias in layers[1:]:
            weights.append(weight.t().expand(heads, -1, -1).contiguous())
            biases.append(bias.expand(heads, 1, -1).contiguous())
        return cls(weights, biases, heads, activation)

    @property
    def parameters(self) -> list[Any]:
        return [part.requires_grad_() for part in (*self.weights, *self.biases)]

    def take_gradients(self, inputs: Any, wanted: Any, masked: Any) -> None:
        """Put the gradient of each head's mean loss over its records of the batch in place."""
        outputs = self._outputs(inputs)
        wrong = torch.softmax(outputs[-1], dim=-1).sub_(wanted)
        wrong.masked_fill_(masked.t().unsqueeze(-1), 0.0).div_(max(len(inputs), 1))
        for layer in range(len(self.weights) - 1, 0, -1):
            below = outputs[layer - 1]
            self.weights[layer].grad = below.transpose(1, 2) @ wrong
            self.biases[layer].grad = wrong.sum(dim=1, keepdim=True)
            wrong = self._through(wrong @ self.weights[layer].transpose(1, 2), below)
        flat = wrong.transpose(0, 1).reshape(len(inputs), -1)
        self.weights[0].grad = inputs.t() @ flat
        self.biases[0].grad = flat.sum(dim=0)

    def _through(self, wrong: Any, activated: Any) -> Any:
        """Back through the activation, from what it gave."""
        if self.activation == "relu":
            return torch.ops.aten.threshold_backward(wrong, activated, 0)
        return torch.ops.aten.tanh_backward(wrong, activated)

    def _outputs(self, inputs: Any) -> list[Any]:
        """What each layer gives, heads × batch × width; the last without activation."""
        first = torch.addmm(self.biases[0], inputs, self.weights[0])
        outputs = [first.view(len(inputs), self.heads, -1).transpose(0, 1)]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            torch.tanh_(outputs[-1]) if self.activation == "tanh" else torch.relu_(outputs[-1])
            outputs.append(torch.baddbmm(bias, outputs[-1], weight))
        return outputs

    def layers(self) -> list[Layers]:
        """One list of (W, b) for each head."""
        first = self.weights[0].view(len(self.weights[0]), self.heads, -1).permute(1, 2, 0)
        weights = [first, *(weight.transpose(1, 2) for weight in self.weights[1:])]
        biases = [self.biases[0].view(self.heads, -1), *(bias[:, 0] for bias in self.biases[1:])]
        numbers = [
            (weight.double().numpy(), bias.double().numpy())
            for weight, bias in zip(weights, biases, strict=True)
        ]
        return [
            [(w[head].copy(), b[head].copy()) for w, b in numbers] for head in range(self.heads)
        ]
