"""Zero-concentrated differential privacy: D_α ≤ αρ for every α > 1 (Bun & Steinke 2016).

ρ adds up; there is no amplification by sampling that keeps the form, so sampled events are refused.
"""

import math
from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from reticent.accounting.accountant import Accountant, no_amplification, refuse
from reticent.accounting.basic import weighted_sum_up
from reticent.guarantee import events
from reticent.guarantee.rounding import up
from reticent.mechanisms.profiles import conversions, gaussian, laplace, logistic, pure
from reticent.validation import NotCoveredError, count, non_negative


@singledispatch
def rho(event: events.Event) -> float:
    """The ρ of one release."""
    refuse(event, "zcdp")


@rho.register
def _(event: events.GaussianEvent) -> float:
    return up(gaussian.zcdp(1 / event.noise_multiplier))


@rho.register
def _(event: events.LaplaceEvent) -> float:
    rule = laplace.zcdp if event.norm == "l1" else laplace.zcdp_l2
    return up(rule(1 / event.noise_multiplier))


@rho.register
def _(event: events.LogisticEvent) -> float:
    rule = logistic.zcdp if event.norm == "l1" else logistic.zcdp_l2
    with np.errstate(over="ignore", invalid="ignore"):  # in the branch that is not taken
        return up(rule(1 / event.noise_multiplier))


@rho.register
def _(event: events.PureEvent) -> float:
    return up(pure.zcdp(event.epsilon))


@rho.register
def _(event: events.BoundedRangeEvent) -> float:
    return up(pure.bounded_range_zcdp(event.epsilon))


@rho.register
def _(event: events.ZcdpEvent) -> float:
    return event.rho


def compose(parts: Sequence[tuple[float, int]]) -> float:
    """ρ adds up (Bun & Steinke 2016, Lemma 1.7)."""
    return weighted_sum_up(parts)


def group(rho: float, size: int) -> float:
    """The ρ for ``size`` records at once: j²ρ (Bun & Steinke 2016, Proposition 1.9)."""
    return up(non_negative("rho", rho) * count("size", size) ** 2)


def epsilon(rho: float, delta: float) -> float:
    """The ε of ρ at δ > 0."""
    if delta == 0 and rho > 0:
        raise NotCoveredError("zcdp needs delta > 0, got 0")
    converted = conversions.zcdp_to_epsilon(rho, delta)
    return up(converted) if math.isfinite(converted) else math.inf


ZCDP: Accountant[float] = Accountant(
    name="zcdp",
    theorem="zero-concentrated DP (Bun & Steinke 2016)",
    release=rho,
    compose=compose,
    worst=max,
    poisson=no_amplification("zcdp"),
    without_replacement=no_amplification("zcdp"),
    epsilon=epsilon,
)
