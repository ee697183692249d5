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

from reticent.arrays import Array, Floats
from reticent.data.cells import SCHEMA_STATED
from reticent.guarantee import Relation
from reticent.protect.certified_head import NO_SEARCH
from reticent.protect.noisy_query import sampled_records
from reticent.protect.recipe import Plan, Recipe, Step, Tensors
from reticent.protect.recipes.linear import NOISY_SUMS, OWN_CLASS
from reticent.protect.recipes.sampled_gradients import (
    COINS,
    GRADIENTS,
    PER_EXAMPLE,
    SLOTS,
    SampledGradients,
)
from reticent.protect.terms import Terms
from reticent.protect.training_progress import training_progress
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.training.encoders.torch_extra import nn, torch

BATCH: Final = 512
"""Where nothing is said. Batch, clip and momentum are those of Tramèr & Boneh 2021 for the network
``conv`` on MNIST; the learning rate is twice theirs, for fewer epochs."""
_QUERIES: Final = 1024
_PHYSICAL_PUBLIC: Final = 8
"""Queries at a time; and records at a time through an encoder, whose check takes the longer the
more they are."""
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
_CUSTOM: Final = (
    "the network's own code keeps no state, draws no random numbers and has no other output than "
    "its scores"
)
_PUBLIC: Final = (
    "the public weights, which the certificate names by their hash, were neither trained on the"
    " private records nor chosen by looking at them"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkRecipe(SampledGradients, Recipe):
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
        "optimiser",
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
    """Of SGD; of Adam the decay of its first moment."""
    optimiser: str = "sgd"
    average: float = 0.0
    """Decay of an exponential moving average of the weights, which is then released; 0 for none."""
    exact: bool = True
    physical: int = 64
    seed: int = 0
    public_weights: str = ""
    """The files that training starts from, each with its SHA-256; none where nothing is said."""

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """With a batch of all records where nothing is said and no theorem covers samples."""
        from reticent.training.networks import public_weights, trust_code

        trust_code(options.get("architecture", "mlp"))  # its user says it
        sampled = terms.relation is Relation.ADD_REMOVE and terms.records_touched == 1
        public = public_weights(options.get("architecture", "mlp"))
        otherwise: dict[str, Any] = {
            "batch": BATCH if sampled else numbers["records"],
            "physical": _PHYSICAL_PUBLIC if public else 64,
        }
        said = {name: value for name, value in options.items() if value is not None}
        return cls(**numbers, **(otherwise | said), public_weights=public)

    def __post_init__(self) -> None:
        """Numbers that do not go together are refused before anything is planned."""
        if min(self.record_shape) < 1 or math.prod(self.record_shape) != self.features:
            raise InputError(f"shape must hold {self.features} numbers, got {self.shape!r}")
        self.check_training()

    @property
    def record_shape(self) -> tuple[int, ...]:
        """Of one record, as the network sees it."""
        if not self.shape:
            return (self.features,)
        try:
            return tuple(int(part) for part in self.shape.split("x"))
        except ValueError:
            raise InputError(f"shape must be written as 1x28x28, got {self.shape!r}") from None

    def refuse_other_layout(self, shape: tuple[int, ...]) -> None:
        """An image of 32×32×3 that is read as 3×32×32 is scrambled; axes of one entry are free."""
        sizes = self.record_shape, shape
        said, held = (tuple(one for one in sides if one > 1) for sides in sizes)
        if len(shape) > 1 and len(self.record_shape) > 1 and said != held:
            layout = "x".join(map(str, shape))
            raise InputError(f"shape must be {layout}, as the table holds it, got {self.shape!r}")

    @property
    def checked(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the code makes sure of; of bits in exact mode alone."""
        return (PER_EXAMPLE, *((SLOTS,) if self.exact else ()), COINS, NOISY_SUMS, OWN_CLASS)

    @property
    def stated(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the user states; of code that is not the package's own too."""
        from reticent.training.networks import NETWORKS

        custom = () if self.architecture in NETWORKS else (_CUSTOM,)
        return (*_STATED, *custom, *((_PUBLIC,) if self.public_weights else ()))

    def steps(self, terms: Terms) -> dict[str, Step]:
        """One kind of query: the clipped gradient sum of a sample, as often as there are steps."""
        return {GRADIENTS: self.gradient_step(terms)}

    @property
    def slots(self) -> int:
        """The records of a physical batch; one where foreign code could mix several, in exact mode.

        No check on random records shows that code of others never does.
        """
        from reticent.training.networks import NETWORKS

        return self.physical if self.architecture in NETWORKS or not self.exact else 1

    @property
    def size(self) -> int:
        """The number of weights that are trained: entries of a gradient."""
        return sum(int(np.prod(shape)) for shape in self.shapes().values())

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of every trainable parameter, by the name that the network has for it."""
        from reticent.training.networks import trained_shapes

        return trained_shapes(
            self.architecture, self.record_shape, self.classes, self.public_weights
        )

    def refuse_foreign_code(self) -> None:
        """A certificate may name any function of any package: none is called unasked."""
        from reticent.training.networks import refuse_untrusted

        refuse_untrusted(self.architecture)

    def misfits(self, terms: Terms) -> list[str]:
        """Where the public weights that are here are not those that were trained from."""
        from reticent.training.networks import public_weights

        del terms
        same = self.public_weights == public_weights(self.architecture)
        return (
            [] if same else [f"public_weights is not that of the files of {self.architecture} here"]
        )

    def learn(self, rows: Floats, labels: Array, plan: Plan) -> Tensors:
        """Noisy steps from the public first weights; progress and checkpoints as they are asked."""
        from reticent.protect.network_run import NetworkRun
        from reticent.training.encoders.torch_extra import torch

        run = NetworkRun(self, self._network())
        records = run.prepared(self._tensors(rows), torch.from_numpy(np.array(labels, np.int64)))
        with (
            training_progress(self, plan, run, (rows, labels)) as progress,
            run.gradients.one_thread_if_small(),
        ):
            for _ in progress.steps(self.steps_taken):
                total = run.total(records, sampled_records(rows, labels, self.rate))
                run.step(plan[GRADIENTS].release(total) / (self.rate * self.records))
        return {
            name: np.asarray(one.numpy(), dtype=np.float64) for name, one in run.released().items()
        }

    def scores(self, tensors: Mapping[str, Floats], rows: Floats) -> Floats:
        """The logits of the released network for each row, in batches of queries."""
        from reticent.training.encoders.torch_extra import torch
        from reticent.training.fine_tuning.partly import grouped

        model = self._network().eval()
        weights = {name: torch.from_numpy(np.array(one)) for name, one in tensors.items()}
        model.load_state_dict(weights, strict=False)
        logits = torch.zeros(len(rows), self.classes)
        with torch.no_grad():
            for places, inputs in grouped(model, self._tensors(rows)):
                for start in range(0, len(places), _QUERIES):
                    part = slice(start, start + _QUERIES)
                    logits[places[part]] = model(inputs[part])
        return np.asarray(logits.numpy(), dtype=np.float64)

    def _network(self) -> nn.Module:
        from reticent.training.networks import network

        return network(self.architecture, self.record_shape, self.classes, seed=self.seed)

    def _tensors(self, rows: Floats) -> torch.Tensor:
        from reticent.training.encoders.torch_extra import torch

        with np.errstate(over="ignore"):  # beyond float32 a number is infinite, its gradient zero
            flat = torch.from_numpy(np.asarray(rows, dtype=np.float32))
        return flat.reshape(len(rows), *self.record_shape)
