"""The closed forms against quadrature of the densities, over all shifts a user can reach."""

import functools
import itertools

import flint
import mpmath
import numpy as np
import pytest
from flint import arb
from mpmath import mp, mpf

from reticent.mechanisms.profiles import conversions, gaussian, laplace, logistic, pure

SHIFTS = (1e-9, 1e-6, 1e-3, 0.05, 0.4, 1.0, 2.5, 10.0, 100.0, 800.0, 2000.0)
FRACTIONS = (0.0, 0.2, 0.5, 0.9, 0.999)
ORDERS = (1 + 1e-10, 1 + 1e-6, 1.01, 1.5, 2.0, 8.0, 64.0, 1024.0)


@pytest.fixture(autouse=True)
def _digits():
    """Differences cancel up to thirty of them; balls say how many are left."""
    with flint.ctx.workdps(50), mp.workdps(26):
        yield


def log_logistic(x):
    return -abs(x) - 2 * (-abs(x)).exp().log1p()


def log_laplace(x):
    return -abs(x) - arb(2).log()


DENSITIES = {logistic: log_logistic, laplace: log_laplace}
NOISES = pytest.mark.parametrize("noise", DENSITIES, ids=lambda module: module.__name__[20:])


NODES = 40
"""Of Gauss and Legendre on each piece: exact for polynomials of degree 79."""
NEAR = tuple(sign * 10.0**power * part for sign in (-1, 1) for power in range(-5, 2)
             for part in (1, 3))  # fmt: skip
"""Pieces shrink towards the kinks: a large order decays there within 10⁻³."""


@functools.cache
def gauss_legendre():
    """Nodes in [−1, 1] with their weights."""
    return [arb.legendre_p_root(NODES, place, weight=True) for place in range(NODES)]


def quadrature(function, points):
    """The integral over [first, last], piece by piece; the function is smooth within each."""
    total = arb(0)
    for low, high in itertools.pairwise(points):
        middle, half = (low + high) / 2, (high - low) / 2
        values = (weight * function(middle + half * node) for node, weight in gauss_legendre())
        total += half * sum(values)
    return total


def middles(*points):
    """Balls without a radius, which have an order; no point twice."""
    found = sorted(arb(point).mid() for point in points)
    return [
        point for before, point in zip([None, *found[:-1]], found, strict=True) if point != before
    ]


def integrate(function, shift):
    """Over the real line, cut where the densities have their kinks and their bulk."""
    a = arb(shift)
    inner = [a * k / 8 for k in range(9)] if shift > 4 else [0, a / 2, a]
    near = [c + d for c in (0, a) for d in (*NEAR, -100, 100)]
    return quadrature(function, middles(-120, *inner, *near, a + 120))


def quadrature_delta(log_density, shift, epsilon):
    """∫ (p(x − a) − e^ε·p(x))₊ dx, cut at the sign change."""
    a, e = arb(shift), arb(epsilon)

    def loss(x):
        return log_density(x - a) - log_density(x) - e

    low, high = arb(-200), a + 200
    for _ in range(160):
        middle = ((low + high) / 2).mid()
        low, high = (middle, high) if loss(middle).mid() < 0 else (low, middle)
    kinks = [arb(0), a, a / 2, high]
    cuts = [c + d for c in kinks for d in (0, *NEAR, 5, 20, 50)]
    end = max(float(high.mid()), shift) + 150
    points = [point for point in middles(high, *cuts, end) if high <= point <= end]

    def excess(x):
        return -log_density(x - a).exp() * (-loss(x)).expm1()

    return quadrature(excess, points)


@NOISES
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("fraction", FRACTIONS)
def test_delta_is_the_integral(noise, shift, fraction):
    epsilon = fraction * shift
    expected = quadrature_delta(DENSITIES[noise], shift, epsilon)
    assert abs(noise.delta(shift, epsilon) / expected - 1) < 1e-9


@NOISES
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("order", ORDERS)
def test_rdp_is_the_integral(noise, shift, order):
    a, alpha, log_density = arb(shift), arb(order), DENSITIES[noise]
    top = (alpha - 1) * a  # the largest exponent, taken out against overflow

    def excess(x):
        """p^α·q^{1−α} − q·1: small where p ≈ q, so that small divergences keep their digits."""
        loss = log_density(x - a) - log_density(x)
        return log_density(x).exp() * (alpha * loss).expm1()

    def scaled(x):
        return (alpha * log_density(x - a) + (1 - alpha) * log_density(x) - top).exp()

    if top > 1:
        expected = (integrate(scaled, shift).log() + top) / (alpha - 1)
    else:
        expected = integrate(excess, shift).log1p() / (alpha - 1)
    assert abs(noise.rdp(shift, order) / expected - 1) < 1e-9


