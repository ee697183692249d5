"""One training of the recipe ``network``: weights, optimiser, and the sums of clipped gradients."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from reticent.arrays import Array, Floats
from reticent.protect.noisy_query import is_replaced, record_uniforms
from reticent.protect.recipe import Recipe
from reticent.protect.recipes import network_views
from reticent.training import optimisers
from reticent.training.encoders.torch_extra import functional, nn, torch
from reticent.training.fine_tuning.partly import PartlyTrained, example_batches, grouped
from reticent.training.gradients import GradientSum, random_batch
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect.recipes.network import NetworkRecipe

Records = tuple[GradientSum, torch.Tensor, torch.Tensor, torch.Tensor]
"""Of one shape: how their sum is found, their places among all, inputs and labels."""
_EXAMPLES: Final = 64
_SPREAD: Final = 3
"""Random records for the checks, and between which powers of two their sizes are."""
_OF_TRAINING: Final = frozenset(
    {
        *("records", "batch", "epochs", "clip", "learning_rate", "momentum", "optimiser"),
        *("average", "mechanism", "head_share", "start", "start_sha256"),
    }
)
"""Numbers of a recipe that change neither its network nor how a gradient is computed."""
_KEPT: Final = 64
_AUDITED: Final[dict[Hashable, GradientSum]] = {}
"""Those that audits and shadows ran: what they run again is not checked again. Whatever is
released is."""


class Optimised(Protocol):
    """The public numbers of a recipe that an optimiser is built from."""

    @property
    def learning_rate(self) -> float:
        """The step size of the optimiser, before a schedule of the recipe's."""

    @property
    def momentum(self) -> float:
        """Of SGD, or the decay of Adam's first moment."""

    @property
    def optimiser(self) -> str:
        """The name of the optimiser: sgd or adam."""

    @property
    def average(self) -> float:
        """Decay of a moving average of the weights; 0 for none."""


class WeightsRun:
    """What training changes: weights, what the optimiser keeps, and the weights' moving average."""

    def __init__(self, model: nn.Module, gradients: GradientSum, recipe: Optimised) -> None:
        self.model, self.gradients = model, gradients
        rate, kept = recipe.learning_rate, recipe.momentum
        parameters = gradients.clipper.parameters
        self.optimiser: torch.optim.Optimizer = (
            optimisers.SGD(parameters, lr=rate, momentum=kept)
            if recipe.optimiser == "sgd"
            else optimisers.Adam(parameters, lr=rate, betas=(kept, 0.999))
        )
        self.decay, self.rate = recipe.average, rate
        self.averages = {name: one.clone() for name, one in self._weights().items()}

    def step(self, mean: Floats, *, factor: float = 1.0) -> None:
        """One step of the optimiser along a noisy gradient, at this part of the learning rate."""
        self.gradients.set_gradients(mean)
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate * factor
        self.optimiser.step()
        if self.decay:
            with torch.no_grad():
                for name, one in self._weights().items():
                    self.averages[name].lerp_(one, 1 - self.decay)

    def released(self) -> dict[str, torch.Tensor]:
        """The weights, or their average."""
        return self.averages if self.decay else self._weights()

    def state(self) -> dict[str, torch.Tensor]:
        """All that the next step depends on beside the records."""
        tensors = optimised_state(self.model, self.optimiser)
        tensors |= {f"averages.{name}": one for name, one in self.averages.items()}
        return tensors

    def restore(self, state: Mapping[str, torch.Tensor]) -> None:
        """Go back to a saved state; tensors of other shapes are a ``RuntimeError``."""
        restore_optimised(state, self.model, self.optimiser)
        for name, one in self.averages.items():
            one.copy_(_shaped(state[f"averages.{name}"], one))

    def _weights(self) -> dict[str, torch.Tensor]:
        return _trained(self.model)


