"""Many dense heads trained at once, each on its own part of the records and with its own seed.

Each head makes the steps of ``dense.train`` on its part alone: its own initial weights, its own
order of its records, means over its own batches. So it is the head that ``MLPHead.fit`` gives on
these rows, up to rounding in float32, which long training at a large step length may amplify.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import clone

from reticent.arrays import Flags, Floats, Integers
from reticent.training.dense import Layers, Recipe, _batches, _initial, _optimiser
from reticent.training.mlp_head import MLPHead
from reticent.training.stacked import Stack

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
        rows,
        labels,
        twin.recipe(rows.shape[1]),
        inside,
        seeds,
        threads=threads,
        on_done=on_done,
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
    wanted = torch.nn.functional.one_hot(torch.tensor(labels), recipe.sizes[-1]).float()
    order = np.argsort(inside.sum(axis=1), kind="stable")  # parts of similar size go together
    found: dict[int, Layers] = {}

    def trained(heads: Integers) -> list[Layers]:
        parts = [torch.tensor(np.flatnonzero(inside[head])) for head in heads]
        recipes = [replace(recipe, seed=int(seeds[head])) for head in heads]
        with torch.no_grad():
            return _trained(inputs, wanted, recipes, parts)

    with ThreadPoolExecutor(threads) as pool:
        groups = np.split(order, np.arange(0, len(order), _group_size(recipe, inside))[1:])
        for heads, layers in zip(groups, pool.map(trained, groups), strict=True):
            found |= dict(zip(heads.tolist(), layers, strict=True))
            if on_done is not None:
                on_done(len(found))
    return [found[head] for head in range(len(inside))]


def _group_size(recipe: Recipe, inside: Flags) -> int:
    batch = min(recipe.batch or inside.shape[1], int(inside.sum(axis=1).max()))
    return min(max(BYTES // (4 * batch * recipe.sizes[0]), 1), MOST_HEADS)


def _trained(inputs: Any, wanted: Any, recipes: list[Recipe], parts: list[Any]) -> list[Layers]:
    generators = [torch.Generator().manual_seed(recipe.seed) for recipe in recipes]
    pairs = list(zip(recipes, generators, strict=True))
    stack = Stack.of([_initial(*pair) for pair in pairs], recipes[0])
    optimiser = _optimiser(stack.parameters, recipes[0])
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
