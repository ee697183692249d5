"""Rényi-DP of a release on a random subsample, from the Rényi-DP of the release.

With K(α) = (α−1)·D_α the theorems bound e^{K(α)} − 1 by a sum of positive terms at whole orders
α ≥ 2; the sum is taken in log space. K is convex and K(1) = 0, so a chord bounds it in between.
"""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import special

from reticent.arrays import Floats

Divergence = Callable[[Floats], Floats]
"""Orders to Rényi divergences."""

LARGEST_ORDER = 8192
NODES = np.unique(
    np.concatenate(
        [np.arange(2, 65), np.rint(np.geomspace(64, LARGEST_ORDER, 64)).astype(np.int64)]
    )
)
"""The whole orders at which the theorems are evaluated."""

_SLACK = 1e-9
"""Above the rounding of the logarithms (log Γ up to order 8,192 is within 1e-10)."""


def poisson_tight(pair: Divergence, rate: float) -> Floats:
    """K at NODES for a release that is dominated by a symmetric pair with this divergence.

    e^K = Σ_l C(α,l)(1−q)^{α−l} q^l e^{(l−1)·D_l} is the exact moment of (1−q)Q + qP against Q.
    Sampling keeps domination (Zhu, Dong & Wang 2022, Theorem 11), and for a pair that a reflection
    swaps the other direction is never larger (Mironov, Talwar & Zhang 2019, Theorem 5).
    """
    return _moments(rate, _whole_moments(pair), _log_expm1, from_three=_log_expm1)


def poisson_general(bound: Divergence, rate: float) -> Floats:
    """K at NODES for any release with this Rényi-DP (Zhu & Wang 2019, Theorem 5): 3 from l = 3."""
    return _moments(rate, _whole_moments(bound), _log_expm1, from_three=_log_thrice_minus_one)


def without_replacement(bound: Divergence, share: float) -> Floats:
    """K at NODES under replace-one (Wang, Balle & Kasiviswanathan 2019, Theorem 9).

    e^K − 1 = γ²·C(α,2)·min{4(e^{ε(2)} − 1), e^{ε(2)}·min{2, (e^{ε(∞)} − 1)²}}
            + Σ_{j≥3} γ^j·C(α,j)·e^{(j−1)ε(j)}·min{2, (e^{ε(∞)} − 1)^j}.
    """
    moments = _whole_moments(bound)
    orders = np.arange(2, LARGEST_ORDER + 1, dtype=np.float64)
    largest = float(bound(np.array([math.inf]))[0])
    log_largest = float(_log_expm1(np.array([largest]))[0])
    factors = np.minimum(math.log(2), orders * log_largest)
    terms = moments + factors + orders * math.log(share)
    first = min(
        math.log(4) + float(_log_expm1(moments[:1])[0]), float(moments[0]) + float(factors[0])
    )
    terms[0] = first + 2 * math.log(share)
    return np.array([_log_one_plus(_log_binomials(int(a)) + terms[: a - 1]) for a in NODES])


def convexity(bound: Divergence, share: float) -> Divergence:
    """D_α ≤ ln(1 − q + q·e^{(α−1)·D_α})/(α−1) at every order, for either kind of sampling.

    With probability 1 − q the record at issue is not drawn and nothing differs; e^{(α−1)·D_α} is
    jointly convex. Better than the theorems above where e^{(α−1)·D_α} is large.
    """

    def curve(orders: Floats) -> Floats:
        exponents = (orders - 1) * bound(orders)
        with np.errstate(over="ignore"):
            near = np.log1p(share * np.expm1(exponents))
        far = exponents + np.log(share + (1 - share) * np.exp(-exponents))
        return np.where(exponents < 30, near, far) / (orders - 1)

    return curve


def interpolate(nodes: Floats, otherwise: Divergence, pure: float) -> Divergence:
    """D_α at every order from K at NODES.

    Chords of the convex K between nodes, from K(1) = 0 on, or ``otherwise`` where that is less or
    beyond the last node; ``pure`` at α = ∞.
    """
    at = np.concatenate([[1.0], NODES.astype(np.float64)])
    heights = np.concatenate([[0.0], nodes])

    def curve(orders: Floats) -> Floats:
        values = np.full(orders.shape, pure)
        finite = np.isfinite(orders)
        values[finite] = otherwise(orders[finite])
        inside = orders <= at[-1]
        chord = np.interp(orders[inside], at, heights) / (orders[inside] - 1)
        values[inside] = np.minimum(chord, values[inside])
        return values

    return curve


def _moments(
    rate: float,
    moments: Floats,
    at_two: Callable[[Floats], Floats],
    *,
    from_three: Callable[[Floats], Floats],
) -> Floats:
    """ln(1 + Σ_{l≥2} C(α,l)(1−q)^{α−l} q^l·(…)): the terms l = 0, 1 of the binomial sum are 1's."""
    weights = np.concatenate([at_two(moments[:1]), from_three(moments[1:])])
    orders = np.arange(2, LARGEST_ORDER + 1, dtype=np.float64)
    terms = weights + orders * (math.log(rate) - math.log1p(-rate))
    keep = math.log1p(-rate)
    return np.array(
        [_log_one_plus(_log_binomials(int(a)) + terms[: a - 1] + a * keep) for a in NODES]
    )


def _whole_moments(divergence: Divergence) -> Floats:
    """(l−1)·D_l for l = 2, …, LARGEST_ORDER."""
    orders = np.arange(2, LARGEST_ORDER + 1, dtype=np.float64)
    return (orders - 1) * divergence(orders)


@cache
def _log_binomials(order: int) -> Floats:
    """ln C(α, l) for l = 2, …, α."""
    picks = np.arange(2, order + 1, dtype=np.float64)
    logs: Floats = (
        special.gammaln(order + 1.0)
        - special.gammaln(picks + 1)
        - special.gammaln(order - picks + 1)
    )
    return logs


def _log_one_plus(logs: Floats) -> float:
    """ln(1 + Σ e^{logs}), with the slack on the sum."""
    largest = float(np.max(logs))
    if math.isinf(largest):
        return 0.0 if largest < 0 else math.inf
    total = largest + math.log(float(np.sum(np.exp(logs - largest)))) + _SLACK
    return float(np.logaddexp(0.0, total))


def _log_expm1(x: Floats) -> Floats:
    """ln(e^x − 1) for x ≥ 0."""
    with np.errstate(divide="ignore"):
        logs: Floats = np.where(np.isinf(x), x, x + np.log(-np.expm1(-x)))
    return logs


def _log_thrice_minus_one(x: Floats) -> Floats:
    """ln(3e^x − 1) for x ≥ 0."""
    return x + math.log(3) + np.log1p(-np.exp(-x) / 3)
