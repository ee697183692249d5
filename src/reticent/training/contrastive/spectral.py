"""The spectral contrastive loss (HaoChen et al. 2021), whose coupling is one small matrix.

For unit embeddings z¹ and z² of n images the images meet only in their second moment
M = Σ (z¹z¹ᵀ + z²z²ᵀ)/2n, k×k. Given M, or a noisy copy of it, every image has a term of its own:
docs/theory.md E.6.
"""

from typing import Final

from reticent.training.contrastive.bilinear import bilinear_forms
from reticent.training.contrastive.nt_xent import check_views
from reticent.training.encoders.torch_extra import functional, torch
from reticent.validation import positive

REPULSION: Final = 5.0
"""The weight c of the second moment. For unit embeddings between 3 and 10 is usual."""


def spectral(
    first: torch.Tensor, second: torch.Tensor, *, repulsion: float = REPULSION
) -> torch.Tensor:
    """−2·mean z¹·z² + c·‖M‖², M the second moment of all unit embeddings of the batch.

    >>> round(float(spectral(torch.eye(2), torch.eye(2), repulsion=1.0)), 4)  # −2 + ‖1/2‖²
    -1.5
    """
    check_views(first, second)
    one, other = (functional.normalize(views, dim=1) for views in (first, second))
    agreement = (one * other).sum(dim=1).mean()
    return -2 * agreement + positive("repulsion", repulsion) * moment(one, other).square().sum()


def moment(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """M = (Z¹ᵀZ¹ + Z²ᵀZ²)/2n of rows as they are."""
    return (first.T @ first + second.T @ second) / (2 * len(first))


def spectral_terms(
    first: torch.Tensor, second: torch.Tensor, released: torch.Tensor, *, repulsion: float
) -> torch.Tensor:
    """−2·z¹·z² + c·(z¹ᵀM̃z¹ + z²ᵀM̃z²) of each image, at a matrix M̃ that is given.

    The mean of the terms has, at M̃ = M, the gradient of ``spectral``: c‖M‖² has the gradient
    2c⟨M, ∂M⟩, and 2∂M is the mean of ∂(z¹z¹ᵀ + z²z²ᵀ).
    """
    one, other = (functional.normalize(views, dim=1) for views in (first, second))
    pulled = (one * other).sum(dim=1)
    pushed = sum(bilinear_forms(views, released, views) for views in (one, other))
    return -2 * pulled + positive("repulsion", repulsion) * pushed