@NOISES
@pytest.mark.parametrize("shift", SHIFTS)
def test_zcdp_is_the_divergence_at_order_one(noise, shift):
    log_density, a = DENSITIES[noise], arb(shift)
    if shift > 50:  # closed form in 50 digits; quadrature below confirms it for the rest
        expected = a - 1 + (-a).exp() if noise is laplace else a * (a / 2).coth() - 2
    else:

        def integrand(x):
            loss = log_density(x - a) - log_density(x)
            return log_density(x).exp() * (loss * loss.exp() - loss.expm1())

        expected = integrate(integrand, shift)
    assert abs(noise.zcdp(shift) / expected - 1) < 1e-9


@NOISES
@pytest.mark.parametrize("shift", SHIFTS)
def test_zcdp_bounds_every_order(noise, shift):
    rho = noise.zcdp(shift)
    for order in ORDERS:
        assert noise.rdp(shift, order) <= order * rho * (1 + 1e-12)
    assert rho <= noise.zcdp_l2(shift) * (1 + 1e-12)


@pytest.mark.parametrize("shift", [*SHIFTS[:-2], 0.49, 0.5, 3.0, 40.0])
@pytest.mark.parametrize("ratio", [0.0, 0.01, 0.5, 1.0, 5.0, 25.0])
def test_gaussian_delta_to_full_accuracy(shift, ratio):
    epsilon = ratio * shift
    with mp.workdps(400):
        m, e = mpf(shift), mpf(epsilon)
        expected = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
    assert abs(gaussian.delta(shift, epsilon) / expected - 1) < 1e-9


def test_gaussian_delta_is_the_integral():
    m, e = mpf("0.7"), mpf("0.3")
    cut = e / m - m / 2 + m

    def excess(x):
        return mpmath.npdf(x - m) - mpmath.exp(e) * mpmath.npdf(x)

    expected = mpmath.quad(excess, [cut, 2, 5, 20])
    assert abs(gaussian.delta(0.7, 0.3) / expected - 1) < 1e-12


@pytest.mark.parametrize(
    "noise", [logistic, laplace, gaussian, pure], ids=lambda m: m.__name__[20:]
)
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.01, 0.3])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 8.0, 300.0])
def test_shift_epsilon_and_delta_are_inverse(noise, epsilon, delta):
    shift = noise.shift(epsilon, delta)
    assert noise.delta(shift, epsilon) == pytest.approx(delta, rel=1e-7, abs=epsilon * 2**-50)
    assert noise.epsilon(shift, delta) == pytest.approx(epsilon, rel=1e-7)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("epsilon", [1e-9, 1e-4, 0.3, 1.0, 5.0, 300.0])
def test_pure_rdp_is_randomised_response(order, epsilon):
    with mp.workdps(400):
        e, alpha = mpf(epsilon), mpf(order)
        p = 1 / (1 + mpmath.exp(-e))
        total = p**alpha * (1 - p) ** (1 - alpha) + (1 - p) ** alpha * p ** (1 - alpha)
        expected = mpmath.log(total) / (alpha - 1)
    assert abs(pure.rdp(epsilon, order) / expected - 1) < 1e-9
    assert pure.rdp(epsilon, order) <= order * pure.zcdp(epsilon) * (1 + 1e-12)
    assert pure.zcdp(epsilon) <= epsilon**2 / 2


@pytest.mark.parametrize("pure_epsilon", [0.1, 1.0, 4.0])
def test_bounded_range_profile_is_the_worst_two_point_loss(pure_epsilon):
    """The envelope over t of P(loss = t) = (e^ε₀ − e^t)/(e^ε₀ − 1), else t − ε₀."""
    for epsilon in (0.0, 0.3 * pure_epsilon, 0.8 * pure_epsilon):
        t = pure_epsilon * np.linspace(0, 1, 4001)
        p = (np.exp(pure_epsilon) - np.exp(t)) / np.expm1(pure_epsilon)
        worst = (p * np.maximum(0, -np.expm1(epsilon - t))).max()
        moments = p * np.exp(7 * t) + (1 - p) * np.exp(7 * (t - pure_epsilon))
        divergence = np.log(moments.max()) / 7
        bound = pure.bounded_range_delta(pure_epsilon, epsilon)
        assert worst <= bound * (1 + 1e-9)
        assert worst == pytest.approx(bound, rel=1e-5)
        assert divergence <= pure.bounded_range_rdp(pure_epsilon, 8.0)


