"""How ``simclr`` keeps private images apart: three ways, each with a theorem (docs/theory.md E.10).

*Public negatives*: a private image is told from public ones alone. *Released embeddings*: the
embeddings of a batch of one size are released with noise, and an image is told from the noisy ones
of all others. *Clipped similarities* (``logit-clipping``): NT-Xent as it is, the gradient of each
similarity clipped by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from reticent import bounds
from reticent.arrays import Floats
from reticent.guarantee import Relation, guarantee
from reticent.protect.recipe import Plan, Step
from reticent.protect.recipes.contrastive import EMBEDDINGS, OUTPUTS, SAMPLE, Sample
from reticent.protect.recipes.linear import NOISY_SUMS, OWN_CLASS
from reticent.protect.recipes.sampled_gradients import BITS, DRAWN, GRADIENTS, PER_EXAMPLE, VIEWS
from reticent.protect.terms import Terms
from reticent.randomness import seeded
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.protect.contrastive_run import ContrastiveRun
    from reticent.protect.recipes.simclr import SimCLRRecipe
    from reticent.training.contrastive.networks import ImageViews, MaskedViews
    from reticent.training.encoders.torch_extra import torch

RELEASED: Final = "embeddings"
"""The name of the query that releases the embeddings of a batch."""
_LARGEST_BATCH: Final = 2**20
ALONE = guarantee.checked_by(
    "the derivatives of a view have the same bits whatever the other views of a batch hold",
    "training.gradients.pair_sum.check_jacobians",
)
PAIRS = guarantee.checked_by(
    "the gradient of each similarity is clipped by itself, in float64, before the sum is formed",
    "training.gradients.pair_sum.pair_sum",
)


class Way(ABC):
    """What a step releases, and what the loss of a record reads."""

    name: ClassVar[str]
    why: ClassVar[str]
    """In one line, for whoever is told which way was taken."""
    fixed: ClassVar[bool] = True
    """Whether samples have one size, drawn without replacement; replace-one."""
    defaults: ClassVar[Mapping[str, Any]] = {}
    """Numbers of the recipe, where they are not those of the recipe."""
    options: ClassVar[tuple[str, ...]] = ()
    """Those of the recipe that belong to this way alone."""

    def checked(self, recipe: SimCLRRecipe) -> tuple[str, ...]:
        """What the code makes sure of."""
        bits = (*BITS, OUTPUTS) if recipe.exact else ()
        return (PER_EXAMPLE, *bits, EMBEDDINGS, VIEWS, DRAWN, NOISY_SUMS, OWN_CLASS)

    def stated(self, recipe: SimCLRRecipe) -> tuple[str, ...]:
        """What the user states, beside what every contrastive recipe has."""
        del recipe
        return ()

    def refuse_uncovered(self, terms: Terms) -> None:
        """Relations and units that no theorem covers."""
        if terms.relation is not Relation.REPLACE_ONE or terms.records_touched > 1:
            raise InputError(
                f"relation must be replace-one, with one record a person, for --way {self.name},"
                f" whose batches have one public size, got {terms.relation} and"
                f" {terms.records_touched}: take public-negatives, or the recipe spectral"
            )

    def refuse_numbers(self, recipe: SimCLRRecipe) -> None:
        """Numbers of a recipe that this way cannot train with."""
        del recipe

    def check_machine(
        self, recipe: SimCLRRecipe, run: ContrastiveRun, example: tuple[torch.Tensor, ...]
    ) -> None:
        """What must hold on this machine beside what every gradient sum is checked for."""
        del recipe, run, example

    @abstractmethod
    def steps(self, recipe: SimCLRRecipe, terms: Terms) -> dict[str, Step]:
        """The noisy queries of a step."""

    @abstractmethod
    def total(
        self, recipe: SimCLRRecipe, run: ContrastiveRun, sample: Sample, plan: Plan
    ) -> Floats:
        """The gradient sum of a sample."""

    @abstractmethod
    def stand_in(self, recipe: SimCLRRecipe) -> torch.Tensor:
        """What losses read of others, in the shape of every step."""

    @abstractmethod
    def losses(
        self, recipe: SimCLRRecipe, outputs: torch.Tensor, released: torch.Tensor
    ) -> torch.Tensor:
        """The loss of each record."""

    def outputs(
        self, recipe: SimCLRRecipe, views: ImageViews | MaskedViews
    ) -> Callable[..., torch.Tensor]:
        """What losses read of each record: both its embeddings."""
        from reticent.training.contrastive.networks import pairs_of_views

        del recipe
        return pairs_of_views(views)

    def example(self, recipe: SimCLRRecipe, records: int) -> tuple[torch.Tensor, ...]:
        """What a batch holds beside inputs and numbers for views, for so many random records."""
        del recipe, records
        return ()


class PublicNegatives(Way):
    """Each private image is told from public ones alone."""

    name = "public-negatives"
    why = (
        "each private image is told from public ones alone, so that its clipped gradient is all"
        " that it moves, and no budget goes to what couples a batch"
    )
    fixed = False
    options = ("public", "negatives")

    def checked(self, recipe: SimCLRRecipe) -> tuple[str, ...]:
        """Nothing of embeddings is released."""
        bits = BITS if recipe.exact else ()
        return (PER_EXAMPLE, *bits, VIEWS, recipe.drawn, NOISY_SUMS, OWN_CLASS)

    def stated(self, recipe: SimCLRRecipe) -> tuple[str, ...]:
        """That the images which private ones are told from are public, where they are given."""
        public = (
            "the images that are told from private ones are public: no private record was looked"
            " at to choose them"
        )
        return (public,) if recipe.public else ()

    def refuse_uncovered(self, terms: Terms) -> None:
        """Nothing more than of every recipe with samples."""

    def steps(self, recipe: SimCLRRecipe, terms: Terms) -> dict[str, Step]:
        """One kind of query: the clipped gradient sum."""
        return {GRADIENTS: recipe.gradient_step(terms)}

    def total(
        self, recipe: SimCLRRecipe, run: ContrastiveRun, sample: Sample, plan: Plan
    ) -> Floats:
        """At public embeddings of the same weights."""
        del plan
        run.gradients.released = recipe.public_embeddings(run, sample.step)
        return run.gradients.of(sample.batch(run.draws))

    def stand_in(self, recipe: SimCLRRecipe) -> torch.Tensor:
        """Random embeddings, as many as a step has: slots are checked for products of this size."""
        return _random_embeddings(recipe.negatives, recipe.embedding)

    def losses(
        self, recipe: SimCLRRecipe, outputs: torch.Tensor, released: torch.Tensor
    ) -> torch.Tensor:
        """NT-Xent of each record against public embeddings."""
        from reticent.training.contrastive.nt_xent import public_negative_terms

        return public_negative_terms(
            outputs[:, 0], outputs[:, 1], released, temperature=recipe.temperature
        )


class ReleasedEmbeddings(Way):
    """The embeddings of a batch are released with noise; each image is told from the noisy ones."""

    name = "released-embeddings"
    why = "the embeddings of a batch are released with noise, and each image is told from those"
    defaults: ClassVar[Mapping[str, Any]] = {"batch": 128, "embedding": 8}
    options = ("coupling_share",)

    def refuse_numbers(self, recipe: SimCLRRecipe) -> None:
        """Places are kept in float32, beside the embeddings."""
        if recipe.batch > _LARGEST_BATCH:
            raise InputError(f"batch must be at most {_LARGEST_BATCH}, got {recipe.batch}")

    def steps(self, recipe: SimCLRRecipe, terms: Terms) -> dict[str, Step]:
        """Two kinds of queries of one sample: the embeddings, and the clipped gradient sum."""
        gradients = recipe.gradient_step(terms, 1 - recipe.coupling_share)
        embeddings = Step(
            sensitivity=bounds.released_embeddings(width=recipe.embedding),
            share=recipe.coupling_share,
            theorem="bounds.contrastive.released_embeddings",
            times=recipe.steps_taken,
            sampling_rate=recipe.rate,
            sample=SAMPLE,
        )
        return {RELEASED: embeddings, GRADIENTS: gradients}

    def total(
        self, recipe: SimCLRRecipe, run: ContrastiveRun, sample: Sample, plan: Plan
    ) -> Floats:
        """At the noisy embeddings of the same forward pass."""
        from reticent.protect.contrastive_run import unit_embeddings
        from reticent.training.encoders.torch_extra import torch

        def released(outputs: Floats) -> torch.Tensor:
            units = unit_embeddings(outputs[..., : recipe.embedding])
            noisy = plan[RELEASED].release(units.ravel()).reshape(units.shape)
            return torch.from_numpy(noisy.astype(np.float32))

        places = torch.arange(len(sample.rows), dtype=torch.float32)
        return run.gradients.of_step((*sample.batch(run.draws), places), released)

    def stand_in(self, recipe: SimCLRRecipe) -> torch.Tensor:
        """Random embeddings of a whole batch."""
        return _random_embeddings(2 * recipe.batch, recipe.embedding)

    def outputs(
        self, recipe: SimCLRRecipe, views: ImageViews | MaskedViews
    ) -> Callable[..., torch.Tensor]:
        """Both embeddings, each with the place of the record in the batch behind it."""
        from reticent.training.encoders.torch_extra import nn, torch

        pairs = super().outputs(recipe, views)

        def with_places(
            model: nn.Module, inputs: torch.Tensor, uniforms: torch.Tensor, places: torch.Tensor
        ) -> torch.Tensor:
            embeddings = pairs(model, inputs, uniforms)
            behind = places.to(embeddings.dtype)[:, None, None].expand(-1, embeddings.shape[1], 1)
            return torch.cat([embeddings, behind], dim=2)

        return with_places

    def example(self, recipe: SimCLRRecipe, records: int) -> tuple[torch.Tensor, ...]:
        """The place of each record in a batch, which its loss reads among the embeddings."""
        from reticent.training.encoders.torch_extra import torch

        return ((torch.arange(records) % recipe.batch).float(),)

    def losses(
        self, recipe: SimCLRRecipe, outputs: torch.Tensor, released: torch.Tensor
    ) -> torch.Tensor:
        """NT-Xent of each record against the noisy embeddings of all others."""
        from reticent.training.contrastive.nt_xent import released_embedding_terms

        width = recipe.embedding
        return released_embedding_terms(
            outputs[..., :width],
            outputs[:, 0, width].long(),
            released,
            temperature=recipe.temperature,
        )


class ClippedSimilarities(Way):
    """NT-Xent as it is, with the gradient of each similarity clipped by itself."""

    name = "logit-clipping"
    why = "the gradient of each similarity is clipped by itself, and NT-Xent is kept as it is"
    defaults: ClassVar[Mapping[str, Any]] = {"batch": 16, "embedding": 8, "temperature": 1.0}

    def checked(self, recipe: SimCLRRecipe) -> tuple[str, ...]:
        """Records keep their places in both worlds: nothing moves between slots."""
        del recipe
        return (PAIRS, ALONE, EMBEDDINGS, VIEWS, DRAWN, NOISY_SUMS, OWN_CLASS)

    def refuse_numbers(self, recipe: SimCLRRecipe) -> None:
        """Jacobians of a whole batch must fit into memory; books are always in float64."""
        from reticent.training.gradients.pair_sum import refuse_too_large

        if not recipe.exact:
            raise InputError(f"exact must be kept with --way {self.name}, got fast mode")
        refuse_too_large(2 * recipe.batch, recipe.embedding, recipe.size)

    def steps(self, recipe: SimCLRRecipe, terms: Terms) -> dict[str, Step]:
        """One kind of query: the sum over all pairs of views."""
        self.refuse_uncovered(terms)
        sensitivity = bounds.clipped_similarity_sum(
            clip=recipe.clip,
            temperature=recipe.temperature,
            images=recipe.batch,
            size=recipe.size,
        )
        step = Step(
            sensitivity=sensitivity,
            share=1.0,
            theorem="bounds.contrastive.clipped_similarity_sum",
            times=recipe.steps_taken,
            sampling_rate=recipe.rate,
            sample=SAMPLE,
        )
        return {GRADIENTS: step}

    def total(
        self, recipe: SimCLRRecipe, run: ContrastiveRun, sample: Sample, plan: Plan
    ) -> Floats:
        """Of all views of a batch at once, those of a record one after the other."""
        from reticent.protect.contrastive_run import unit_embeddings
        from reticent.training.encoders.torch_extra import torch
        from reticent.training.gradients.pair_sum import jacobians, pair_sum

        del plan
        inputs, uniforms = sample.batch(run.draws)
        halves = uniforms[:, : run.views.draws], uniforms[:, run.views.draws :]
        both = torch.stack([run.views.view(inputs, one) for one in halves], dim=1).flatten(0, 1)
        outputs, derivatives = jacobians(run.model, both)
        units = unit_embeddings(outputs)
        return pair_sum(
            outputs, derivatives, units, clip=recipe.clip, temperature=recipe.temperature
        )

    def check_machine(
        self, recipe: SimCLRRecipe, run: ContrastiveRun, example: tuple[torch.Tensor, ...]
    ) -> None:
        """The derivatives of a view have the same bits whatever the other views hold."""
        from reticent.training.encoders.torch_extra import torch
        from reticent.training.gradients.pair_sum import check_jacobians

        inputs, uniforms = example[:2]
        views = run.views.view(inputs, uniforms[:, : run.views.draws])
        places = torch.arange(2 * recipe.batch) % len(views)
        check_jacobians(run.model, views[places])

    def stand_in(self, recipe: SimCLRRecipe) -> torch.Tensor:
        """Nothing is released of others."""
        from reticent.training.encoders.torch_extra import torch

        del recipe
        return torch.zeros(1)

    def losses(
        self, recipe: SimCLRRecipe, outputs: torch.Tensor, released: torch.Tensor
    ) -> torch.Tensor:
        """−⟨ẑ¹, ẑ²⟩/τ, the part of the loss that couples nothing: checks of a network see it."""
        from reticent.training.encoders.torch_extra import functional

        del released
        cosines = functional.cosine_similarity(outputs[:, 0], outputs[:, 1], dim=1)
        return -cosines / recipe.temperature


WAYS: Final[dict[str, Way]] = {
    way.name: way for way in (PublicNegatives(), ReleasedEmbeddings(), ClippedSimilarities())
}


def _random_embeddings(number: int, width: int) -> torch.Tensor:
    from reticent.training.encoders.torch_extra import torch

    rng = seeded("stand-in", number, width)
    return torch.from_numpy(rng.standard_normal((number, width), np.float32))
