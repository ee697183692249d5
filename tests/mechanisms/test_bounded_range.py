"""The exponential mechanism is ε₀-bounded-range: what that gives is never worse than pure ε₀-DP."""

import math

import numpy as np
import pytest

from reticent.mechanisms.profiles import logistic, pure

EPSILONS = [1e-6, 0.01, 0.3, 1.0, 4.0, 7.9, 8.1, 30.0, 700.0]


def two_valued(epsilon, threshold):
    """The two losses of a worst ε₀-bounded-range pair, t and t − ε₀, and P of the larger."""
    high, low = threshold, threshold - epsilon
    share = (1 - math.exp(-low)) / (math.exp(-high) - math.exp(-low))
    return high, low, share


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_rho_is_an_eighth_of_the_square_and_at_most_the_pure_one(epsilon):
    found = pure.bounded_range_zcdp(epsilon)
    assert found <= epsilon * epsilon / 8
    assert found <= pure.zcdp(epsilon) == pytest.approx(epsilon * math.tanh(epsilon / 2))
    assert found in (epsilon * epsilon / 8, pure.zcdp(epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS[2:7])
def test_no_worst_pair_of_two_losses_exceeds_the_bounds(epsilon):
    for threshold in np.linspace(0.01, 0.99, 33) * epsilon:
        high, low, share = two_valued(epsilon, threshold)
        assert 0 < share < 1
        kl = share * high + (1 - share) * low
        assert kl <= pure.bounded_range_zcdp(epsilon) * (1 + 1e-12)
        for order in (1.5, 2.0, 8.0):
            logs = [math.log(share) + (order - 1) * high, math.log1p(-share) + (order - 1) * low]
            divergence = float(np.logaddexp(*logs)) / (order - 1)
            assert divergence <= pure.bounded_range_rdp(epsilon, order) * (1 + 1e-12)
        for at in (0.0, 0.3 * epsilon):
            delta = sum(
                mass * max(0.0, -math.expm1(at - loss))
                for mass, loss in ((share, high), (1 - share, low))
            )
            assert delta <= pure.bounded_range_delta(epsilon, at) * (1 + 1e-9)


def test_its_profile_is_that_of_logistic_noise():
    for epsilon in EPSILONS:
        for at in (0.0, 0.2 * epsilon, epsilon):
            assert pure.bounded_range_delta(epsilon, at) == logistic.delta(epsilon, at)
        for order in (1.5, 3.0, math.inf):
            expected = min(order * epsilon * epsilon / 8, logistic.rdp(epsilon, order))
            assert pure.bounded_range_rdp(epsilon, order) == expected
