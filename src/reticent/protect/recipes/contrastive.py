"""Encoders by DP-SGD on contrastive losses: what those recipes share.

Each step takes a sample of the records, and the noisy sum of clipped gradients of losses, each of
which is a function of one record and of public numbers (docs/theory.md E.6, E.10).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

import numpy as np

from reticent.arrays import Array, Floats
from reticent.data.cells import SCHEMA_STATED
from reticent.guarantee import Relation, guarantee
from reticent.protect import noisy_query, recipe
from reticent.protect.recipes import encoding, linear, sampled_gradients
from reticent.protect.terms import NO_SEARCH, Terms
from reticent.protect.training_progress import planned_numbers, training_progress
from reticent.randomness import seeded
from reticent.validation import InputError, count, positive

if TYPE_CHECKING:
    from reticent.protect.contrastive_run import ContrastiveRun
    from reticent.training.contrastive import networks
    from reticent.training.encoders.torch_extra import torch

SAMPLE: Final = "step"
_WIDEST: Final = 4096
_LATER: Final = ("standardised", "fixed_head", "fixed_size")
"""Numbers that certificates did not hold at first."""
_WARM_UP: Final = 10
"""Steps over which the learning rate rises."""
EMBEDDINGS = guarantee.checked_by(
    "each view's embedding is scaled to norm 1 by itself, in one order of summation, and cut to a"
    " grid on which sums of products are exact",
    "protect.recipes.exact_rows.unit_rows",
)
OUTPUTS = guarantee.checked_by(
    "a record's embeddings have the same bits in every slot of a batch, whatever the others hold",
    "training.gradients.check.check_outputs",
)
STATED: Final = (
    "one record is one image or row; the map from raw data to rows is fixed and looks at one record"
    " at a time",
    "network, first weights, augmentation, normaliser, batch, epochs, clip, learning rate, shares"
    " of the budget and ε were chosen without looking at the private data",
    NO_SEARCH,
    SCHEMA_STATED,
    "the data set has at most 2N records, N the public normaliser",
    "the order in which torch's kernels add depends on shapes and the number of threads alone, not"
    " on the numbers that they add, nor on load",
    "nothing else computed from the private data is published: no loss, accuracy, timing or size of"
    " a sample, nor that a job on them failed",
)


class Sample(NamedTuple):
    """The records that a step sees: as the network reads them, as rows, and their labels."""

    inputs: torch.Tensor
    rows: Floats
    labels: Array
    step: int

    def batch(self, draws: int) -> tuple[torch.Tensor, torch.Tensor]:
        """What the network reads of each record, and so many secret numbers for its views."""
        from reticent.training.encoders.torch_extra import torch

        return self.inputs, torch.from_numpy(
            noisy_query.record_uniforms(self.rows, self.labels, draws)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ContrastiveRecipe(sampled_gradients.SampledGradients, encoding.EncoderRecipe):
    """An encoder learnt from private images, or other rows, without labels.

    A subclass says the losses, and what they read beside a record's own two embeddings.
    """

    options: ClassVar[tuple[str, ...]] = (
        *("base", "architecture", "shape", "augmentation", "batch", "epochs", "clip"),
        *("learning_rate", "momentum", "optimiser", "average", "embedding"),
        *("exact", "physical", "seed", "standardised", "fixed_head"),
    )

    sample_name: ClassVar[str] = SAMPLE

    architecture: str
    shape: str
    """Height, width and channels of an image, as 28x28x1; empty where rows are no images."""
    augmentation: str
    batch: int = 512
    epochs: float = 1.0
    clip: float = 1.0
    learning_rate: float = 0.5
    momentum: float = 0.9
    optimiser: str = "sgd"
    average: float = 0.0
    embedding: int = 32
    """k, the entries of an embedding."""
    exact: bool = True
    physical: int = 64
    seed: int = 0
    standardised: bool = False
    """Whether the encoder sees pixels less a public mean over a public deviation (``PIXELS``)."""
    fixed_head: bool = False
    """Whether the projection head keeps its first weights, so that noise goes to the encoder."""
    fixed_size: bool = False
    """Whether samples have one size, drawn without replacement: so replace-one is planned."""

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """With defaults for images or for other rows, and a batch of all records if need be."""
        given = {name: value for name, value in options.items() if value is not None}
        is_image = bool(given.get("shape"))
        is_sampled = terms.records_touched == 1
        otherwise: dict[str, Any] = {
            "shape": "",
            "architecture": "strided" if is_image else "mlp",
            "augmentation": "natural" if is_image else "mask",
            "batch": min(512, numbers["records"]) if is_sampled else numbers["records"],
            "physical": 64 if given.get("exact", True) else 32,  # kept gradients fit the cache
        }
        numbers = numbers | otherwise | given
        is_fixed = is_sampled and terms.relation is Relation.REPLACE_ONE
        numbers.setdefault("fixed_size", is_fixed and numbers["batch"] < numbers["records"])
        return cls(**numbers)

    def __post_init__(self) -> None:
        """Numbers that do not go together are refused before anything is planned."""
        from reticent.training.contrastive.networks import views_of

        super(ContrastiveRecipe, self).__post_init__()
        views_of(self.augmentation, self.features, self.image)
        self.check_training()
        if count("embedding", self.embedding) > _WIDEST:
            raise InputError(f"embedding must be at most {_WIDEST}, got {self.embedding}")
        positive("learning_rate", self.learning_rate)
        if self.standardised and self.architecture != "strided":
            raise InputError(
                f"standardised must be False for the architecture {self.architecture}, got True:"
                " strided convolutions alone have it"
            )

    def to_dict(self) -> dict[str, Any]:
        """Without what is not asked for: older certificates do not have it."""
        values = super(ContrastiveRecipe, self).to_dict()
        return {name: one for name, one in values.items() if one or name not in _LATER}

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """What an older certificate does not name was not asked for."""
        if isinstance(values, Mapping):
            values = dict.fromkeys(_LATER, False) | dict(values)
        return super(ContrastiveRecipe, cls).from_dict(values)

    @property
    def public_numbers(self) -> tuple[str, ...]:
        """The names of what its user says, without what is not asked for."""
        named = super(ContrastiveRecipe, self).public_numbers
        return tuple(one for one in named if one not in _LATER or getattr(self, one))

    @property
    def image(self) -> networks.Shape | None:
        """Channels, height and width; None where rows are no images."""
        from reticent.training.contrastive.networks import image_shape

        return image_shape(self.shape, self.features)

    @property
    def width(self) -> int:
        """The number of features that the encoder makes."""
        from reticent.training.contrastive.networks import feature_width

        return feature_width(self.architecture, self.image)

    @property
    def is_of_places(self) -> bool:
        """Where replace-one was planned for."""
        return self.fixed_size

    @property
    def rate(self) -> float:
        """With which a step sees a record: a Poisson sample's, or that of samples of one size."""
        if self.is_of_places and self.batch < self.records:
            return noisy_query.FixedSize(self.batch, self.records)
        return min(1.0, self.batch / self.records)

    @property
    def _drawn_with(self) -> float:
        """The rate; of places a number of them, in a fresh order where it is all of them too."""
        if not self.is_of_places:
            return self.rate
        return noisy_query.FixedSize(min(self.batch, self.records), self.records)

    @property
    def checked(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the code makes sure of; of bits in exact mode alone."""
        bits = (*sampled_gradients.BITS, OUTPUTS) if self.exact else ()
        return (
            sampled_gradients.PER_EXAMPLE,
            *bits,
            EMBEDDINGS,
            sampled_gradients.VIEWS,
            self.drawn,
            linear.NOISY_SUMS,
            linear.OWN_CLASS,
        )

    @property
    def stated(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the user states: the same for every loss; of places, that they are public."""
        return (*STATED, sampled_gradients.PLACES) if self.is_of_places else STATED

    @property
    def size(self) -> int:
        """The number of weights that are trained: the encoder's, and those of a head not fixed."""
        return sum(one.numel() for one in self._shaped().parameters() if one.requires_grad)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of the encoder's weights: the head is thrown away."""
        return {name: tuple(one.shape) for name, one in self._shaped().encoder.named_parameters()}

    def network(self) -> networks.ContrastiveNetwork:
        """Encoder and head with their public first weights."""
        return self._adapted(self._network(self.seed))

    def _shaped(self) -> networks.ContrastiveNetwork:
        """The same without weights: a certificate that lies about its size costs nothing."""
        return self._adapted(self._network(None))

    def _adapted(self, network: networks.ContrastiveNetwork) -> networks.ContrastiveNetwork:
        from reticent.training.contrastive.networks import PIXELS, with_fixed_head, with_pixels

        if self.standardised:
            network = with_pixels(network, PIXELS[self.augmentation])
        return with_fixed_head(network) if self.fixed_head else network

    def _network(self, seed: int | None) -> networks.ContrastiveNetwork:
        from reticent.training.contrastive.networks import contrastive_network

        return contrastive_network(
            self.architecture, self.features, self.image, width=self.embedding, seed=seed
        )

    def learn(self, rows: Floats, labels: Array, plan: recipe.Plan) -> recipe.Tensors:
        """Noisy steps from the public first weights; progress and checkpoints as they are asked."""
        from reticent.protect.contrastive_run import ContrastiveRun, float32_rows

        run = ContrastiveRun(self)
        rows, labels = self.table(rows, labels)
        inputs = run.views.inputs(float32_rows(rows))
        with (
            training_progress(planned_numbers(self, plan), run, (rows, labels)) as progress,
            run.gradients.one_thread_if_small(),
        ):
            for step in progress.steps(self.steps_taken):
                taken = noisy_query.sampled_records(rows, labels, self._drawn_with)
                sample = Sample(inputs[taken], rows[taken], labels[taken], step)
                total = self.total(run, sample, plan)
                noisy = plan[sampled_gradients.GRADIENTS].release(total) / (
                    self.rate * self.records
                )
                run.step(noisy, factor=self._schedule(step))
                progress.log(
                    gradient_norm=float(np.linalg.norm(noisy)),
                    coupling_norm=float(run.gradients.released.norm()),
                )
        return run.encoder_tensors()

    def table(self, rows: Floats, labels: Array) -> tuple[Floats, Array]:
        """The records among which samples are drawn; of one size, from exactly N rows.

        More are left out then, and zeros stand for missing ones, so that one record more and one
        less is one row of N that differs. Where it stands is no matter: each step draws an order.
        """
        if not self.is_of_places:
            return rows, labels
        filled = np.zeros((self.records, rows.shape[1]))
        marks = np.zeros(self.records, dtype=np.asarray(labels).dtype)
        held = min(len(rows), self.records)
        filled[:held], marks[:held] = rows[:held], labels[:held]
        return filled, marks

    def _schedule(self, step: int) -> float:
        """The part of the learning rate at a step: it rises over ten, then falls as a cosine."""
        risen = min(1.0, (step + 1) / _WARM_UP)
        return risen * (0.5 + 0.5 * math.cos(math.pi * step / self.steps_taken))

    def encoded(self, tensors: Mapping[str, Floats], rows: Floats) -> Floats:
        """What the encoder, without its head, makes of each row."""
        from reticent.protect.contrastive_run import encoded_rows

        return encoded_rows(self, tensors, rows)

    def draws(self, views: networks.ImageViews | networks.MaskedViews) -> int:
        """How many secret numbers a step takes for a record: those of two views."""
        return 2 * views.draws

    def outputs(
        self, views: networks.ImageViews | networks.MaskedViews
    ) -> Callable[..., torch.Tensor]:
        """``outputs(model, inputs, uniforms)``: what losses read of each record, two embeddings."""
        from reticent.training.contrastive.networks import pairs_of_views

        return pairs_of_views(views)

    def example(self, records: int) -> tuple[torch.Tensor, ...]:
        """What a batch holds beside inputs and numbers for views, for so many random records."""
        del records
        return ()

    def check_machine(self, run: ContrastiveRun, example: tuple[torch.Tensor, ...]) -> None:
        """What must hold on this machine beside what every gradient sum is checked for."""
        del run, example

    def losses(self, outputs: torch.Tensor, released: torch.Tensor) -> torch.Tensor:
        """The loss of each record from its outputs, and what is public of all others."""
        return self.terms(outputs[:, 0], outputs[:, 1], released)

    def stand_in(self) -> torch.Tensor:
        """What losses read of others, in the shape of every step: the checks before it use it.

        A dense random second moment: products with a diagonal one never round, in whatever order
        they are added, so that no check would see an order.
        """
        from reticent.training.encoders.torch_extra import torch

        k = self.embedding
        rows = seeded("stand-in", k).standard_normal((k, k), dtype=np.float32)
        return torch.from_numpy(rows.T @ rows / np.square(rows).sum())

    @abstractmethod
    def total(self, run: ContrastiveRun, sample: Sample, plan: recipe.Plan) -> Floats:
        """The clipped gradient sum of a sample."""

    @abstractmethod
    def terms(
        self, first: torch.Tensor, second: torch.Tensor, released: torch.Tensor
    ) -> torch.Tensor:
        """The loss of each record from both its embeddings, and what is public of all others."""
