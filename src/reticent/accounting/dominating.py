"""Pairs of distributions that no neighbours of a release can be told apart better than.

A pair is known by its hockey-stick divergence δ(ε) for ε ≥ 0 alone: the pairs here are symmetric
(a reflection swaps P and Q), sampled pairs follow in closed form, and so does the other direction.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import special

from reticent.accounting.basic import amplified_epsilon
from reticent.arrays import Floats

_ULP = 2.0**-52
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


class Pair(Protocol):
    """A symmetric pair; hashable, so that equal releases are counted together."""

    def delta(self, epsilons: Floats) -> Floats:
        """δ(ε) for ε ≥ 0, to a relative error below 1e-11."""

    def reach(self, delta: float) -> float:
        """An ε from which on δ(ε) is at most ``delta``, the mass of an infinite loss apart."""

    @property
    def atom(self) -> float | None:
        """A loss of positive probability that the grid should hit, if there is one."""


@dataclass(frozen=True)
class GaussianPair:
    """N(μ, 1) against N(0, 1), μ = ``shift``."""

    shift: float

    def delta(self, epsilons: Floats) -> Floats:
        """φ(u)·(M(u) − M(u + μ)) with u = ε/μ − μ/2 and Mills' ratio M, as in profiles.gaussian."""
        lower = epsilons / self.shift - self.shift / 2
        with np.errstate(under="ignore"):
            density = np.exp(-lower * lower / 2) / math.sqrt(2 * math.pi)
        if self.shift < 0.5:
            return density * self.shift * self._mean_slope(lower)
        upper = lower + self.shift
        far = _mills(np.maximum(lower, 0.0)) - _mills(upper)
        near = special.ndtr(-lower) - density * _mills(upper)
        return np.where(lower < 0, near, density * far)

    def reach(self, delta: float) -> float:
        """ρ-zCDP with ρ = μ²/2 at δ (Bun & Steinke 2016)."""
        return self.shift * self.shift / 2 + self.shift * math.sqrt(2 * math.log(1 / delta))

    @property
    def atom(self) -> None:
        """None: the loss is continuous, and no value has mass of its own."""

    def _mean_slope(self, lower: Floats) -> Floats:
        """The mean of −M′ over [u, u + μ]."""
        total = np.zeros_like(lower)
        for node, weight in zip((_NODES + 1) / 2 * self.shift, _WEIGHTS / 2, strict=True):
            x = lower + node
            total += weight * (1 - x * _mills(x))
        return total


@dataclass(frozen=True)
class LaplacePair:
    """Laplace noise of scale 1 shifted by a = ``shift``."""

    shift: float

    def delta(self, epsilons: Floats) -> Floats:
        """1 − e^{(ε−a)/2} below a."""
        return -np.expm1(np.minimum(epsilons - self.shift, 0.0) / 2)

    def reach(self, delta: float) -> float:  # noqa: ARG002
        """The loss is at most a."""
        return self.shift

    @property
    def atom(self) -> float:
        """The largest loss, which has mass of its own."""
        return self.shift


@dataclass(frozen=True)
class LogisticPair:
    """Logistic noise of scale 1 shifted by a = ``shift``; it dominates a-bounded-range releases."""

    shift: float

    def delta(self, epsilons: Floats) -> Floats:
        """(1 − e^{(ε−a)/2})²/(1 − e^{−a}) below a."""
        values: Floats = np.expm1(np.minimum(epsilons - self.shift, 0.0) / 2) ** 2
        return values / -math.expm1(-self.shift)

    def reach(self, delta: float) -> float:  # noqa: ARG002
        """The loss is at most a."""
        return self.shift

    @property
    def atom(self) -> None:
        """None: the loss is continuous, and no value has mass of its own."""


