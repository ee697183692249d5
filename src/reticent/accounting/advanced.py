"""Advanced composition for releases of unequal (εᵢ, δᵢ) (Kairouz, Oh & Viswanath 2015, Thm 3.5).

ε = Σ εᵢ·tanh(εᵢ/2) + √(2·ln(1/δ′)·Σ εᵢ²) at δ = δ′ + Σ δᵢ.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from reticent.accounting import accountant, basic
from reticent.guarantee.events import Event
from reticent.guarantee.rounding import up
from reticent.validation import NotCoveredError


class Sums(NamedTuple):
    """Σ εᵢ, Σ εᵢ·tanh(εᵢ/2), Σ εᵢ² and Σ δᵢ; the bound grows with each of them."""

    epsilon: float
    drift: float
    squares: float
    delta: float


def release(event: Event) -> Sums:
    """The sums of one release; covers what basic composition covers."""
    return one(basic.release(event))


def one(spent: basic.Spent) -> Sums:
    """The sums of a single (ε, δ)."""
    epsilon, delta = spent
    return Sums(epsilon, up(epsilon * math.tanh(epsilon / 2)), up(epsilon * epsilon), delta)


def compose(parts: Sequence[tuple[Sums, int]]) -> Sums:
    """The costs of several releases: each of the sums adds up."""
    return Sums(
        *(basic.weighted_sum_up((part[i], count) for part, count in parts) for i in range(4))
    )


def worst(parts: Sequence[Sums]) -> Sums:
    """The largest of each sum."""
    return Sums(*(max(part[i] for part in parts) for i in range(4)))


def amplify(sums: Sums, share: float) -> Sums:
    """What is inside the sample is added up and then amplified as one release."""
    return one(basic.amplify(basic.Spent(sums.epsilon, sums.delta), share))


def epsilon(sums: Sums, delta: float) -> float:
    """The bound at δ′ = δ − Σ δᵢ, which must be positive."""
    left = delta - up(sums.delta)
    if not left > 0:
        raise NotCoveredError(
            f"advanced needs delta above the sum {sums.delta:.3g} of the parts, got {delta:.3g}"
        )
    return up(sums.drift + math.sqrt(2 * math.log(1 / left) * sums.squares))


ADVANCED: accountant.Accountant[Sums] = accountant.Accountant(
    name="advanced",
    theorem="advanced composition (Kairouz, Oh & Viswanath 2015, Theorem 3.5)",
    release=release,
    compose=compose,
    worst=worst,
    poisson=amplify,
    without_replacement=amplify,
    epsilon=epsilon,
)
