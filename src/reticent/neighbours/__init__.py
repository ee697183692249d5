"""Estimating sensitivities from neighbouring data sets; ``bounds`` proves, this layer samples.

Solvers are loaded with the first use of a name: the sample sizes of the sampler need neither them
nor scikit-learn.
"""

from typing import TYPE_CHECKING

from reticent.lazy import lazy_exports

if TYPE_CHECKING:
    from reticent.neighbours.differences import Differences, Norms
    from reticent.neighbours.head_sensitivity import (
        RefittedPairs,
        local_sensitivity,
        published_head_sensitivity,
        published_of,
        published_sensitivity,
        refitted_pairs,
    )
    from reticent.neighbours.leave_one_out import LeaveOneOut
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

__getattr__ = lazy_exports(__name__)
