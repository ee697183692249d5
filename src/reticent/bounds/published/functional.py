"""The functional mechanism (Zhang et al. 2012): its constants as printed, and the proven ones.

Algorithm 5.2 takes Δ = 2·max Σ|λ_φ| over the coefficients λ_φ of one record's polynomial in w,
every monomial once, for ‖x‖ ≤ 1 and |y| ≤ 1. Both printed values bound Σ|x_j| by d where √d holds:
true and loose. The factor 2 is replace-one's; add-remove needs none.
"""

import math

from reticent.validation import count


def linear_published(features: int) -> int:
    """2(d + 1)² for Σ (y − w·x)²."""
    return 2 * (count("features", features) + 1) ** 2


def linear(features: int) -> float:
    """(1 + √d)² under add-remove: y², 2·y·x_j and x_i·x_j sum up to (|y| + Σ|x_j|)²; tight.

    Twice that bounds replace-one.
    """
    return (1 + math.sqrt(count("features", features))) ** 2


def logistic_published(features: int) -> float:
    """d²/4 + 3d for logistic loss at degree 2, with labels 0 and 1."""
    return count("features", features) ** 2 / 4 + 3 * features


def logistic(features: int) -> float:
    """√d/2 + d/8 under add-remove, for ln 2 − s·(x·w)/2 + (x·w)²/8; tight.

    Twice that bounds replace-one. ln 2 is the same for every record: released, it would tell how
    many there are.
    """
    return math.sqrt(count("features", features)) / 2 + features / 8
