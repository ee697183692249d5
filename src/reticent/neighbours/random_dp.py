"""How many sampled pairs a random-DP statement needs (Rubinstein & Aldà 2017).

The sensitivity sampler draws m i.i.d. pairs of neighbours and takes the k-th smallest of their m
norms. The release is then (ε, γ)-random DP: for all but a share γ of pairs the ε holds. Nothing
follows for the worst pair. Derivations: docs/theory.md, section B.
"""

import math
from typing import NamedTuple

from scipy import special, stats

from reticent.validation import InputError, count, open_probability


class SampleSize(NamedTuple):
    """The number of pairs and the share ρ of γ that pays for sampling."""

    pairs: int
    rho: float


class Confidence(NamedTuple):
    """The γ that the pairs give, and the share ρ of it that pays for sampling."""

    gamma: float
    rho: float


def pairs_for(gamma: float) -> SampleSize:
    """The fewest pairs for this γ when the largest norm is taken (k = m).

    ρ minimises ln(1/ρ)/(2(γ−ρ)²): ρ = exp(W₋₁(−γ/(2√e)) + ½).

    >>> pairs_for(0.1).pairs
    285
    """
    gamma = open_probability("gamma", gamma)
    rho = math.exp(_lower_lambert(-gamma / (2 * math.sqrt(math.e))) + 0.5)
    return SampleSize(math.ceil(math.log(1 / rho) / (2 * (gamma - rho) ** 2)), rho)


def gamma_of(pairs: int) -> Confidence:
    """The smallest γ for this many pairs when the largest norm is taken (k = m).

    ρ minimises ρ + √(ln(1/ρ)/2m): ρ = exp(W₋₁(−1/(4m))/2).

    >>> round(gamma_of(500).gamma, 4), round(gamma_of(250).gamma, 3)
    (0.0774, 0.106)
    """
    pairs = count("pairs", pairs)
    rho = math.exp(_lower_lambert(-1 / (4 * pairs)) / 2)
    gamma = rho + math.sqrt(math.log(1 / rho) / (2 * pairs))
    if not gamma < 1:
        raise InputError(f"pairs must give a gamma < 1, got {pairs}, which is too few")
    return Confidence(gamma, rho)


def order_statistic(pairs: int, *, gamma: float, rho: float) -> int:
    """Which of the m sorted norms is enough: k ≥ m(1 − γ + ρ + √(ln(1/ρ)/2m))."""
    pairs = count("pairs", pairs)
    gamma, rho = open_probability("gamma", gamma), open_probability("rho", rho)
    if not rho < min(gamma, 0.5):
        raise InputError(f"rho must be < min(gamma, 1/2) = {min(gamma, 0.5)}, got {rho}")
    share = 1 - gamma + rho + math.sqrt(math.log(1 / rho) / (2 * pairs))
    if share > 1:
        least = pairs_for(gamma).pairs
        raise InputError(f"pairs must be >= {least} for gamma = {gamma}, got {pairs}")
    return math.ceil(pairs * share)


def exchangeable_gamma(pairs: int, k: int) -> float:
    """γ = 1 − k/(m+1): the chance that one more pair exceeds the k-th of m (exchangeability)."""
    pairs, k = _checked(pairs, k)
    return 1 - k / (pairs + 1)


def delivered_gamma(pairs: int, k: int, *, beta: float) -> float:
    """With probability 1 − β the delivered value is exceeded by at most this share of pairs.

    The mass below the k-th of m order statistics is Beta(k, m−k+1) distributed.

    >>> round(delivered_gamma(500, 500, beta=0.05), 5)
    0.00597
    """
    pairs, k = _checked(pairs, k)
    beta = open_probability("beta", beta)
    return float(1 - stats.beta.ppf(beta, k, pairs - k + 1))


def _checked(pairs: int, k: int) -> tuple[int, int]:
    pairs, k = count("pairs", pairs), count("k", k)
    if k > pairs:
        raise InputError(f"k must be <= pairs = {pairs}, got {k}")
    return pairs, k


def _lower_lambert(argument: float) -> float:
    """W₋₁ on [−1/e, 0)."""
    return float(special.lambertw(argument, -1).real)
