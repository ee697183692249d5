"""Barlow Twins (Zbontar et al. 2021): both views of an image agree, and no two units say the same.

The cross-correlation is a sum over the batch, so are the means and deviations that standardise it:
the loss is coupled.
"""

from typing import Final

from reticent.training.contrastive.bilinear import bilinear_forms
from reticent.training.contrastive.nt_xent import check_views
from reticent.training.encoders.torch_extra import functional, torch
from reticent.validation import positive

OFF_DIAGONAL: Final = 5e-3
"""λ of the paper."""
_TINY: Final = 1e-5


def barlow_twins(
    first: torch.Tensor, second: torch.Tensor, *, off_diagonal: float = OFF_DIAGONAL
) -> torch.Tensor:
    """Σ_i (1 − C_ii)² + λ·Σ_{i≠j} C_ij², C the cross-correlation of two standardised batches.

    >>> rows = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> round(float(barlow_twins(rows, rows)), 4)
    0.0
    >>> round(float(barlow_twins(rows, -rows)), 3)  # both units at odds: 2·(1 + 1)²
    8.0
    """
    check_views(first, second)
    one, other = (standardised(views) for views in (first, second))
    return correlation_loss(one.T @ other / len(first), off_diagonal=off_diagonal)


def barlow_terms(
    first: torch.Tensor, second: torch.Tensor, released: torch.Tensor, *, off_diagonal: float
) -> torch.Tensor:
    """k·z¹ᵀGz² of each image, G = ∂L/∂C at a cross-correlation that is given, of unit embeddings.

    The mean of the terms has, at the batch's own C = (k/n)·Σ z¹z²ᵀ, the gradient of the loss.
    """
    one, other = (functional.normalize(views, dim=1) for views in (first, second))
    slopes = 2 * positive("off_diagonal", off_diagonal) * released
    diagonal = torch.diagonal(released)
    slopes = slopes - torch.diag(torch.diagonal(slopes) + 2 * (1 - diagonal))
    return len(released) * bilinear_forms(one, slopes, other)


def correlation_loss(correlation: torch.Tensor, *, off_diagonal: float) -> torch.Tensor:
    """The loss of a cross-correlation matrix."""
    diagonal = torch.diagonal(correlation)
    others = correlation.square().sum() - diagonal.square().sum()
    return (1 - diagonal).square().sum() + positive("off_diagonal", off_diagonal) * others


def standardised(views: torch.Tensor) -> torch.Tensor:
    """Each unit with mean 0 and variance 1 over the batch."""
    variance, mean = torch.var_mean(views, dim=0, correction=0)
    return (views - mean) * (variance + _TINY**2).rsqrt()
