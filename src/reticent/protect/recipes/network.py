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
from reticent.protect.noisy_query import sampled_records
from reticent.protect.recipe import Affine, Plan, Recipe, Step, Tensors
from reticent.protect.recipes import head_start, network_views, sampled_gradients
from reticent.protect.recipes.linear import EXP, NOISY_SUMS, OWN_CLASS, UNIT_ROWS
from reticent.protect.terms import NO_SEARCH, Terms
from reticent.protect.training_progress import planned_numbers, training_progress
from reticent.validation import InputError, count

if TYPE_CHECKING:
    from reticent.protect.used_encoder import UsedStart
    from reticent.training.encoders.torch_extra import nn, torch

BATCH: Final = 512
"""Where nothing is said. Batch, clip and momentum are those of Tramèr & Boneh 2021 for the network
``conv`` on MNIST; the learning rate is twice theirs, for fewer epochs."""
_LATER: Final[dict[str, Any]] = {
    **{"head_share": 0.0, "start": "", "start_sha256": ""},
    **{"augmentation": "", "views": 0},
}
"""Numbers that earlier certificates do not have."""
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
class NetworkRecipe(sampled_gradients.SampledGradients, Recipe):
    """A classifier by DP-SGD from public first weights."""

    name: ClassVar[str] = "network"
    trains_network: ClassVar[bool] = True
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
        "head_share",
        "start",
        "augmentation",
        "views",
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
    head_share: float = 0.0
    """Of the budget, for a head on frozen features from which training starts; 0 for none."""
    start: str = ""
    """The path of a released head on such features to start from instead (``Terms.start``)."""
    start_sha256: str = ""
    """Of its certificate and tensors."""
    augmentation: str = ""
    """Of images, natural or digits; none where nothing is said."""
    views: int = 0
    """Of a record in each step, whose gradients are averaged and clipped once."""

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """With a batch of all records where none is said and no theorem covers samples."""
        from reticent.training.networks import public_weights, trust_code

        trust_code(options.get("architecture", "mlp"))  # its user says it
        records = count("records", numbers["records"])
        sampled = terms.relation is Relation.ADD_REMOVE and terms.records_touched == 1
        public = public_weights(options.get("architecture", "mlp"))
        otherwise: dict[str, Any] = {
            "batch": sampled_gradients.batch_of(
                options.get("batch"), records, otherwise=BATCH if sampled else records
            ),
            "physical": _PHYSICAL_PUBLIC if public else 64,
            "views": network_views.VIEWS if options.get("augmentation") else 0,
        }
        given_options = {name: value for name, value in options.items() if value is not None}
        digest = "" if terms.start is None else terms.start.fingerprint
        return cls(
            **numbers, **(otherwise | given_options), public_weights=public, start_sha256=digest
        )

    def __post_init__(self) -> None:
        """Numbers that do not go together are refused before anything is planned."""
        if min(self.record_shape) < 1 or math.prod(self.record_shape) != self.features:
            raise InputError(f"shape must hold {self.features} numbers, got {self.shape!r}")
        self.check_training()
        head_start.check_start(self)
        network_views.check_views(self)

    def to_dict(self) -> dict[str, Any]:
        """Without what is not asked for: older certificates do not have it."""
        values = super(NetworkRecipe, self).to_dict()
        return {name: one for name, one in values.items() if one or name not in _LATER}

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """What an older certificate does not name was not asked for."""
        if isinstance(values, Mapping):
            values = _LATER | dict(values)
        return super(NetworkRecipe, cls).from_dict(values)

    @property
    def public_numbers(self) -> tuple[str, ...]:
        """The names of what its user says, without what is not asked for."""
        named = super(NetworkRecipe, self).public_numbers
        return tuple(one for one in named if one not in _LATER or getattr(self, one))

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
        declared, held = (tuple(one for one in sides if one > 1) for sides in sizes)
        if len(shape) > 1 and len(self.record_shape) > 1 and declared != held:
            layout = "x".join(map(str, shape))
            raise InputError(f"shape must be {layout}, as the table holds it, got {self.shape!r}")

    @property
    def checked(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the code makes sure of; of bits in exact mode alone."""
        bits = sampled_gradients.BITS if self.exact else ()
        views = (sampled_gradients.VIEWS,) if self.augmentation else ()
        head = (UNIT_ROWS,) if self.head_share else ()
        return (
            sampled_gradients.PER_EXAMPLE,
            *bits,
            *views,
            sampled_gradients.COINS,
            *head,
            NOISY_SUMS,
            OWN_CLASS,
        )

    @property
    def stated(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the user states; of code that is not the package's own too."""
        from reticent.training.networks import NETWORKS

        custom = () if self.architecture in NETWORKS else (_CUSTOM,)
        public = (_PUBLIC,) if self.public_weights else ()
        views = (network_views.AUGMENTED,) if self.augmentation else ()
        return (*_STATED, *custom, *public, *views, *((EXP,) if self.head_share else ()))

    @property
    def unproven(self) -> tuple[str, ...]:
        """In fast mode the rounding of float32, and dropout of code that is not the package's."""
        from reticent.training.networks import NETWORKS

        declared = super(NetworkRecipe, self).unproven
        own = self.exact or self.architecture in NETWORKS
        return declared if own else (*declared, sampled_gradients.DROPOUT)

    def steps(self, terms: Terms) -> dict[str, Step]:
        """The clipped gradient sum of a sample, as often as there are steps; before it the head."""
        descent = self.gradient_step(terms)
        return (
            head_start.steps_with_head(self, terms, descent)
            if self.head_share
            else {sampled_gradients.GRADIENTS: descent}
        )

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
        """Where the public weights that are here, or the start, are not those trained from."""
        from reticent.training.networks import public_weights

        problems = []
        if self.public_weights != public_weights(self.architecture):
            problems.append(f"public_weights is not that of the files of {self.architecture} here")
        if self.start_sha256 != ("" if terms.start is None else terms.start.fingerprint):
            problems.append("start_sha256 is not that of the start in the terms")
        return problems

    @property
    def start_width(self) -> int | None:
        """The features that its head reads, where it starts from a released one."""
        return self.shapes()[head_start.HEAD_WEIGHTS][1] if self.start else None

    def refuse_other_start(self, start: UsedStart) -> None:
        """Raise where the head on disk is not the one of the terms."""
        head_start.refuse_other_start(self.start, start)

    def learn(self, rows: Floats, labels: Array, plan: Plan) -> Tensors:
        """Noisy steps from the public first weights; progress and checkpoints as they are asked."""
        from reticent.protect.network_run import NetworkRun
        from reticent.training.encoders.torch_extra import torch

        run = NetworkRun(self, self._network())
        records = run.prepared(self._tensors(rows), torch.from_numpy(np.array(labels, np.int64)))
        with (
            training_progress(planned_numbers(self, plan), run, (rows, labels)) as progress,
            run.gradients.one_thread_if_small(),
        ):
            if self._from_head and not progress.taken:
                head_start.start_from(run, self._head(run.model, rows, labels, plan))
            for _ in progress.steps(self.steps_taken):
                total = run.total(records, sampled_records(rows, labels, self.rate))
                run.step(
                    plan[sampled_gradients.GRADIENTS].release(total) / (self.rate * self.records)
                )
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

        model = network(self.architecture, self.record_shape, self.classes, seed=self.seed)
        if self._from_head:
            model.unit_rows = True  # type: ignore[assignment]
        return model

    @property
    def _from_head(self) -> bool:
        return bool(self.head_share or self.start)

    def _head(self, model: nn.Module, rows: Floats, labels: Array, plan: Plan) -> Affine:
        """The released one, or one on the features that the public weights make of each record."""
        if self.start:
            return head_start.released_head(self.start, self.start_sha256)
        from reticent.training.fine_tuning.partly import PartlyTrained, frozen_features

        assert isinstance(model, PartlyTrained)
        return head_start.learnt_head(
            self, frozen_features(model, self._tensors(rows)), labels, plan
        )

    def _tensors(self, rows: Floats) -> torch.Tensor:
        from reticent.training.encoders.torch_extra import torch

        with np.errstate(over="ignore"):  # beyond float32 a number is infinite, its gradient zero
            flat = torch.from_numpy(np.asarray(rows, dtype=np.float32))
        return flat.reshape(len(rows), *self.record_shape)
