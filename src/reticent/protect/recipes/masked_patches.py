"""Masked patches: an encoder from whose features hidden parts of a record can be told.

No record is compared with another, so nothing couples a batch and nothing but gradients is
released: DP-SGD (docs/theory.md E.5), and the competitor that contrastive losses have to beat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from reticent.arrays import Floats
from reticent.protect.recipe import Plan, Step
from reticent.protect.recipes.contrastive import ContrastiveRecipe, Sample
from reticent.protect.recipes.linear import NOISY_SUMS, OWN_CLASS
from reticent.protect.recipes.sampled_gradients import BITS, GRADIENTS, PER_EXAMPLE, VIEWS
from reticent.protect.terms import Terms

if TYPE_CHECKING:
    from reticent.protect.contrastive_run import ContrastiveRun
    from reticent.training.contrastive.networks import ContrastiveNetwork, ImageViews, MaskedViews
    from reticent.training.encoders.torch_extra import nn, torch


OF_IMAGES: Final = 0.02
"""The learning rate; of .5, .1 and .02 the best in probe and kNN on scikit-learn's digits, drawn
large, at the noise of 60,000 records and ε = 3."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MaskedPatchesRecipe(ContrastiveRecipe):
    """An encoder of images of which half of the blocks are hidden; of rows, half of the entries."""

    name: ClassVar[str] = "masked-patches"
    options: ClassVar[tuple[str, ...]] = tuple(
        one for one in ContrastiveRecipe.options if one != "embedding"
    )
    noises: ClassVar[tuple[str, ...]] = ("gaussian",)

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """Of images in shorter steps than contrastive losses take."""
        given = {name: value for name, value in options.items() if value is not None}
        if given.get("shape"):
            given.setdefault("learning_rate", OF_IMAGES)
        return super(MaskedPatchesRecipe, cls)._planned(terms, numbers, given)

    @property
    def checked(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the code makes sure of; of bits in exact mode alone."""
        bits = BITS if self.exact else ()
        return (PER_EXAMPLE, *bits, VIEWS, self.drawn, NOISY_SUMS, OWN_CLASS)

    def steps(self, terms: Terms) -> dict[str, Step]:
        """One kind of query: the clipped gradient sum."""
        return {GRADIENTS: self.gradient_step(terms)}

    def draws(self, views: ImageViews | MaskedViews) -> int:
        """Numbers for one view of an image and its mask; of rows, for the mask alone."""
        from reticent.training.contrastive.masked_patches import blocks_of

        if self.image is None:
            return views.draws
        _, down, across = blocks_of(*self.image[1:])
        return views.draws + down * across

    def outputs(self, views: ImageViews | MaskedViews) -> Callable[..., torch.Tensor]:
        """The loss of each record, (n, 1): no other reads anything of it."""
        from reticent.training.contrastive import masked_patches

        image = self.image

        def losses(model: nn.Module, inputs: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
            whole = inputs
            if image is None:
                kept = masked_patches.kept_parts(uniforms)
            else:
                whole = views.view(inputs, uniforms[:, : views.draws])
                kept = masked_patches.block_mask(uniforms[:, views.draws :], *image[1:])
            return masked_patches.masked_patch_terms(model(whole * kept), whole, kept)[:, None]

        return losses

    def losses(self, outputs: torch.Tensor, released: torch.Tensor) -> torch.Tensor:
        """Those that the outputs are."""
        del released
        return outputs[:, 0]

    def terms(
        self, first: torch.Tensor, second: torch.Tensor, released: torch.Tensor
    ) -> torch.Tensor:
        """Not of this loss, which compares no two embeddings."""
        raise NotImplementedError

    def total(self, run: ContrastiveRun, sample: Sample, plan: Plan) -> Floats:
        """The clipped gradient sum of a sample."""
        del plan
        return run.gradients.of(sample.batch(run.draws))

    def _network(self, seed: int | None) -> ContrastiveNetwork:
        from reticent.training.contrastive.networks import masking_network

        return masking_network(self.architecture, self.features, self.image, seed=seed)
