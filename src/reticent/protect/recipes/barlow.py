"""Barlow Twins on unit embeddings, which couples images through their cross-correlation.

The paper standardises each unit over the batch; that would be two more sums to release. Embeddings
of norm 1 have entries of mean square 1/k, so C = (k/n)·Σ z¹z²ᵀ has about the same diagonal, and
only C is released.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from reticent import bounds
from reticent.arrays import Floats
from reticent.guarantee import Sensitivity
from reticent.protect.recipes import coupled, statistics
from reticent.validation import positive

if TYPE_CHECKING:
    from reticent.training.encoders.torch_extra import torch

CORRELATION: Final = "correlation"


@dataclass(frozen=True, kw_only=True, slots=True)
class BarlowRecipe(coupled.CoupledRecipe):
    """An encoder whose two views of an image agree, and no two units of which say the same."""

    name: ClassVar[str] = "barlow"
    options: ClassVar[tuple[str, ...]] = (*coupled.CoupledRecipe.options, "off_diagonal")
    coupling: ClassVar[str] = CORRELATION
    coupling_theorem: ClassVar[str] = "bounds.contrastive.embedding_correlation"

    off_diagonal: float = 0.05
    """λ, the weight of the entries off the diagonal."""

    def __post_init__(self) -> None:
        """Numbers that do not go together are refused before anything is planned."""
        super(BarlowRecipe, self).__post_init__()
        positive("off_diagonal", self.off_diagonal)

    def _coupling_bound(self, public: Mapping[str, Any]) -> Sensitivity:
        return bounds.embedding_correlation(width=self.embedding, **public)

    def coupling_sum(self, views: Floats) -> Floats:
        """Σ z¹z²ᵀ over the pairs of views in turns, flat: the cross moment of Barlow Twins."""
        return statistics.cross_moment(views[0::2], views[1::2]).ravel()

    def matrix(self, answer: Floats) -> Floats:
        """C, whose diagonal is near 1 where views agree."""
        return self.embedding * answer.reshape(self.embedding, self.embedding)

    def terms(
        self, first: torch.Tensor, second: torch.Tensor, released: torch.Tensor
    ) -> torch.Tensor:
        """k·z¹ᵀ(∂L/∂C)z² at the released C."""
        from reticent.training.contrastive.barlow_twins import barlow_terms

        return barlow_terms(first, second, released, off_diagonal=self.off_diagonal)