@dataclass(frozen=True)
class ResponsePair:
    """Randomised response among C classes, failing with probability ``failure``.

    Of two classes it is the worst (ε, δ)-DP release.
    """

    epsilon: float
    failure: float = 0.0
    classes: int = 2

    def delta(self, epsilons: Floats) -> Floats:
        """δ₀ + (1−δ₀)(e^{ε₀} − e^ε)₊/(e^{ε₀} + C − 1)."""
        total = 1 + (self.classes - 1) * math.exp(-self.epsilon)
        below = -np.expm1(np.minimum(epsilons - self.epsilon, 0.0)) / total
        return self.failure + (1 - self.failure) * below

    def reach(self, delta: float) -> float:  # noqa: ARG002
        """The finite loss is at most ε₀."""
        return self.epsilon

    @property
    def atom(self) -> float:
        """The largest loss, which has mass of its own."""
        return self.epsilon


@dataclass(frozen=True)
class PoissonPair:
    """(1−q)Q + qP against Q, q = ``rate``: Poisson sampling under add-remove.

    Domination is kept (Zhu, Dong & Wang 2022, Theorem 11). ``removed`` is the direction above,
    ``added`` the reverse; at q = 1 both are the pair itself.
    """

    pair: Pair
    rate: float = 1.0

    @property
    def symmetric(self) -> bool:
        """Whether both directions are the same."""
        return self.rate == 1

    def removed(self, epsilons: Floats) -> Floats:
        """q·δ(ln(1 + (e^ε − 1)/q)), rounded up."""
        if self.rate == 1:
            return self.pair.delta(epsilons)
        with np.errstate(over="ignore"):
            near = np.log1p(np.expm1(epsilons) / self.rate)
        far = epsilons + np.log1p(-(1 - self.rate) * np.exp(-epsilons)) - math.log(self.rate)
        inner = np.where(epsilons < 1, near, far) * (1 - 8 * _ULP)
        return self.rate * self.pair.delta(inner)

    def added(self, epsilons: Floats) -> Floats:
        """e^ε·(q + e^{−ε} − 1)₊·δ(−ln(1 + (e^{−ε} − 1)/q)), rounded up; 0 from −ln(1−q) on."""
        if self.rate == 1:
            return self.pair.delta(epsilons)
        left = np.expm1(-epsilons) / self.rate
        inside = left > -1
        inner = -np.log1p(np.where(inside, left, 0.0) + 8 * _ULP)
        weight = np.exp(np.minimum(epsilons, 700.0)) * self.rate * (1 + left + 8 * _ULP)
        return np.where(inside, weight * self.pair.delta(np.maximum(inner, 0.0)), 0.0)

    def reach_removed(self, delta: float) -> float:
        """Where ``removed`` is down to δ."""
        return amplified_epsilon(self.pair.reach(delta), self.rate)

    def reach_added(self, delta: float) -> float:
        """Where ``added`` is down to δ: −ln(1 − q + q·e^{−reach})."""
        if self.rate == 1:
            return self.pair.reach(delta)
        return -math.log1p(self.rate * math.expm1(-self.pair.reach(delta)))


@dataclass(frozen=True)
class SubsetPair(PoissonPair):
    """A share q of the records without replacement, under replace-one.

    For ε ≥ 0 the divergence is q·δ(ln(1 + (e^ε − 1)/q)) (Balle, Barthe & Gaboardi 2018, Theorem 9).
    Replace-one has no direction, so this bounds both; the two halves meet in a convex curve, hence
    they are the divergence of one pair.
    """

    @property
    def symmetric(self) -> bool:
        """Both directions are the same."""
        return True

    def added(self, epsilons: Floats) -> Floats:
        """δ(ε) when a record is added: by symmetry that of ``removed``."""
        return self.removed(epsilons)

    def reach_added(self, delta: float) -> float:
        """Where ``added`` is down to δ: by symmetry ``reach_removed``."""
        return self.reach_removed(delta)


def _mills(x: Floats) -> Floats:
    values: Floats = math.sqrt(math.pi / 2) * special.erfcx(x / math.sqrt(2))
    return values
