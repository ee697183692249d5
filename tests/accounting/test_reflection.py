"""Symmetric noise on a Poisson sample under an L2 bound: the tight theorem, and where it ends."""

import math

import numpy as np
import pytest
from scipy import integrate

from reticent.accounting import account
from reticent.accounting.rdp import RDP
from reticent.guarantee import (
    Composed,
    GaussianEvent,
    LaplaceEvent,
    LogisticEvent,
    PoissonSampled,
    Relation,
    Repeated,
)

X = np.linspace(-40, 40, 1601)
LOG_DENSITIES = {
    LaplaceEvent: lambda x: -np.abs(x) - math.log(2),
    LogisticEvent: lambda x: -np.abs(x) - 2 * np.log1p(np.exp(-np.abs(x))),
}


def bound(event, order):
    return float(RDP.value(event, Relation.ADD_REMOVE).bound(np.array([order]))[0])


def divergence(first, second, order):
    logs = order * first - (order - 1) * second
    peak = logs.max()
    total = integrate.simpson(integrate.simpson(np.exp(logs - peak), x=X), x=X)
    return (peak + math.log(total)) / (order - 1)


@pytest.mark.parametrize("kind", LOG_DENSITIES)
@pytest.mark.parametrize("shift", [(1.0, 0.0), (0.6, 0.8), (2.0, 2.0)])
@pytest.mark.parametrize("rate", [0.02, 0.4])
def test_both_directions_stay_below_the_bound_in_two_dimensions(kind, shift, rate):
    log_density = LOG_DENSITIES[kind]
    without = log_density(X)[:, None] + log_density(X)[None, :]
    within = log_density(X - shift[0])[:, None] + log_density(X - shift[1])[None, :]
    mixed = np.logaddexp(math.log1p(-rate) + without, math.log(rate) + within)
    release = kind(noise_multiplier=1 / math.hypot(*shift), norm="l2")
    for order in (2.0, 5.0, 12.0):
        limit = bound(PoissonSampled(event=release, rate=rate), order)
        assert divergence(mixed, without, order) <= limit * (1 + 1e-6)
        assert divergence(without, mixed, order) <= limit * (1 + 1e-6)


def test_the_scalar_inequality_behind_it():
    """f(r) + r·f(1/r) for f = (1−q+qr)^α dominates the one with 1−α (theory C.2)."""
    r = np.exp(np.linspace(0, 12, 400))[:, None, None]
    q = np.linspace(0, 1, 101)[None, :, None]
    alpha = np.array([1.01, 1.5, 2.0, 3.0, 8.0, 20.0])
    here, there = 1 - q + q * r, 1 - q + q / r
    larger = here**alpha + r * there**alpha
    smaller = here ** (1 - alpha) + r * there ** (1 - alpha)
    assert (larger >= smaller * (1 - 1e-12)).all()


def test_many_sampled_steps_cost_little_more_than_gaussian_ones():
    """ρ is that of a Gaussian with σ² = 3s², so equal ρ gives about equal ε under sampling too."""

    def epsilon(release):
        steps = Repeated(event=PoissonSampled(event=release, rate=0.01), count=1000)
        return account(steps, relation="add-remove", delta=1e-5, methods=["rdp"]).epsilon

    logistic = epsilon(LogisticEvent(noise_multiplier=1.0, norm="l2"))
    gaussian = epsilon(GaussianEvent(noise_multiplier=3**0.5))
    assert logistic == pytest.approx(gaussian, rel=1e-6)


def test_two_releases_on_one_sample_lose_it():
    """The second may look at the first: no reflection swaps the joint outputs."""
    release = LogisticEvent(noise_multiplier=2.0, norm="l2")
    other = LaplaceEvent(noise_multiplier=2.0, norm="l2")
    alone = RDP.value(release, Relation.ADD_REMOVE)
    assert alone.reflected
    for together in (
        Repeated(event=release, count=2),
        Composed(events=(release, other)),
        PoissonSampled(event=release, rate=0.5),
    ):
        assert not RDP.value(together, Relation.ADD_REMOVE).reflected
    assert RDP.value(Repeated(event=release, count=1), Relation.ADD_REMOVE).reflected
