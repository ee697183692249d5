"""The amplification theorems against exact divergences of mixtures; the curves they start from."""

import math

import numpy as np
import pytest
from scipy import integrate

from reticent.accounting import amplification, rdp
from reticent.accounting.accountant import Accountant
from reticent.accounting.rdp import ORDERS, RDP
from reticent.guarantee import (
    GaussianEvent,
    LaplaceEvent,
    LogisticEvent,
    PoissonSampled,
    Relation,
    SampledWithoutReplacement,
)
from reticent.mechanisms.profiles import laplace, logistic, pure

X = np.linspace(-50, 50, 100_001)
LOG_DENSITIES = {
    GaussianEvent: lambda x: -x * x / 2 - 0.5 * math.log(2 * math.pi),
    LaplaceEvent: lambda x: -np.abs(x) - math.log(2),
    LogisticEvent: lambda x: -np.abs(x) - 2 * np.log1p(np.exp(-np.abs(x))),
}
KINDS = list(LOG_DENSITIES)


def divergence(first, second, order):
    """D_α between two log densities; their kinks are even points of X, as Simpson's rule likes."""
    logs = order * first - (order - 1) * second
    peak = logs.max()
    return (peak + math.log(integrate.simpson(np.exp(logs - peak), x=X))) / (order - 1)


def curve(event, relation, orders):
    accountant: Accountant = RDP
    return accountant.value(event, relation).bound(np.asarray(orders, dtype=float))


@pytest.mark.parametrize("shift", [1e-6, 0.01, 0.9, 4.0, 300.0])
@pytest.mark.parametrize(
    ("vectorised", "scalar"),
    [
        (rdp.laplace_curve, laplace.rdp),
        (rdp.logistic_curve, logistic.rdp),
        (rdp.pure_curve, pure.rdp),
    ],
)
def test_curves_are_those_of_the_profiles(vectorised, scalar, shift):
    expected = [scalar(shift, float(order)) for order in ORDERS]
    assert vectorised(shift)(ORDERS) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("noise", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("rate", [0.01, 0.3])
def test_poisson_sampling_bounds_both_directions_and_is_exact_in_one(kind, noise, rate):
    """For a symmetric pair the theorem is an equality at whole orders."""
    log_density = LOG_DENSITIES[kind]
    still, moved = log_density(X), log_density(X - 1 / noise)
    mixed = np.logaddexp(math.log1p(-rate) + still, math.log(rate) + moved)
    event = PoissonSampled(event=kind(noise_multiplier=noise), rate=rate)
    orders = [1.3, 2.0, 2.5, 3.0, 5.0, 8.0, 12.0]
    for order, bound in zip(orders, curve(event, Relation.ADD_REMOVE, orders), strict=True):
        removed, added = divergence(mixed, still, order), divergence(still, mixed, order)
        assert added <= removed * (1 + 1e-6) + 1e-12
        assert removed <= bound * (1 + 1e-6) + 1e-12
        if order == int(order):
            assert bound == pytest.approx(removed, rel=1e-5, abs=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("noise", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("rate", [0.01, 0.3])
def test_the_general_poisson_theorem_is_above_the_tight_one(kind, noise, rate):
    value = RDP.release(kind(noise_multiplier=noise))
    tight = amplification.poisson_tight(value.pair, rate)
    general = amplification.poisson_general(value.bound, rate)
    assert np.all(general >= tight)
    assert general[0] == pytest.approx(tight[0])
    assert general[1] > tight[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("noise", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("size", [1, 3])
def test_sampling_without_replacement_bounds_the_mixtures(kind, noise, size):
    """The sum of ``size`` of ten records that lie within one sensitivity; one is replaced."""
    log_density = LOG_DENSITIES[kind]
    event = SampledWithoutReplacement(event=kind(noise_multiplier=noise), size=size, population=10)
    orders = [1.5, 2.0, 3.0, 3.5, 6.0, 9.0]
    bounds = curve(event, Relation.REPLACE_ONE, orders)
    shift, share = 1 / noise, size / 10
    for other in (0.0, 0.5 * shift, shift):
        rest = log_density(X - size * other)
        for old, new in ((0.0, shift), (0.2 * shift, 0.8 * shift), (shift, 0.0)):
            first, second = (
                np.logaddexp(
                    math.log1p(-share) + rest,
                    math.log(share) + log_density(X - (size - 1) * other - place),
                )
                for place in (old, new)
            )
            for order, bound in zip(orders, bounds, strict=True):
                assert divergence(first, second, order) <= bound * (1 + 1e-6) + 1e-9


def test_theorem_nine_term_by_term():
    """e^{(α−1)ε} − 1 at α = 3 by hand, with and without a finite ε(∞)."""
    share, spread = 0.1, 0.25
    for kind, largest in ((rdp.linear_curve(spread), math.inf), (rdp.laplace_curve(0.5), 0.5)):
        two, three = (float(kind(np.array([order]))[0]) for order in (2.0, 3.0))
        ratio = math.expm1(largest) if largest < 700 else math.inf
        first = 3 * share**2 * min(4 * math.expm1(two), math.exp(two) * min(2, ratio**2))
        second = share**3 * math.exp(2 * three) * min(2, ratio**3)
        got = amplification.without_replacement(kind, share)[1]
        assert got == pytest.approx(math.log1p(first + second), rel=1e-8)


def test_chords_are_convex_bounds():
    """K(α) = (α−1)·D_α is convex, so what is interpolated lies above what is exact."""
    exact = rdp.linear_curve(0.5)
    nodes = amplification.NODES.astype(float)
    interpolated = amplification.interpolate(
        (nodes - 1) * exact(nodes), lambda orders: np.full(orders.shape, math.inf), math.inf
    )
    orders = ORDERS[ORDERS <= nodes[-1]]
    assert np.all(interpolated(orders) >= exact(orders) * (1 - 1e-12))
    assert np.all(np.isinf(interpolated(ORDERS[ORDERS > nodes[-1]])))


def test_the_sum_is_accurate_where_little_is_lost():
    """At small rates e^K − 1 is far below the rounding of 1 and must not vanish."""
    got = amplification.poisson_tight(rdp.linear_curve(0.5), 1e-9)[0]
    assert got == pytest.approx(1e-18 * math.expm1(1.0), rel=1e-6, abs=0)
