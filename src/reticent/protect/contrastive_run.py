"""One training of a contrastive recipe: weights, optimiser, sums; and the encoder at work."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from reticent.arrays import Floats
from reticent.protect import network_run, noisy_query
from reticent.protect.recipe import Tensors
from reticent.protect.recipes.exact_rows import unit_rows
from reticent.training.contrastive import networks
from reticent.training.encoders.torch_extra import nn, torch
from reticent.training.gradients import SharedGradientSum, check_outputs
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect.recipes.contrastive import ContrastiveRecipe

_EXAMPLES: Final = 64
"""Random records for the checks."""
_SLOTS: Final = (64, 32, 16, 8, 1)
"""Rows that are encoded at a time: the first number at which no bit depends on the others."""
_SMALL: Final = 300_000


class ContrastiveRun(network_run.WeightsRun):
    """What training changes, and how the sum of a step is found."""

    gradients: SharedGradientSum

    def __init__(self, recipe: ContrastiveRecipe) -> None:
        model = recipe.network()
        self.views = networks.views_of(recipe.augmentation, recipe.features, recipe.image)
        self.draws = recipe.draws(self.views)
        count = _EXAMPLES if recipe.exact else 6
        rows, uniforms = networks.example_rows(recipe.features, self.draws, count)
        example = self.views.inputs(rows), uniforms, *recipe.example(count)
        gradients = SharedGradientSum(
            model,
            recipe.outputs(self.views),
            recipe.losses,
            released=recipe.stand_in(),
            clip=recipe.clip,
            example=example,
            physical=recipe.physical,
            exact=recipe.exact,
            like=network_run.checked_before(recipe),
        )
        network_run.keep_checked(recipe, gradients)
        super().__init__(model, gradients, recipe)
        if not noisy_query.is_replaced():
            recipe.check_machine(self, example)

    def encoder_tensors(self) -> Tensors:
        """The weights of the encoder, or their average, as they are released."""
        prefix = "encoder."
        return {
            name.removeprefix(prefix): np.asarray(one.numpy(), dtype=np.float64)
            for name, one in self.released().items()
            if name.startswith(prefix)
        }


def float32_rows(rows: Floats) -> torch.Tensor:
    """As a network reads them: beyond float32 a number is infinite, and its gradient zero."""
    with np.errstate(over="ignore"):
        return torch.from_numpy(np.asarray(rows, dtype=np.float32))


def unit_embeddings(outputs: Floats) -> Floats:
    """The embeddings of all views, (2n, k), at norm 1 on a grid; one that is not finite is zero."""
    rows = outputs.reshape(-1, outputs.shape[-1])
    finite = np.isfinite(rows).all(axis=1, keepdims=True)
    rows = np.where(finite, rows, 0.0)
    return unit_rows(rows, np.zeros(rows.shape[1]))


def encoded_rows(recipe: ContrastiveRecipe, tensors: Mapping[str, Floats], rows: Floats) -> Floats:
    """Features of rows, each a function of its row alone: batches have one size, as checked."""
    encoder = recipe.network().encoder.eval()
    encoder.load_state_dict({name: torch.tensor(one) for name, one in tensors.items()})
    slots = _encoding_slots(recipe.architecture, recipe.features, recipe.shape)
    inputs = networks.views_of(recipe.augmentation, recipe.features, recipe.image).inputs(
        float32_rows(rows)
    )
    features = np.zeros((len(rows), recipe.width))
    filled = torch.zeros(slots, *inputs.shape[1:])
    with torch.no_grad(), _OneThread(encoder):
        for start in range(0, len(rows), slots):
            part = inputs[start : start + slots]
            filled[: len(part)], filled[len(part) :] = part, 0
            features[start : start + slots] = encoder(filled)[: len(part)].numpy()
    return np.nan_to_num(features, posinf=0.0, neginf=0.0)


@lru_cache(maxsize=16)
def _encoding_slots(architecture: str, features: int, shape: str) -> int:
    """The largest number of rows at which a row's features do not depend on the others."""
    image = networks.image_shape(shape, features)
    network = networks.contrastive_network(architecture, features, image, width=1, seed=0)
    encoder = network.encoder.eval()
    rows, _ = networks.example_rows(features, 0, _EXAMPLES)
    if image is not None:
        rows = networks.views_of("natural", features, image).inputs(rows)
    with torch.no_grad(), _OneThread(encoder):
        for slots in _SLOTS:
            with suppress(InputError):
                check_outputs(encoder, lambda model, inputs: model(inputs), (rows,), slots)
                return slots
    raise InputError(f"{architecture} must give the same features of a row twice, got two")


class _OneThread:
    """Small networks are slower by two threads than by one."""

    def __init__(self, model: nn.Module) -> None:
        self.is_small = sum(one.numel() for one in model.parameters()) < _SMALL
        self.before = torch.get_num_threads()

    def __enter__(self) -> None:
        if self.is_small:
            torch.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        torch.set_num_threads(self.before)
