"""The spectral contrastive loss, which couples images through the second moment of embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from reticent import bounds
from reticent.arrays import Floats
from reticent.guarantee import Sensitivity
from reticent.protect.recipes.coupled import CoupledRecipe
from reticent.protect.recipes.statistics import flat, second_moment, symmetric
from reticent.validation import positive

if TYPE_CHECKING:
    from reticent.training.encoders.torch_extra import torch

MOMENT: Final = "moment"


@dataclass(frozen=True, kw_only=True, slots=True)
class SpectralRecipe(CoupledRecipe):
    """An encoder whose two views of an image agree, and whose images spread out."""

    name: ClassVar[str] = "spectral"
    options: ClassVar[tuple[str, ...]] = (*CoupledRecipe.options, "repulsion")
    coupling: ClassVar[str] = MOMENT
    coupling_theorem: ClassVar[str] = "bounds.contrastive.embedding_moment"

    repulsion: float = 5.0
    """c, the weight of the second moment in the loss."""

    def __post_init__(self) -> None:
        """Numbers that do not go together are refused before anything is planned."""
        super(SpectralRecipe, self).__post_init__()
        positive("repulsion", self.repulsion)

    def _coupling_bound(self, public: Mapping[str, Any]) -> Sensitivity:
        return bounds.embedding_moment(width=self.embedding, **public)

    def coupling_sum(self, views: Floats) -> Floats:
        """Σ (z¹z¹ᵀ + z²z²ᵀ)/2 in an orthonormal basis of the symmetric matrices."""
        return flat(0.5 * second_moment(views))

    def matrix(self, answer: Floats) -> Floats:
        """The nearest positive semidefinite matrix."""
        return positive_part(symmetric(answer))

    def terms(
        self, first: torch.Tensor, second: torch.Tensor, released: torch.Tensor
    ) -> torch.Tensor:
        """−2·z¹·z² + c·(z¹ᵀM̃z¹ + z²ᵀM̃z²)."""
        from reticent.training.contrastive.spectral import spectral_terms

        return spectral_terms(first, second, released, repulsion=self.repulsion)


def positive_part(matrix: Floats) -> Floats:
    """The nearest positive semidefinite matrix: a second moment is one, noise is not."""
    from reticent.training.encoders.torch_extra import torch

    values, vectors = torch.linalg.eigh(torch.from_numpy(matrix))  # no threads for so small a one
    projected: Floats = ((vectors * values.clamp(min=0.0)) @ vectors.T).numpy()
    return projected
