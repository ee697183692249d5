"""The Wishart mechanism as it is published: T + W with one Wishart matrix W.

Jiang, Xie & Zhang (Wishart Mechanism for Differentially Private Principal Components Analysis,
2016) add W of p + 1 degrees of freedom and scale 3/(2ε) to a sum of x xᵀ, ‖x‖ ≤ 1, and claim ε. But
T + W ⪰ T: what can come out depends on T. For studies: plain floats from a seed.
"""

import numpy as np

from reticent.arrays import Floats
from reticent.validation import positive


def one_sided_releases(
    moment: Floats, *, epsilon: float, runs: int, generator: np.random.Generator
) -> Floats:
    """So many releases of a p × p matrix, as the paper makes them."""
    scale = 3 / (2 * positive("epsilon", epsilon))
    order = len(moment)
    half = generator.normal(size=(runs, order, order + 1))
    return np.asarray(moment + scale * half @ half.transpose(0, 2, 1))