def optimised_state(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """The trained weights, and what the optimiser keeps of them."""
    tensors = {f"weights.{name}": one for name, one in _trained(model).items()}
    return tensors | {
        f"optimiser.{place}.{name}": value
        for place, kept in optimiser.state_dict()["state"].items()
        for name, value in kept.items()
        if value is not None
    }


def restore_optimised(
    state: Mapping[str, torch.Tensor], model: nn.Module, optimiser: torch.optim.Optimizer
) -> None:
    """Back into both; tensors of other shapes are a ``RuntimeError``."""
    for name, one in _trained(model).items():
        one.copy_(_shaped(state[f"weights.{name}"], one))
    parameters = [one for one in model.parameters() if one.requires_grad]
    for place, parameter in enumerate(parameters):
        prefix = f"optimiser.{place}."
        for key in (one for one in state if one.startswith(prefix)):
            kept = state[key] if state[key].ndim == 0 else _shaped(state[key], parameter)
            optimiser.state[parameter][key.removeprefix(prefix)] = kept


def _trained(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: one.detach() for name, one in model.named_parameters() if one.requires_grad}


def _shaped(value: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    if value.shape != like.shape:
        raise RuntimeError("a saved tensor must have the shape of its weight")
    return value


class NetworkRun(WeightsRun):
    """One training of a classifier; records of each shape have batches and checks of their own."""

    def __init__(self, recipe: NetworkRecipe, model: nn.Module) -> None:
        def loss(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            return functional.cross_entropy(model(images), labels, reduction="none")

        self.views = network_views.views_of(recipe) if recipe.augmentation else None
        self.draws = 0 if self.views is None else self.views.draws(recipe.record_shape)
        self.sums = {
            shape: GradientSum(
                model,
                loss if self.views is None else self.views.loss(loss),
                clip=recipe.clip,
                example=example,
                physical=recipe.slots,
                exact=recipe.exact,
                like=checked_before(recipe, shape),
            )
            for shape, example in _examples(recipe, model, self.draws).items()
        }
        for shape, one in self.sums.items():
            keep_checked(recipe, one, shape)
        super().__init__(model, next(iter(self.sums.values())), recipe)
        if self.gradients.size != recipe.size:
            raise InputError(f"{recipe.architecture} must build one network, got two sizes")
        if getattr(model, "public_weights", "") != recipe.public_weights:
            raise InputError(f"{recipe.architecture} must keep its public weights, got others")

    def prepared(self, rows: torch.Tensor, labels: torch.Tensor) -> list[Records]:
        """All records as the trained part of the network sees them."""
        return [
            (self.sums[tuple(inputs.shape[1:])], places, inputs, labels[places])
            for places, inputs in grouped(self.model, rows)
        ]

    def total(self, records: list[Records], taken: Array) -> Floats:
        """The sum of the clipped gradients of the records at these places."""
        total = np.zeros(self.gradients.size)
        for gradients, places, inputs, labels in records:
            rows = np.flatnonzero(np.isin(places.numpy(), taken))
            total += gradients.of(self._batch(inputs[rows], labels[rows]))
        return total

    def _batch(self, inputs: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """What the loss reads of records: before them, where they have views, numbers for these."""
        if not self.draws:
            return inputs, labels
        rows = inputs.flatten(1).double().numpy()
        drawn = record_uniforms(rows, labels.numpy(), self.draws)
        return torch.from_numpy(drawn), inputs, labels


def checked_before(recipe: Recipe, shape: tuple[int, ...] = ()) -> GradientSum | None:
    """In an audit: the sum of the same network on records of this shape that was checked before."""
    return _AUDITED.get(_checked_numbers(recipe, shape)) if is_replaced() else None


def keep_checked(recipe: Recipe, gradients: GradientSum, shape: tuple[int, ...] = ()) -> None:
    """In an audit: what was checked now serves the next pair."""
    if not is_replaced():
        return
    while len(_AUDITED) >= _KEPT:
        del _AUDITED[next(iter(_AUDITED))]
    _AUDITED[_checked_numbers(recipe, shape)] = gradients


def _checked_numbers(recipe: Recipe, shape: tuple[int, ...]) -> Hashable:
    """All that the checks before the first step depend on."""
    numbers = recipe.to_dict()
    from_head = bool(numbers.get("head_share") or numbers.get("start"))
    kept = repr({name: one for name, one in numbers.items() if name not in _OF_TRAINING})
    return type(recipe), from_head, kept, shape


def _examples(
    recipe: NetworkRecipe, model: nn.Module, draws: int
) -> dict[tuple[int, ...], tuple[torch.Tensor, ...]]:
    """Random records, labels and numbers for views, for the checks, by the shape of a record."""
    count = _EXAMPLES if recipe.exact else 6
    like = (torch.zeros(recipe.record_shape), torch.zeros((), dtype=torch.int64))
    rows, labels = random_batch(like, count, values=recipe.classes, spread=_SPREAD)
    if not isinstance(model, PartlyTrained):
        generator = torch.Generator().manual_seed(0)
        uniforms = (torch.rand(count, draws, generator=generator),) if draws else ()
        return {recipe.record_shape: (*uniforms, rows, labels)}
    batches = example_batches(model, count)
    return {shape: (inputs, labels) for shape, inputs in batches.items()}
