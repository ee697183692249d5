"""Gradient sums of NT-Xent in which the gradient of every similarity is clipped by itself.

The gradient of NT-Xent over M views is Σ_i Σ_{j≠i} w_ij·∇S_ij, where S_ij is the cosine of two
embeddings and w_ij = (softmax of S_i·/τ at j − [j is the other view of i])/τ. Here each ∇S_ij, a
function of two views alone, is clipped to one norm before the sum is formed: what one record does
is bounded then, although it enters the softmax of all others (docs/theory.md E.10).

The cost is that of the Jacobians of all views, k gradients each, and of M² sums over the weights.
"""

from typing import Final

import numpy as np

from reticent.arrays import Floats
from reticent.training.encoders.torch_extra import nn, torch
from reticent.training.gradients.check import first_and_random_weights
from reticent.validation import InputError, positive

Tensor = torch.Tensor
_UNIT: Final = 2.0**-53
_LARGEST: Final = 2**31
"""Bytes of all Jacobians of a batch, in float64."""


def refuse_too_large(views: int, width: int, size: int) -> None:
    """Before anything is computed: Jacobians of a whole batch are kept."""
    if views * width * size * 8 > _LARGEST:
        raise InputError(
            f"batch must be at most {_LARGEST // (16 * width * size)} for clipped similarities of"
            f" {width} entries and {size} weights, got {views // 2}: each view keeps"
            " its Jacobian"
        )


def jacobians(model: nn.Module, views: Tensor) -> tuple[Floats, Floats]:
    """Embeddings (M, k) of views, and their derivatives (M, k, p) by all trained weights."""
    names = [name for name, one in model.named_parameters() if one.requires_grad]
    weights = {name: one.detach() for name, one in model.named_parameters()}
    trained = {name: weights[name] for name in names}

    def embedded(changing: dict[str, Tensor], view: Tensor) -> Tensor:
        embedding: Tensor = torch.func.functional_call(model, weights | changing, (view[None],))
        return embedding[0]

    by_name = torch.func.vmap(torch.func.jacrev(embedded), in_dims=(None, 0))(trained, views)
    flat = torch.cat([by_name[name].flatten(2) for name in names], dim=2)
    with torch.no_grad():
        outputs = model(views)
    return outputs.double().numpy(), flat.double().numpy()


def check_jacobians(model: nn.Module, views: Tensor) -> None:
    """Refuse where what a view gives depends, in any bit, on what other views of a batch hold.

    At the first weights and at random ones, on random views, as many as a batch has: half of them
    are replaced by others.
    """
    for _ in first_and_random_weights(model):
        _refuse_other_derivatives(model, views)


def _refuse_other_derivatives(model: nn.Module, views: Tensor) -> None:
    order = torch.arange(len(views)).roll(len(views) // 2)
    for kept in (slice(0, len(views) // 2), slice(len(views) // 2, None)):
        mixed = views[order].clone()
        mixed[kept] = views[kept]
        for one, other in zip(jacobians(model, views), jacobians(model, mixed), strict=True):
            if not np.array_equal(one[kept], other[kept], equal_nan=True):
                raise InputError(
                    "views must have the same derivatives to the last bit whatever others hold, got"
                    " others: this machine cannot train by clipped similarities"
                )


def pair_sum(
    outputs: Floats, derivatives: Floats, units: Floats, *, clip: float, temperature: float
) -> Floats:
    """Σ_i Σ_{j≠i} w_ij·clip(∇S_ij): the views of a record stand one after the other.

    ``units`` are the embeddings at norm 1 on a grid on which their products are exact: they make
    the weights. A view whose embedding or derivative is not finite has none of either.
    """
    limit, tau = positive("clip", clip), positive("temperature", temperature)
    directions, slopes = _of_units(outputs, derivatives)
    weights = _weights(units @ units.T, tau)
    total = np.zeros(derivatives.shape[2])
    for place in range(len(units)):
        own = directions @ slopes[place]
        own += np.einsum("k,jkp->jp", directions[place], slopes)
        own[~np.isfinite(own).all(axis=1)] = 0.0
        total += (weights[place] * _factors(own, limit)) @ own
    return total


def _of_units(outputs: Floats, derivatives: Floats) -> tuple[Floats, Floats]:
    """Embeddings at norm 1, and the derivatives of these: (I − ẑẑᵀ)·J/‖z‖."""
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(outputs, axis=1)
        units = outputs / lengths[:, None]
        along = np.einsum("ik,ikp->ip", units, derivatives)
        slopes = (derivatives - units[:, :, None] * along[:, None]) / lengths[:, None, None]
    fine = np.isfinite(units).all(axis=1) & np.isfinite(slopes).all(axis=(1, 2))
    return (
        np.where(fine[:, None], units, 0.0),
        np.where(fine[:, None, None], slopes, 0.0),
    )


def _weights(similarities: Floats, temperature: float) -> Floats:
    """(M, M): (softmax over the other views − [it is the other view of the record])/τ."""
    places = np.arange(len(similarities))
    logits = similarities.copy()
    logits[places, places] = -np.inf
    odds = np.exp((logits - logits.max(axis=1, keepdims=True)) / temperature)
    weights: Floats = odds / odds.sum(axis=1, keepdims=True)
    weights[places, places ^ 1] -= 1
    return weights / temperature


def _factors(rows: Floats, limit: float) -> Floats:
    """At most 1, and so small that no row times its factor is longer than the limit (E.5)."""
    with np.errstate(over="ignore", divide="ignore"):
        lengths = np.sqrt(np.square(rows).sum(axis=1)) * (1 + (2 * rows.shape[1] + 64) * _UNIT)
        factors: Floats = np.minimum(1.0, limit * (1 - 8 * _UNIT) / lengths)
    return factors
