"""Poisson sampling in Rényi DP: the binomial sums of both theorems, term by term in 40 digits."""

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from reticent.accounting import amplification, rdp
from reticent.accounting.rdp import RDP
from reticent.guarantee import PoissonSampled, Relation, ZcdpEvent

CURVES = {
    "line": rdp.linear_curve(0.3),
    "logistic": rdp.logistic_curve(2.0),
    "pure": rdp.pure_curve(0.1),
}


def binomial_sum(order, rate, moment, factor):
    """ln Σ_l C(α, l)(1−q)^{α−l} q^l·f_l·e^{(l−1)·D_l}, where f_l is 1 up to l = 2.

    In the general theorem (Zhu & Wang 2019, Theorem 5) f_l is 3 from l = 3 on; where it is 1 too
    the sum is the exact moment of a pair that a reflection swaps.
    """
    q = mpf(rate)
    terms = [
        mpmath.binomial(order, part)
        * (1 - q) ** (order - part)
        * q**part
        * (factor if part >= 3 else 1)
        * (mpmath.exp(moment(part)) if part >= 2 else 1)
        for part in range(order + 1)
    ]
    return mpmath.log(mpmath.fsum(terms))


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("rate", [1e-3, 0.2, 0.9])
@pytest.mark.parametrize(
    ("theorem", "factor"), [(amplification.poisson_tight, 1), (amplification.poisson_general, 3)]
)
def test_each_theorem_is_its_sum(name, rate, theorem, factor):
    divergence = CURVES[name]
    found = dict(zip(amplification.NODES.tolist(), theorem(divergence, rate), strict=True))
    with mpmath.workdps(40):
        for order in (2, 3, 4, 9, 33, 64):

            def moment(part):
                return (part - 1) * mpf(float(divergence(np.array([float(part)]))[0]))

            expected = binomial_sum(order, rate, moment, factor)
            assert found[order] == pytest.approx(float(expected), rel=2e-8)


@pytest.mark.parametrize("rho", [1e-3, 0.2, 5.0])
@pytest.mark.parametrize("rate", [1e-3, 0.3])
def test_where_the_theorem_is_weak_convexity_bounds_it(rho, rate):
    """ln(1 − q + q·e^{(α−1)·D_α})/(α−1) at every order: also between and beyond the whole ones."""
    event = PoissonSampled(event=ZcdpEvent(rho=rho), rate=rate)
    orders = np.array([1.01, 1.5, 2.0, 2.5, 40.0, 5e3, 2e4])
    found = RDP.value(event, Relation.ADD_REMOVE).bound(orders)
    for order, bound in zip(orders.tolist(), found, strict=True):
        with mpmath.workdps(40):
            whole = mpmath.exp((mpf(order) - 1) * order * rho)
            least = float(mpmath.log(1 - rate + rate * whole) / (order - 1))
        assert bound <= least * (1 + 1e-9)
        if order > amplification.LARGEST_ORDER:
            assert bound == pytest.approx(least, rel=1e-9)
    assert math.isinf(RDP.value(event, Relation.ADD_REMOVE).bound(np.array([math.inf]))[0])
