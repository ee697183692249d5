"""Rényi differential privacy (Mironov 2017): a curve of divergences over the orders.

Curves add up; at the end ε is read off over a fixed public grid of orders, every one of which
gives a valid ε.

The curve of one release is a function of a = sensitivity/scale: the same forms as in
``mechanisms.profiles``, at many orders at once. Each D_α is the mean of a slope
over [½, α − ½], which is how it is evaluated where the closed form would cancel.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from reticent.accounting import accountant, amplification, basic
from reticent.arrays import Floats
from reticent.guarantee import events, rounding
from reticent.mechanisms.profiles import averages, conversions, gaussian, laplace, logistic
from reticent.validation import NotCoveredError

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def linear_curve(slope: float) -> Callable[[Floats], Floats]:
    """D_α = slope·α: Gaussian noise (slope μ²/2) and ρ-zCDP."""

    def curve(orders: Floats) -> Floats:
        return slope * orders if slope > 0 else np.zeros_like(orders)

    return curve


def logistic_curve(shift: float) -> Callable[[Floats], Floats]:
    """D_α = (φ((α−½)a) − φ(a/2))/(α−1), φ(x) = ln(sinh x/x); D_∞ = a (theory A)."""

    def far(orders: Floats) -> Floats:
        return (_log_sinhc((orders - 0.5) * shift) - averages.log_sinhc(shift / 2)) / (orders - 1)

    return _curve(shift, far, lambda beta: shift * averages.langevin(beta * shift))


def pure_curve(epsilon: float) -> Callable[[Floats], Floats]:
    """D_α = (ln cosh((α−½)ε) − ln cosh(ε/2))/(α−1); D_∞ = ε: randomised response."""

    def far(orders: Floats) -> Floats:
        return (_log_cosh((orders - 0.5) * epsilon) - averages.log_cosh(epsilon / 2)) / (orders - 1)

    return _curve(epsilon, far, lambda beta: epsilon * np.tanh(beta * epsilon))


def laplace_curve(shift: float) -> Callable[[Floats], Floats]:
    """D_α = ln(α/(2α−1)·e^{(α−1)a} + (α−1)/(2α−1)·e^{−αa})/(α−1); D_∞ = a."""

    def far(orders: Floats) -> Floats:
        tail = (orders - 1) / orders * np.exp(-(2 * orders - 1) * shift)
        return shift + (np.log(orders / (2 * orders - 1)) + np.log1p(tail)) / (orders - 1)

    def slope(beta: Floats) -> Floats:
        x = beta * shift
        tanh = np.tanh(x)
        return (shift * tanh + averages.x_minus_tanh(x) / (2 * beta**2)) / (1 + tanh / (2 * beta))

    return _curve(shift, far, slope)


def _curve(
    largest: float, far: Callable[[Floats], Floats], slope: Callable[[Floats], Floats]
) -> Callable[[Floats], Floats]:
    """The mean of ``slope`` while (α−1)·a ≤ 1, the closed form beyond, a itself at α = ∞."""

    def curve(orders: Floats) -> Floats:
        values = np.full(orders.shape, largest)
        if largest == 0:
            return values
        finite = np.isfinite(orders)
        close = finite & (orders - 1 <= 1 / largest)
        beyond = finite & ~close
        points = 0.5 + (orders[close, None] - 1) * (_NODES + 1) / 2
        values[close] = slope(points) @ (_WEIGHTS / 2)
        with np.errstate(over="ignore"):
            values[beyond] = np.minimum(far(orders[beyond]), largest)
        return values

    return curve


def _log_sinhc(x: Floats) -> Floats:
    """ln(sinh x / x) for x > 1/2."""
    return x + np.log(-np.expm1(-2 * x)) - np.log(2 * x)


def _log_cosh(x: Floats) -> Floats:
    return x + np.log1p(np.exp(-2 * x)) - math.log(2)


ORDERS: Floats = np.unique(
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
def release(event: events.Event) -> Curve:
    """The curve of one release."""
    accountant.refuse(event, "rdp")


@release.register
def _(event: events.GaussianEvent) -> Curve:
    return _symmetric(linear_curve(gaussian.zcdp(1 / event.noise_multiplier)))


@release.register
def _(event: events.LaplaceEvent) -> Curve:
    if event.norm == "l2":
        return Curve(linear_curve(laplace.zcdp_l2(1 / event.noise_multiplier)), reflected=True)
    return _symmetric(laplace_curve(1 / event.noise_multiplier))


@release.register
def _(event: events.LogisticEvent) -> Curve:
    if event.norm == "l2":
        return Curve(linear_curve(logistic.zcdp_l2(1 / event.noise_multiplier)), reflected=True)
    return _symmetric(logistic_curve(1 / event.noise_multiplier))


@release.register
def _(event: events.PureEvent) -> Curve:
    """Randomised response dominates every pure release (Kairouz, Oh & Viswanath 2015)."""
    return _symmetric(pure_curve(event.epsilon))


@release.register
def _(event: events.BoundedRangeEvent) -> Curve:
    """The pair of logistic noise with a = ε dominates; αε²/8 (Cesar & Rogers 2021) may be less."""
    pair = logistic_curve(event.epsilon)
    eighth = linear_curve(event.epsilon * event.epsilon / 8)
    return Curve(lambda orders: np.minimum(pair(orders), eighth(orders)), pair)


@release.register
def _(event: events.ZcdpEvent) -> Curve:
    return Curve(linear_curve(event.rho))


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
    def total(orders: Floats) -> Floats:
        values: Floats = np.sum([count * part(orders) for part, count in parts], axis=0)
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
    curve: Curve, nodes: Floats, otherwise: amplification.Divergence, share: float
) -> Curve:
    largest = float(curve.bound(np.array([math.inf]))[0])
    pure = basic.amplified_epsilon(largest, share) if math.isfinite(largest) else math.inf
    return Curve(amplification.interpolate(nodes, otherwise, pure))


def epsilon(curve: Curve, delta: float) -> float:
    """The smallest ε over the grid of orders; at δ = 0 the one of order ∞."""
    values = curve.bound(ORDERS)
    if delta == 0 and not math.isfinite(values[-1]):
        raise NotCoveredError("rdp needs delta > 0 for a release that is not pure, got 0")
    best, _ = conversions.rdp_to_epsilon(ORDERS, values, delta)
    return rounding.up(best)


RDP: accountant.Accountant[Curve] = accountant.Accountant(
    name="rdp",
    theorem="Rényi DP (Mironov 2017), converted by Balle et al. 2020, Theorem 21",
    release=release,
    compose=compose,
    worst=worst,
    poisson=poisson,
    without_replacement=without_replacement,
    epsilon=epsilon,
)
