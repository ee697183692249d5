"""Training dense layers on fixed features, with torch: fixed steps, one seed, nothing global.

Every random number comes from one ``torch.Generator``, every tensor names its device and type, so
neither torch's global generator nor its settings are read or changed.

The risk-averting loss of a batch is (1/α)·ln mean exp(α·loss) (Lo, Gui & Peng 2012; Dvijotham,
Fazel & Todorov 2014; Lu et al., Eq. 22, call it convexified). It lies between the mean (α → 0) and
the largest loss (α → ∞) of the records, and its gradient is that of the records weighted by
softmax(α·loss). For a network it is convex at no α (``reticent reproduce lu verdicts``).

Many heads are trained at once: each without one record, or each on its own part of the records.
Without one record, one product serves all heads. A head makes the steps of ``train`` on all
records, except that its removed record has weight 0: initial weights, the order of the records and
the divisor of each mean stay those of the full data. So heads without i and without j differ by
these two records alone. The risk-averting loss has no divisor: its mean is over the records that
are left.

On its own part, each head makes the steps of ``train`` with its own seed: its own initial
weights, its own order of its records, means over its own batches. So it is the head that
``MLPHead.fit`` gives on these rows, up to rounding in float32, which long training at a large step
length may amplify.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.base import clone

from reticent.arrays import ArrayLike, Flags, Floats, Integers
from reticent.training import optimisers
from reticent.training.mlp_head import MLPHead


def risk_averting(losses: Any, risk: float) -> Any:
    """(1/α)·ln mean exp(α·loss) over the first axis; at least one loss is needed.

    >>> round(float(risk_averting(torch.tensor([0.0, 2.0]), 1e-3)), 2)
    1.0
    >>> round(float(risk_averting(torch.tensor([0.0, 1e4]), 1.0)))
    9999
    """
    return (torch.logsumexp(risk * losses, dim=0) - math.log(len(losses))) / risk


def tilted(shares: Any, losses: Any, risk: float) -> Any:
    """What each record counts in the gradient: shares·e^{α·loss}, made to add up to 1 in each row.

    A record without a share keeps none; a row without any share stays 0.

    >>> tilted(torch.tensor([[0.5, 0.5, 0.0]]), torch.tensor([[0.0, 1e4, 9e9]]), 1.0).tolist()
    [[0.0, 1.0, 0.0]]
    """
    weights = torch.softmax(torch.log(shares) + risk * losses, dim=-1)
    return torch.where((shares > 0).any(dim=-1, keepdim=True), weights, 0.0)


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
        layers = initial_layers(recipe, generator)
        optimiser = optimiser_of(list(itertools.chain(*layers)), recipe)
        for chosen in itertools.islice(_batches(len(labels), recipe, generator), recipe.steps):
            optimiser.zero_grad()
            logits = _logits(inputs[chosen], layers, recipe)
            _loss(logits, targets[chosen], recipe.risk).backward()
            optimiser.step()
    return [(_numbers(weight), _numbers(bias)) for weight, bias in layers]


def initial_layers(recipe: Recipe, generator: torch.Generator) -> list[tuple[Any, Any]]:
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


def optimiser_of(parameters: list[Any], recipe: Recipe) -> torch.optim.Optimizer:
    """``weight_decay`` adds λw to the gradient: for both it is the penalty (λ/2)‖w‖²."""
    shared: dict[str, Any] = {
        "lr": recipe.learning_rate,
        "weight_decay": recipe.penalty,
        "fused": True,
    }
    if recipe.optimiser == "sgd":
        return optimisers.SGD(parameters, momentum=MOMENTUM, **shared)
    return optimisers.Adam(parameters, **shared)


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


COLUMNS = 4096
"""Outputs of all first layers in one product; more would leave the cache."""


def train_without(
    rows: Floats, labels: Integers, recipe: Recipe, removed: Integers
) -> list[Layers]:
    """The layers (W, b) of one head for each removed record; all share the recipe's seed."""
    inputs = torch.tensor(rows, dtype=torch.float32)
    one_hot = torch.nn.functional.one_hot(torch.tensor(labels), recipe.sizes[-1]).float()
    groups = torch.split(torch.tensor(np.asarray(removed)), max(1, COLUMNS // recipe.sizes[1]))
    with torch.no_grad():
        return [layers for group in groups for layers in _trained(inputs, one_hot, recipe, group)]


def _trained(inputs: Any, wanted: Any, recipe: Recipe, removed: Any) -> list[Layers]:
    generator = torch.Generator().manual_seed(recipe.seed)
    stack = SharedStack.of([initial_layers(recipe, generator)] * len(removed), recipe)
    optimiser = optimiser_of(stack.parameters, recipe)
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


class SharedStack(Stack):
    """Heads that see the same inputs, batch × features: one product for all first layers."""

    def _first_outputs(self, inputs: Any) -> Any:
        weight, bias = self.weights[0].flatten(0, 1), self.biases[0].flatten(0, 1)
        return torch.addmm(bias, weight, inputs.t()).view(*self.weights[0].shape[:2], len(inputs))


BYTES = 2**22
"""Of inputs that the heads of one group take at a step; more would leave the cache."""
MOST_HEADS = 64
"""Heads in one group."""


def fit_parts(  # noqa: PLR0913 - data, parts, and how to go about it
    head: MLPHead,
    X: ArrayLike,
    y: ArrayLike,
    inside: Flags,
    seeds: Sequence[int],
    *,
    threads: int = 1,
    on_done: Callable[[int], None] | None = None,
) -> list[MLPHead]:
    """What ``fit(X[rows], y[rows])`` gives a copy with this seed, for each row of ``inside``.

    Classes are those of all records where the head names none.
    """
    twin: MLPHead = clone(head)
    rows, labels = twin.mapped_records(X, y)
    trained = train_parts(
        rows, labels, twin.recipe(rows.shape[1]), inside, seeds, threads=threads, on_done=on_done
    )
    return [_placed(twin, seed, layers) for seed, layers in zip(seeds, trained, strict=True)]


def _placed(twin: MLPHead, seed: int, layers: Layers) -> MLPHead:
    model: MLPHead = clone(twin).set_params(seed=seed, classes=twin.classes_.tolist())
    model.classes_ = twin.classes_
    model.n_features_in_ = twin.n_features_in_
    return model.set_solution(layers)


def train_parts(  # noqa: PLR0913 - data, recipe, parts, and how to go about it
    rows: Floats,
    labels: Integers,
    recipe: Recipe,
    inside: Flags,
    seeds: Sequence[int],
    *,
    threads: int = 1,
    on_done: Callable[[int], None] | None = None,
) -> list[Layers]:
    """The layers (W, b) of one head for each row of ``inside`` (parts × records) and each seed."""
    inputs = torch.tensor(rows, dtype=torch.float32)
    one_hot = torch.nn.functional.one_hot(torch.tensor(labels), recipe.sizes[-1]).float()
    order = np.argsort(inside.sum(axis=1), kind="stable")  # parts of similar size go together
    layers_of: dict[int, Layers] = {}

    def trained(heads: Integers) -> list[Layers]:
        parts = [torch.tensor(np.flatnonzero(inside[head])) for head in heads]
        recipes = [replace(recipe, seed=int(seeds[head])) for head in heads]
        with torch.no_grad():
            return _trained_part(inputs, one_hot, recipes, parts)

    with ThreadPoolExecutor(threads) as pool:
        groups = np.split(order, np.arange(0, len(order), _group_size(recipe, inside))[1:])
        for heads, layers in zip(groups, pool.map(trained, groups), strict=True):
            layers_of |= dict(zip(heads.tolist(), layers, strict=True))
            if on_done is not None:
                on_done(len(layers_of))
    return [layers_of[head] for head in range(len(inside))]


def _group_size(recipe: Recipe, inside: Flags) -> int:
    batch = min(recipe.batch or inside.shape[1], int(inside.sum(axis=1).max()))
    return min(max(BYTES // (4 * batch * recipe.sizes[0]), 1), MOST_HEADS)


def _trained_part(
    inputs: Any, wanted: Any, recipes: list[Recipe], parts: list[Any]
) -> list[Layers]:
    generators = [torch.Generator().manual_seed(recipe.seed) for recipe in recipes]
    pairs = list(zip(recipes, generators, strict=True))
    stack = Stack.of([initial_layers(*pair) for pair in pairs], recipes[0])
    optimiser = optimiser_of(stack.parameters, recipes[0])
    orders = [
        _batches(len(part), recipe, generator)
        for part, (recipe, generator) in zip(parts, pairs, strict=True)
    ]
    batches = _Batches(inputs, wanted, parts)
    for _ in range(recipes[0].steps):
        stack.take_gradients(*batches.of([next(order) for order in orders]))
        optimiser.step()
    return stack.layers()


class _Batches:
    """The next records of each head, gathered into the same memory at every step."""

    def __init__(self, inputs: Any, wanted: Any, parts: list[Any]) -> None:
        self._inputs, self._wanted, self._parts = inputs, wanted, parts
        self._memory = torch.empty(0, inputs.shape[1])
        self._whole: tuple[Any, Any, Any] | None = None

    def of(self, chosen: list[Any]) -> tuple[Any, Any, Any]:
        """Inputs, wanted outputs and shares; of each head those places of its part."""
        if not all(isinstance(places, slice) for places in chosen):
            return self._gathered(chosen)
        if self._whole is None:  # all records at every step
            self._whole = self._gathered(chosen)
        return self._whole

    def _gathered(self, chosen: list[Any]) -> tuple[Any, Any, Any]:
        rows = [part[places] for part, places in zip(self._parts, chosen, strict=True)]
        # A shorter batch is filled up with the first record, which counts nothing there.
        index = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        counts = torch.tensor([[len(places)] for places in rows])
        shares = (torch.arange(index.shape[1]) < counts) / counts
        if len(self._memory) < index.numel():
            self._memory = torch.empty(index.numel(), self._inputs.shape[1])
        flat = torch.index_select(
            self._inputs, 0, index.view(-1), out=self._memory[: index.numel()]
        )
        return flat.view(*index.shape, -1), self._wanted[index].transpose(1, 2), shares
