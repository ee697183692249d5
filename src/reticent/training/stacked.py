"""Many dense heads trained at once, each without one record: one product serves all of them.

A head makes the steps of ``dense.train`` on all records, except that its removed record has weight
0: initial weights, the order of the records and the divisor of each mean stay those of the full
data. So heads without i and without j differ by these two records alone. The risk-averting loss has
no divisor: its mean is over the records that are left.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch

from reticent.arrays import Floats, Integers
from reticent.training.dense import Layers, Recipe, _batches, _initial, _optimiser
from reticent.training.risk_averting import tilted

COLUMNS = 4096
"""Outputs of all first layers in one product; more would leave the cache."""


def train_without(
    rows: Floats, labels: Integers, recipe: Recipe, removed: Integers
) -> list[Layers]:
    """The layers (W, b) of one head for each removed record; all share the recipe's seed."""
    inputs = torch.tensor(rows, dtype=torch.float32)
    wanted = torch.nn.functional.one_hot(torch.tensor(labels), recipe.sizes[-1]).float()
    groups = torch.split(torch.tensor(np.asarray(removed)), max(1, COLUMNS // recipe.sizes[1]))
    with torch.no_grad():
        return [layers for group in groups for layers in _trained(inputs, wanted, recipe, group)]


def _trained(inputs: Any, wanted: Any, recipe: Recipe, removed: Any) -> list[Layers]:
    generator = torch.Generator().manual_seed(recipe.seed)
    stack = _SharedStack.of([_initial(recipe, generator)] * len(removed), recipe)
    optimiser = _optimiser(stack.parameters, recipe)
    every = torch.arange(len(inputs))
    for chosen in itertools.islice(_batches(len(inputs), recipe, generator), recipe.steps):
        kept = every[chosen] != removed[:, None]
        stack.take_gradients(inputs[chosen], wanted[chosen].t(), kept / max(kept.shape[1], 1))
        optimiser.step()
    return stack.layers()


@dataclass(frozen=True)
class Stack:
    """Heads × layers. Each head sees inputs of its own: heads × batch × features.

    What layers give is heads × width × batch: with few classes, products in this order are several
    times as fast as in the other.
    """

    weights: list[Any]
    """Heads × outputs × inputs, of each layer."""
    biases: list[Any]
    """Heads × outputs × 1."""
    activation: str
    risk: float | None = None

    @classmethod
    def of(cls, heads: Sequence[Sequence[tuple[Any, Any]]], recipe: Recipe) -> Self:
        """From the layers of each head, as ``dense`` has them."""
        layers = list(zip(*heads, strict=True))
        weights = [torch.stack([weight for weight, _ in layer]) for layer in layers]
        biases = [torch.stack([bias[:, None] for _, bias in layer]) for layer in layers]
        return cls(weights, biases, recipe.activation, recipe.risk)

    @property
    def parameters(self) -> list[Any]:
        """All parameters of the stack, for an optimiser."""
        return [part.requires_grad_() for part in (*self.weights, *self.biases)]

    def take_gradients(self, inputs: Any, wanted: Any, shares: Any) -> None:
        """Put the gradient of each head's loss in place.

        ``wanted`` are labels, one-hot (classes × batch, for each head or for all), and ``shares``
        (heads × batch) what each record counts for its head: one over the number of its records,
        or 0. With a risk they are tilted towards large losses.
        """
        outputs = self._outputs(inputs)
        if self.risk is not None:
            own = (outputs[-1] * wanted).sum(dim=1)
            shares = tilted(shares, torch.logsumexp(outputs[-1], dim=1) - own, self.risk)
        wrong = torch.softmax(outputs[-1], dim=1).sub_(wanted).mul_(shares[:, None])
        for layer in range(len(self.weights) - 1, 0, -1):
            below = outputs[layer - 1]
            self._take_gradient(layer, wrong, below.transpose(1, 2))
            wrong = self._through(self.weights[layer].transpose(1, 2) @ wrong, below)
        self._take_gradient(0, wrong, inputs)

    def layers(self) -> list[Layers]:
        """One list of (W, b) for each head."""
        numbers = [
            (weight.double().numpy(), bias[:, :, 0].double().numpy())
            for weight, bias in zip(self.weights, self.biases, strict=True)
        ]
        heads = range(len(self.weights[0]))
        return [[(w[head].copy(), b[head].copy()) for w, b in numbers] for head in heads]

    def _outputs(self, inputs: Any) -> list[Any]:
        """What each layer gives; the last without activation."""
        outputs = [self._first_outputs(inputs)]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            torch.tanh_(outputs[-1]) if self.activation == "tanh" else torch.relu_(outputs[-1])
            outputs.append(torch.baddbmm(bias, weight, outputs[-1]))
        return outputs

    def _first_outputs(self, inputs: Any) -> Any:
        return torch.baddbmm(self.biases[0], self.weights[0], inputs.transpose(1, 2))

    def _through(self, wrong: Any, activated: Any) -> Any:
        """Back through the activation, from what it gave."""
        if self.activation == "relu":
            return torch.ops.aten.threshold_backward(wrong, activated, 0)
        return torch.ops.aten.tanh_backward(wrong, activated)

    def _take_gradient(self, layer: int, wrong: Any, inputs: Any) -> None:
        """``inputs`` of the layer as batch × features; the same memory at every step."""
        weight = self.weights[layer]
        if weight.grad is None:
            weight.grad = torch.empty_like(weight)
        if inputs.ndim == 3:
            torch.bmm(wrong, inputs, out=weight.grad)
        else:
            torch.mm(wrong.flatten(0, 1), inputs, out=weight.grad.flatten(0, 1))
        self.biases[layer].grad = wrong.sum(dim=2, keepdim=True)


class _SharedStack(Stack):
    """Heads that see the same inputs, batch × features: one product for all first layers."""

    def _first_outputs(self, inputs: Any) -> Any:
        weight, bias = self.weights[0].flatten(0, 1), self.biases[0].flatten(0, 1)
        return torch.addmm(bias, weight, inputs.t()).view(len(self.weights[0]), -1, len(inputs))
