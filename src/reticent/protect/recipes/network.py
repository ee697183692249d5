"""A network by DP-SGD: noisy sums of clipped per-example gradients over Poisson samples.

Abadi et al. 2016, Algorithm 1, with the changes that a proof from the user's bytes needs
(docs/theory.md E.5): secret coins, a public normaliser, a gradient that is a function of one record
to the last bit, norms and sums in float64, and noise on a grid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import numpy as np

from reticent import bounds
from reticent.arrays import Array, Floats
from reticent.data.cells import SCHEMA_STATED
from reticent.guarantee import Relation
from reticent.guarantee.guarantee import checked_by
from reticent.protect.certified_head import NO_SEARCH
from reticent.protect.noisy_query import is_replaced, sampled_records
from reticent.protect.recipe import Plan, Recipe, Step, Tensors
from reticent.protect.recipes.linear import NOISY_SUMS, OWN_CLASS
from reticent.protect.terms import Terms
from reticent.protect.training_progress import training_progress
from reticent.validation import InputError, count

if TYPE_CHECKING:
    from reticent.training.encoders.torch_extra import nn, torch
    from reticent.training.gradients import GradientSum

GRADIENTS: Final = "gradients"
BATCH: Final = 512
"""Where nothing is said. Batch, clip and momentum are those of Tramèr & Boneh 2021 for the network
``conv`` on MNIST; the learning rate is twice theirs, for fewer epochs."""
_EXAMPLES: Final = 64
_SPREAD: Final = 3
"""Random records for the checks, and between which powers of two their sizes are."""
_SLOTS = checked_by(
    "a record's gradient has the same bits in every slot of a batch, whatever the others hold",
    "training.gradients.check.check_slots",
)
_PER_EXAMPLE = checked_by(
    "what is clipped is each record's own gradient: on random records it is that of autograd on the"
    " record alone",
    "training.gradients.check.check_gradients",
)
_COINS = checked_by(
    "each step sees each record with the public rate, by secret coins",
    "protect.noisy_query.sampled_records",
)
_STATED: Final = (
    "one record is one row of features and its label; the map from raw data to features is fixed "
    "and looks at one record at a time",
    "network, first weights, classes, normaliser, batch, epochs, clip, learning rate, mechanism and"
    " ε were chosen without looking at the private data",
    NO_SEARCH,
    SCHEMA_STATED,
    "the data set has at most 2N records, N the public normaliser",
    "the order in which torch's kernels add depends on shapes and the number of threads alone, not"
    " on the numbers that they add, nor on load",
    "nothing else computed from the private data is published: no loss, accuracy, timing or size of"
    " a sample, nor that a job on them failed",
)
_FAST: Final = (
    "fast mode: gradients, norms and sums are kept in float32, whose rounding has no useful bound: "
    "a record is taken to move the sum by no more than the clip"
)
_CUSTOM: Final = (
    "the network's own code keeps no state, draws no random numbers and has no other output than "
    "its scores"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkRecipe(Recipe):
    """A classifier by DP-SGD from public first weights."""

    name: ClassVar[str] = "network"
    options: ClassVar[tuple[str, ...]] = (
        "architecture",
        "shape",
        "batch",
        "epochs",
        "clip",
        "learning_rate",
        "momentum",
        "average",
        "exact",
        "physical",
        "seed",
    )

    records: int
    features: int
    classes: int
    mechanism: str
    architecture: str = "mlp"
    shape: str = ""
    """Of a record, as 1x28x28; one vector where nothing is said."""
    batch: int = BATCH
    epochs: float = 20.0
    clip: float = 0.1
    learning_rate: float = 1.0
    momentum: float = 0.9
    average: float = 0.0
    """Decay of an exponential moving average of the weights, which is then released; 0 for none."""
    exact: bool = True
    physical: int = 64
    seed: int = 0

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """With a batch of all records where nothing is said and no theorem covers samples."""
        if options.get("batch") is None:
            sampled = terms.relation is Relation.ADD_REMOVE and terms.records_touched == 1
            options = {**options, "batch": BATCH if sampled else numbers["records"]}
        return cls(**numbers, **options)

    def __post_init__(self) -> None:
        """Numbers that do not go together are refused before anything is planned."""
        if min(self.record_shape) < 1 or math.prod(self.record_shape) != self.features:
            raise InputError(f"shape must hold {self.features} numbers, got {self.shape!r}")
        for name in ("batch", "physical"):
            count(name, getattr(self, name))
        count("seed", self.seed, at_least=0)
        if not max(self.batch, self.physical, self.seed) < 2**53:
            raise InputError("batch, physical and seed must be below 2**53, got a larger number")
        if not 0 < self.epochs * self.records / self.batch < 1e9:
            raise InputError(f"epochs must give between 1 and 10⁹ steps, got {self.epochs}")
        if not self.momentum < 1 or not self.average < 1:
            raise InputError("momentum and average must be below 1, got a larger number")

    @property
    def record_shape(self) -> tuple[int, ...]:
        """Of one record, as the network sees it."""
        if not self.shape:
            return (self.features,)
        try:
            return tuple(int(part) for part in self.shape.split("x"))
        except ValueError:
            raise InputError(f"shape must be written as 1x28x28, got {self.shape!r}") from None

    @property
    def rate(self) -> float:
        """The probability with which a step sees a record."""
        return min(1.0, self.batch / self.records)

    @property
    def steps_taken(self) -> int:
        """As many as see N records so many times."""
        return max(1, math.ceil(self.epochs / self.rate))

    @property
    def checked(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the code makes sure of; of bits in exact mode alone."""
        return (_PER_EXAMPLE, *((_SLOTS,) if self.exact else ()), _COINS, NOISY_SUMS, OWN_CLASS)

    @property
    def stated(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the user states; of code that is not the package's own too."""
        from reticent.training.networks import NETWORKS

        return _STATED if self.architecture in NETWORKS else (*_STATED, _CUSTOM)

    @property
    def unproven(self) -> tuple[str, ...]:
        """The rounding of float32, in fast mode."""
        return () if self.exact else (_FAST,)

    def steps(self, terms: Terms) -> dict[str, Step]:
        """One kind of query: the clipped gradient sum of a sample, as often as there are steps."""
        if terms.records_touched > 1 and self.rate < 1:
            raise InputError(
                "max_records_per_person must be 1 for samples, whose coins are one for each record,"
                f" got {terms.records_touched}: say 1, or a batch of all records"
            )
        if terms.relation is not Relation.ADD_REMOVE and self.rate < 1:
            raise InputError(
                "relation must be add-remove for Poisson samples, got replace-one: say add-remove,"
                " or a batch of all records"
            )
        sensitivity = bounds.clipped_gradients(
            clip=self.clip,
            size=self.size,
            records=self.records,
            relation=terms.relation,
            exact=self.exact,
            max_records_per_person=terms.records_touched,
        )
        return {
            GRADIENTS: Step(
                sensitivity=sensitivity,
                share=1.0,
                theorem="bounds.sums.clipped_gradients",
                times=self.steps_taken,
                sampling_rate=self.rate,
            )
        }

    @property
    def slots(self) -> int:
        """The records of a physical batch; one where foreign code could mix several, in exact mode.

        No check on random records shows that code of others never does.
        """
        from reticent.training.networks import NETWORKS

        return self.physical if self.architecture in NETWORKS or not self.exact else 1

    @property
    def size(self) -> int:
        """The number of weights."""
        return sum(int(np.prod(shape)) for shape in self.shapes().values())

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of every trainable parameter, by the name that the network has for it."""
        return {
            name: tuple(one.shape)
            for name, one in self._network().named_parameters()
            if one.requires_grad
        }

    def learn(self, rows: Floats, labels: Array, plan: Plan) -> Tensors:
        """Noisy steps from the public first weights; progress and checkpoints as they are asked."""
        from reticent.training.encoders.torch_extra import torch

        model = self._network()
        images, targets = self._tensors(rows), torch.from_numpy(np.asarray(labels, np.int64))
        run = _Run(self, model)
        with (
            training_progress(self, plan, run, (rows, labels)) as progress,
            run.gradients.one_thread_if_small(),
        ):
            for _ in progress.steps(self.steps_taken):
                taken = torch.from_numpy(sampled_records(rows, labels, self.rate))
                total = run.gradients.of((images[taken], targets[taken]))
                run.step(plan[GRADIENTS].release(total) / (self.rate * self.records))
        return {
            name: np.asarray(one.numpy(), dtype=np.float64) for name, one in run.released().items()
        }

    def scores(self, tensors: Mapping[str, Floats], rows: Floats) -> Floats:
        """The network's logits."""
        from reticent.training.encoders.torch_extra import torch

        model = self._network().eval()
        weights = {name: torch.from_numpy(np.array(one)) for name, one in tensors.items()}
        model.load_state_dict(weights, strict=False)
        with torch.no_grad():
            images = self._tensors(rows)
            parts = [model(images[i : i + 1024]) for i in range(0, len(rows), 1024)]
        logits = torch.cat(parts) if parts else torch.zeros(0, self.classes)
        return np.asarray(logits.numpy(), dtype=np.float64)

    def _network(self) -> nn.Module:
        from reticent.training.networks import network

        return network(self.architecture, self.record_shape, self.classes, seed=self.seed)

    def _tensors(self, rows: Floats) -> torch.Tensor:
        from reticent.training.encoders.torch_extra import torch

        with np.errstate(over="ignore"):  # beyond float32 a number is infinite, its gradient zero
            flat = torch.from_numpy(np.asarray(rows, dtype=np.float32))
        return flat.reshape(len(rows), *self.record_shape)


_AUDITED: Final[dict[NetworkRecipe, GradientSum]] = {}
"""The last that an audit or a shadow ran: what it runs again is not checked again. Whatever is
released is."""


class _Run:
    """What training changes: weights, momentum and their moving average."""

    def __init__(self, recipe: NetworkRecipe, model: nn.Module) -> None:
        from reticent.training.encoders.torch_extra import functional, torch
        from reticent.training.gradients import GradientSum, random_batch

        def loss(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            return functional.cross_entropy(model(images), labels, reduction="none")

        shape = recipe.record_shape
        like = (torch.zeros(shape), torch.zeros((), dtype=torch.int64))
        known = _AUDITED.get(recipe) if is_replaced() else None
        self.model = model
        self.gradients = GradientSum(
            model,
            loss,
            clip=recipe.clip,
            example=random_batch(
                like, _EXAMPLES if recipe.exact else 6, values=recipe.classes, spread=_SPREAD
            ),
            physical=recipe.slots,
            exact=recipe.exact,
            like=known,
        )
        if is_replaced():
            _AUDITED.clear()
            _AUDITED[recipe] = self.gradients
        if known is None and self.gradients.size != recipe.size:
            raise InputError(f"{recipe.architecture} must build one network, got two sizes")
        self.optimiser = torch.optim.SGD(
            self.gradients.clipper.parameters, lr=recipe.learning_rate, momentum=recipe.momentum
        )
        self.decay = recipe.average
        self.averages = {name: one.clone() for name, one in self._weights().items()}

    def step(self, mean: Floats) -> None:
        """One step of the optimiser along a noisy gradient."""
        from reticent.training.encoders.torch_extra import torch

        self.gradients.set_gradients(mean)
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
        found = {f"weights.{name}": one for name, one in self._weights().items()}
        found |= {f"averages.{name}": one for name, one in self.averages.items()}
        momenta = self.optimiser.state_dict()["state"]
        found |= {
            f"momentum.{place}": one["momentum_buffer"]
            for place, one in momenta.items()
            if one.get("momentum_buffer") is not None
        }
        return found

    def restore(self, state: Mapping[str, torch.Tensor]) -> None:
        """Go back to a saved state."""
        from reticent.training.encoders.torch_extra import torch

        with torch.no_grad():
            for name, one in self._weights().items():
                one.copy_(state[f"weights.{name}"])
                self.averages[name].copy_(state[f"averages.{name}"])
        parameters = self.gradients.clipper.parameters
        for place, parameter in enumerate(parameters):
            if f"momentum.{place}" in state:
                self.optimiser.state[parameter]["momentum_buffer"] = state[f"momentum.{place}"]

    def _weights(self) -> dict[str, torch.Tensor]:
        return {
            name: one.detach() for name, one in self.model.named_parameters() if one.requires_grad
        }