@pytest.mark.parametrize("epsilon", [1e-16, 1e-15, 5e-15, 1e-9, 1e-3, 0.5, 0.99, 1.01, 5.0, 600.0])
def test_gdp_of_a_pure_release_is_not_below_the_truth(epsilon):
    """Φ(μ/2) = e^ε/(1 + e^ε), so 2Φ(μ/2) − 1 = tanh(ε/2)."""
    with mp.workdps(400):
        reached = mpmath.erf(mpf(pure.gdp(epsilon)) * (1 + mpf(2) ** -46) / (2 * mpmath.sqrt(2)))
        assert reached >= mpmath.tanh(mpf(epsilon) / 2)
        assert reached <= mpmath.tanh(mpf(epsilon) / 2) * (1 + mpf(10) ** -11)


@NOISES
def test_zcdp_is_not_below_the_truth_where_series_end(noise):
    with mp.workdps(50):
        for shift in (0.0101, 0.0999, 0.1001, 0.1999, 0.2001, 0.5):
            a = mpf(shift)
            exact = a - 1 + mpmath.exp(-a) if noise is laplace else a * mpmath.coth(a / 2) - 2
            assert mpf(noise.zcdp(shift)) * (1 + mpf(2) ** -46) >= exact


@pytest.mark.parametrize("noise", [logistic, laplace, pure, gaussian])
def test_epsilon_near_zero_is_not_below_the_truth(noise):
    """Just below δ(0) the error of ε is that of the shift, far more than a relative one."""
    for shift in (0.42533203368659966, 1.3, 7.7):
        delta = noise.delta(shift, 0.0) * (1 - 1e-15)
        found = noise.epsilon(shift, delta)
        assert found == 0 or noise.delta(shift, found) <= delta * (1 + 1e-13)


def test_gdp_of_a_pure_release_lies_below_randomised_response():
    for epsilon in (0.01, 0.5, 2.0, 20.0):
        mu = pure.gdp(epsilon)
        for fraction in (0.0, 0.3, 0.9):
            inner = fraction * epsilon
            assert gaussian.delta(mu, inner) >= pure.delta(epsilon, inner) * (1 - 1e-12)


@pytest.mark.parametrize("rho", [1e-8, 1e-3, 0.1, 2.0, 500.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-5, 0.1])
def test_zcdp_conversions_agree_and_beat_the_simple_one(rho, delta):
    epsilon = conversions.zcdp_to_epsilon(rho, delta)
    assert epsilon <= rho + 2 * (rho * -float(mpmath.log(delta))) ** 0.5
    assert epsilon >= gaussian.epsilon((2 * rho) ** 0.5, delta)  # a Gaussian is ρ-zCDP
    if epsilon > 0:
        assert conversions.zcdp_to_delta(rho, epsilon) == pytest.approx(delta, rel=1e-3, abs=0)
        assert conversions.zcdp_for(epsilon, delta) == pytest.approx(rho, rel=1e-3, abs=0)


def test_alm_table_one_noise():
    """Noise std at ε = 1 from the L1 and L2 sensitivities of the paper's Table 1."""
    table = {  # L1, L2 -> Laplace, logistic, analytic and classical Gaussian at δ = 1e-5
        (0.017492, 0.013842): (0.0247, 0.0317, 0.0516, 0.0671),
        (0.020738, 0.016391): (0.0293, 0.0376, 0.0611, 0.0794),
        (0.013242, 0.010856): (0.0187, 0.0240, 0.0405, 0.0526),
    }
    for (l1, l2), expected in table.items():
        seen = (
            2**0.5 * l1 / laplace.shift(1.0, 0.0),
            float(mpmath.pi) / 3**0.5 * l1 / logistic.shift(1.0, 0.0),
            l2 / gaussian.shift(1.0, 1e-5),
            gaussian.classical_scale(l2, 1.0, 1e-5),
        )
        assert tuple(round(value, 4) for value in seen) == expected


def test_classical_gaussian_first_fails_near_eight():
    """Its proof ends at ε < 1; at δ = 1e-5 the σ itself stays enough up to ε = 8.42."""
    for epsilon, holds in ((0.9, True), (8.3, True), (8.5, False), (20.0, False)):
        shift = 1 / gaussian.classical_scale(1.0, epsilon, 1e-5)
        assert (gaussian.delta(shift, epsilon) <= 1e-5) is holds
