"""Gaussian DP: no easier to attack than N(0, 1) against N(μ, 1) (Dong, Roth & Su 2022).

Exact for Gaussian noise in any composition; an upper bound for pure releases.
"""

import math
from collections.abc import Sequence
from functools import singledispatch

from reticent.accounting.accountant import Accountant, no_amplification, refuse
from reticent.guarantee import events
from reticent.guarantee.rounding import up
from reticent.mechanisms.profiles import gaussian, pure
from reticent.validation import NotCoveredError, count, non_negative


@singledispatch
def mu(event: events.Event) -> float:
    """The μ of one release."""
    refuse(event, "gdp")


@mu.register
def _(event: events.GaussianEvent) -> float:
    return up(1 / event.noise_multiplier)


@mu.register
def _(event: events.PureEvent | events.BoundedRangeEvent) -> float:
    return _of_pure(event.epsilon)


@mu.register
def _(event: events.LaplaceEvent | events.LogisticEvent) -> float:
    if event.norm != "l1":
        refuse(event, "gdp", "it is pure under an L1 bound only")
    return _of_pure(up(1 / event.noise_multiplier))


def _of_pure(epsilon: float) -> float:
    return up(pure.gdp(epsilon)) if epsilon > 0 else 0.0


def compose(parts: Sequence[tuple[float, int]]) -> float:
    """μ = √(Σ μᵢ²) (Dong, Roth & Su 2022, Corollary 3.3)."""
    return up(math.hypot(*(part * math.sqrt(count) for part, count in parts)))


def group(mu: float, size: int) -> float:
    """The μ for ``size`` records at once: jμ (Dong, Roth & Su 2022, Theorem 2.14)."""
    return up(non_negative("mu", mu) * count("size", size))


def epsilon(mu: float, delta: float) -> float:
    """The smallest ε with δ(ε) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) ≤ δ, for δ > 0."""
    if math.isinf(mu):
        return math.inf
    if delta == 0 and mu > 0:
        raise NotCoveredError("gdp needs delta > 0, got 0")
    return up(gaussian.epsilon(mu, delta))


GDP: Accountant[float] = Accountant(
    name="gdp",
    theorem="Gaussian DP (Dong, Roth & Su 2022)",
    release=mu,
    compose=compose,
    worst=max,
    poisson=no_amplification("gdp"),
    without_replacement=no_amplification("gdp"),
    epsilon=epsilon,
)
