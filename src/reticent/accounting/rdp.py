"""Rényi differential privacy (Mironov 2017): a curve of divergences over the orders.

Curves add up; at the end ε is read off over a fixed public grid of orders, every one of which
gives a valid ε.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from reticent.accounting import amplification, curves
from reticent.accounting.accountant import Accountant, refuse
from reticent.accounting.basic import amplified_epsilon
from reticent.arrays import Floats
from reticent.guarantee.events import (
    BoundedRangeEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    LogisticEvent,
    PureEvent,
    ZcdpEvent,
)
from reticent.guarantee.rounding import up
from reticent.mechanisms.profiles import gaussian, laplace, logistic
from reticent.mechanisms.profiles.conversions import rdp_to_epsilon
from reticent.validation import NotCoveredError

Array = Floats

ORDERS: Array = np.unique(
    np.concatenate([1 + np.geomspace(1e-4, 1e5, 9 * 24 + 1), np.arange(2.0, 65.0), [math.inf]])
)
"""Near 1 for ε up to 10⁶ and more, large ones for ε down to 10⁻⁴, ∞ for pure releases."""


@dataclass(frozen=True)
class Curve:
    """An upper bound on D_α over all neighbours, and the pair behind it if there is one.

    ``pair`` is the divergence of a pair (P, Q) that dominates the release and that a reflection
    swaps; with it, Poisson sampling has an exact theorem. ``reflected`` says that a reflection
    swaps the output distributions of any two neighbours, as it does for symmetric noise added
    once: then the same theorem holds with the bound (docs/theory.md C.2). Releases that follow one
    another may look at each other, so composition keeps the first and loses the second.
    """

    bound: amplification.Divergence
    pair: amplification.Divergence | None = None
    reflected: bool = False


@singledispatch
def release(event: Event) -> Curve:
    """The curve of one release."""
    refuse(event, "rdp")


@release.register
def _(event: GaussianEvent) -> Curve:
    return _symmetric(curves.linear(gaussian.zcdp(1 / event.noise_multiplier)))


@release.register
def _(event: LaplaceEvent) -> Curve:
    if event.norm == "l2":
        return Curve(curves.linear(laplace.zcdp_l2(1 / event.noise_multiplier)), reflected=True)
    return _symmetric(curves.laplace(1 / event.noise_multiplier))


@release.register
def _(event: LogisticEvent) -> Curve:
    if event.norm == "l2":
        return Curve(curves.linear(logistic.zcdp_l2(1 / event.noise_multiplier)), reflected=True)
    return _symmetric(curves.logistic(1 / event.noise_multiplier))


@release.register
def _(event: PureEvent) -> Curve:
    """Randomised response dominates every pure release (Kairouz, Oh & Viswanath 2015)."""
    return _symmetric(curves.pure(event.epsilon))


@release.register
def _(event: BoundedRangeEvent) -> Curve:
    """The pair of logistic noise with a = ε dominates; αε²/8 (Cesar & Rogers 2021) may be less."""
    pair = curves.logistic(event.epsilon)
    eighth = curves.linear(event.epsilon * event.epsilon / 8)
    return Curve(lambda orders: np.minimum(pair(orders), eighth(orders)), pair)


@release.register
def _(event: ZcdpEvent) -> Curve:
    return Curve(curves.linear(event.rho))


def _symmetric(divergence: amplification.Divergence) -> Curve:
    return Curve(divergence, divergence)


def compose(parts: Sequence[tuple[Curve, int]]) -> Curve:
    """Curves add up (Mironov 2017, Proposition 1), and so do those of the product of the pairs."""
    if len(parts) == 1 and parts[0][1] == 1:
        return parts[0][0]
    bound = _sum([(part.bound, count) for part, count in parts])
    pairs = [(part.pair, count) for part, count in parts if part.pair is not None]
    return Curve(bound, _sum(pairs) if len(pairs) == len(parts) else None)


def _sum(parts: Sequence[tuple[amplification.Divergence, int]]) -> amplification.Divergence:
    def total(orders: Array) -> Array:
        values: Array = np.sum([count * part(orders) for part, count in parts], axis=0)
        return values

    return total


def worst(parts: Sequence[Curve]) -> Curve:
    """The pointwise maximum: e^{(α−1)·D_α} is jointly convex."""
    if len(parts) == 1:
        return parts[0]
    return Curve(lambda orders: np.max([part.bound(orders) for part in parts], axis=0))


def poisson(curve: Curve, rate: float) -> Curve:
    """Poisson sampling under add-remove: the least of the theorems that hold."""
    nodes = amplification.poisson_general(curve.bound, rate)
    if curve.pair is not None:
        nodes = np.minimum(nodes, amplification.poisson_tight(curve.pair, rate))
    if curve.reflected:
        nodes = np.minimum(nodes, amplification.poisson_tight(curve.bound, rate))
    return _sampled(curve, nodes, amplification.convexity(curve.bound, rate), rate)


def without_replacement(curve: Curve, share: float) -> Curve:
    """A fixed number of records without replacement, under replace-one: Theorem 9 as it stands.

    It is what is commonly published, and weak; never worse than no sampling. Where the loss
    distribution covers an event it is far tighter.
    """
    nodes = amplification.without_replacement(curve.bound, share)
    return _sampled(curve, nodes, curve.bound, share)


def _sampled(
    curve: Curve, nodes: Array, otherwise: amplification.Divergence, share: float
) -> Curve:
    largest = float(curve.bound(np.array([math.inf]))[0])
    pure = amplified_epsilon(largest, share) if math.isfinite(largest) else math.inf
    return Curve(amplification.interpolate(nodes, otherwise, pure))


def epsilon(curve: Curve, delta: float) -> float:
    """The smallest ε over the grid of orders; at δ = 0 the one of order ∞."""
    values = curve.bound(ORDERS)
    if delta == 0 and not math.isfinite(values[-1]):
        raise NotCoveredError("rdp needs delta > 0 for a release that is not pure, got 0")
    found, _ = rdp_to_epsilon(ORDERS, values, delta)
    return up(found)


RDP: Accountant[Curve] = Accountant(
    name="rdp",
    theorem="Rényi DP (Mironov 2017), converted by Balle et al. 2020, Theorem 21",
    release=release,
    compose=compose,
    worst=worst,
    poisson=poisson,
    without_replacement=without_replacement,
    epsilon=epsilon,
)
