"""Estimating sensitivities from neighbouring data sets; ``bounds`` proves, this layer samples.

Solvers are loaded with the first use of a name: the sample sizes of the sampler need neither them
nor scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reticent.neighbours.differences import Differences, Norms
    from reticent.neighbours.head_sensitivity import (
        local_sensitivity,
        published_head_sensitivity,
        published_of,
    )
    from reticent.neighbours.leave_one_out import LeaveOneOut
    from reticent.neighbours.published import RefittedPairs, published_sensitivity, refitted_pairs
    from reticent.neighbours.random_dp import (
        delivered_gamma,
        exchangeable_gamma,
        gamma_of,
        order_statistic,
        pairs_for,
    )
    from reticent.neighbours.sampled import (
        Draws,
        SampledPairs,
        sampled_head_pairs,
        sampled_pairs,
        sampled_sensitivity,
    )
    from reticent.neighbours.search import WorseNeighbours, search_from, search_worse_neighbours

__all__ = [
    "Differences",
    "Draws",
    "LeaveOneOut",
    "Norms",
    "RefittedPairs",
    "SampledPairs",
    "WorseNeighbours",
    "delivered_gamma",
    "exchangeable_gamma",
    "gamma_of",
    "local_sensitivity",
    "order_statistic",
    "pairs_for",
    "published_head_sensitivity",
    "published_of",
    "published_sensitivity",
    "refitted_pairs",
    "sampled_head_pairs",
    "sampled_pairs",
    "sampled_sensitivity",
    "search_from",
    "search_worse_neighbours",
]

_HOMES = {
    "Differences": "differences",
    "Draws": "sampled",
    "LeaveOneOut": "leave_one_out",
    "Norms": "differences",
    "RefittedPairs": "published",
    "SampledPairs": "sampled",
    "WorseNeighbours": "search",
    "delivered_gamma": "random_dp",
    "exchangeable_gamma": "random_dp",
    "gamma_of": "random_dp",
    "local_sensitivity": "head_sensitivity",
    "order_statistic": "random_dp",
    "pairs_for": "random_dp",
    "published_head_sensitivity": "head_sensitivity",
    "published_of": "head_sensitivity",
    "published_sensitivity": "published",
    "refitted_pairs": "published",
    "sampled_head_pairs": "sampled",
    "sampled_pairs": "sampled",
    "sampled_sensitivity": "sampled",
    "search_from": "search",
    "search_worse_neighbours": "search",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
