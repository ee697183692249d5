"""Privacy loss distributions: the exact loss of every release on a grid, rounded up, convolved.

Tight up to the grid for Gaussian, Laplace and logistic noise, sampled or not, and for the worst
pure, bounded-range and (ε, δ)-DP releases.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import singledispatch
from types import MappingProxyType

from reticent.accounting import basic, convolution, dominating, objective
from reticent.accounting.accountant import Accountant, refuse
from reticent.guarantee import events, rounding
from reticent.validation import NotCoveredError

Losses = Mapping[dominating.PoissonPair, int]
"""How often each dominating pair occurs in a composition."""

_LEAST, _MOST = 1e-12, 1e3
"""Shifts below are counted as the least; beyond the most, floats cannot resolve the loss."""
LEAST_DELTA = 1e-250
_NEGLIGIBLE = 1e-5
"""The share of δ that may be spent on losses beyond the grid."""
_COARSEST, _FINEST = 2**12, 2**20
_LARGEST_GRID = 2**21


@singledispatch
def release(event: events.Event) -> Losses:
    """The pair that dominates one release."""
    refuse(event, "pld")


@release.register
def _(event: events.GaussianEvent) -> Losses:
    return _one(dominating.GaussianPair(_shift(basic.reciprocal_up(event.noise_multiplier))))


@release.register
def _(event: events.LaplaceEvent) -> Losses:
    if event.norm != "l1":
        refuse(event, "pld", "no pair is known to dominate it")
    return _one(dominating.LaplacePair(_shift(basic.reciprocal_up(event.noise_multiplier))))


@release.register
def _(event: events.LogisticEvent) -> Losses:
    if event.norm != "l1":
        refuse(event, "pld", "no pair is known to dominate it")
    return _one(dominating.LogisticPair(_shift(basic.reciprocal_up(event.noise_multiplier))))


@release.register
def _(event: events.ObjectiveEvent) -> Losses:
    """Its loss is bounded point by point (docs/theory.md I.2)."""
    shift = _shift(basic.reciprocal_up(event.noise_multiplier))
    bound = objective.ObjectiveBound(shift, rounding.up(event.curvature), event.directions)
    return MappingProxyType({objective.ObjectiveLoss(bound): 1})


@release.register
def _(event: events.BoundedRangeEvent) -> Losses:
    """Its profile is that of logistic noise with a = ε (Dong, Durfee & Rogers 2020; theory A)."""
    return _one(dominating.LogisticPair(_shift(event.epsilon))) if event.epsilon > 0 else {}


@release.register
def _(event: events.PureEvent) -> Losses:
    return _one(dominating.ResponsePair(_shift(event.epsilon))) if event.epsilon > 0 else {}


@release.register
def _(event: events.ResponseEvent) -> Losses:
    """Exact for two labels; the pair of a label and none is a mean of such pairs (theory I.4)."""
    if event.epsilon == 0:
        return {}
    return _one(dominating.ResponsePair(_shift(event.epsilon), classes=event.classes))


@release.register
def _(event: events.ApproximateEvent) -> Losses:
    """The worst (ε, δ)-DP release (Kairouz, Oh & Viswanath 2015)."""
    if event.epsilon == 0 and event.delta == 0:
        return {}
    return _one(dominating.ResponsePair(_shift(event.epsilon), event.delta))


def _one(
    pair: dominating.GaussianPair
    | dominating.LaplacePair
    | dominating.LogisticPair
    | dominating.ResponsePair,
) -> Losses:
    return MappingProxyType({dominating.PoissonPair(pair): 1})


def _shift(value: float) -> float:
    """A larger shift is a larger loss, so the least one bounds all below it."""
    if not value <= _MOST:
        raise NotCoveredError(f"pld needs a loss of at most {_MOST:g} deviations, got {value:.3g}")
    return max(value, _LEAST)


def compose(parts: Sequence[tuple[Losses, int]]) -> Losses:
    """Pairs multiply, losses add up; Gaussians become one with 1/σ² = Σ 1/σᵢ²."""
    total: Counter[dominating.PoissonPair] = Counter()
    squares = 0.0
    for losses, count in parts:
        for sampled, times in losses.items():
            if isinstance(sampled.pair, dominating.GaussianPair) and sampled.rate == 1:
                squares += count * times * sampled.pair.shift * sampled.pair.shift
            else:
                total[sampled] += count * times
    if squares > 0:
        total[
            dominating.PoissonPair(dominating.GaussianPair(_shift(rounding.up(math.sqrt(squares)))))
        ] += 1
    return MappingProxyType(total)


def worst(parts: Sequence[Losses]) -> Losses:
    """Equal parts only: two different pairs need not have one that dominates both."""
    if any(part != parts[0] for part in parts):
        raise NotCoveredError("pld does not cover a choice between different events")
    return parts[0]


def poisson(losses: Losses, rate: float) -> Losses:
    """Poisson sampling of one release, or of Gaussians, which are one release."""
    return _sampled(losses, rate, dominating.PoissonPair)


def without_replacement(losses: Losses, share: float) -> Losses:
    """A fixed number of records without replacement, of one release or of Gaussians."""
    return _sampled(losses, share, dominating.SubsetPair)


def _sampled(losses: Losses, share: float, kind: type[dominating.PoissonPair]) -> Losses:
    """A sample of a sample is a sample with the product of the shares."""
    if not losses:
        return losses
    if sum(losses.values()) > 1:
        raise NotCoveredError("pld does not cover several kinds of noise on one subsample")
    (inner,) = losses
    if isinstance(inner, objective.ObjectiveLoss):
        raise NotCoveredError("pld does not cover objective perturbation on a subsample")
    rate = min(max(rounding.up(inner.rate * share), _LEAST), 1.0)
    return MappingProxyType({kind(inner.pair, rate): 1})


def epsilon(losses: Losses, delta: float) -> float:
    """The larger ε of the two directions, for δ > 0."""
    if delta < LEAST_DELTA:
        raise NotCoveredError(f"pld needs delta >= {LEAST_DELTA:g}, got {delta:.3g}")
    if not losses:
        return 0.0
    parts, theta = _grids(losses, delta)
    largest = convolution.epsilon(parts, delta, theta)
    if not all(sampled.symmetric for sampled in losses):
        reverse = [(grid.reverse(), count) for grid, count in parts]
        largest = max(largest, convolution.epsilon(reverse, delta, theta))
    if not math.isfinite(largest):
        raise NotCoveredError(f"pld has no finite epsilon at delta = {delta:.3g}")
    return rounding.up(largest)


def _grids(losses: Losses, delta: float) -> tuple[convolution.Parts, float]:
    """All losses on one grid whose step is a fixed share of the spread of their sum; its tilt.

    Rounding a loss to a step h adds at most h²/4 to its variance; with 600·√count points in a
    window of 14 deviations the variance of the sum grows by less than 3·10⁻⁴ of itself.
    """
    count = sum(losses.values())
    points = min(max(600 * math.sqrt(count), _COARSEST), _FINEST)
    negligible = _NEGLIGIBLE * delta / count
    reach = max(s.reach_removed(negligible) + s.reach_added(negligible) for s in losses)
    atoms = [s.pair.atom for s in losses if s.rate == 1 and s.pair.atom]
    step, theta = _aligned(min(reach / 64, 64.0), atoms), None
    for _ in range(8):
        parts = [
            (convolution.connect_dots(s, step, negligible), times) for s, times in losses.items()
        ]
        tilt = convolution.tilt_for(parts, delta, theta)
        theta = tilt.theta
        target_step = 2 * convolution.HALF_WIDTH * tilt.deviation / points
        target_step = max(target_step, reach / _LARGEST_GRID)
        if target_step > 0.8 * step:
            break
        step = _aligned(target_step, atoms)
    return parts, tilt.theta


def _aligned(step: float, atoms: Sequence[float]) -> float:
    """A step not above ``step`` that divides the first atom, so that it need not be rounded."""
    return atoms[0] / math.ceil(atoms[0] / step) if atoms else step


PLD: Accountant[Losses] = Accountant(
    name="pld",
    theorem="privacy loss distributions, discretised from above (Doroshenko et al. 2022)",
    release=release,
    compose=compose,
    worst=worst,
    poisson=poisson,
    without_replacement=without_replacement,
    epsilon=epsilon,
)
