"""What an audit of a function would have found: the power of counting one event.

A claim that is not refuted says something only where a fault would have been. The fault here is
noise of a share of what the claim needs: Gaussian noise where δ > 0, Laplace noise where δ = 0, and
randomised response where outputs are labels. Its two error rates at the best threshold are known,
so it is known how many counted runs refute the claim with probability ``POWER``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special, stats

from reticent.arrays import Floats
from reticent.audit import additive, error_counts, lower_bound
from reticent.audit.many_runs import POWER
from reticent.mechanisms.profiles import gaussian

HALF: Final = 0.5
"""The share of noise that an audit should find the lack of: a forgotten 2 of the sensitivity."""
FEWEST_CHOSEN: Final = 40_000
MOST_CHOSEN: Final = 400_000
"""Runs on each input that are chosen unasked."""
_SHARES: Final = 40
_THRESHOLDS: Final = 300

Parts = Callable[[int], int]
"""How many of so many runs are counted."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A claim and how it is audited: ``kind`` of fault, and the noise where the user states it."""

    epsilon: float
    delta: float
    beta: float
    labels: bool = False
    gaussian_noise: bool = False


def finds(asked: Asked, counted: int, share: float) -> bool:
    """Whether so many counted runs refute, with power 0.95, noise of this share of what is due."""
    if asked.epsilon == 0:
        return False
    if asked.gaussian_noise and _finds_noise(asked, counted, share):
        return True
    fpr, fnr = _rates(asked, share)
    # Errors above these happen with probability (1 − power)/2 each.
    errors = [stats.binom.ppf((1 + POWER) / 2, counted, rate) for rate in (fpr, fnr)]
    limits = [error_counts.highest_rate(many, counted, asked.beta / 2) for many in errors]
    return bool(np.max(error_counts.log_ratio(limits[0], limits[1], asked.delta)) > asked.epsilon)


def reach(asked: Asked, counted: int) -> float | None:
    """The largest share of the noise that is due whose fault these runs would have found.

    None where not even a fortieth would have been.

    >>> reach(Asked(epsilon=1.0, delta=0.0, beta=1e-6), 20_000) > HALF
    True
    >>> reach(Asked(epsilon=1.0, delta=1e-5, beta=1e-6), 20_000) < HALF
    True
    """
    low, high = 0, _SHARES - 1  # in fortieths; what finds more noise finds less, too
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if finds(asked, counted, middle / _SHARES) else (low, middle - 1)
    return low / _SHARES if low else None


def runs_to_find_half(asked: Asked, counted_of: Parts) -> int:
    """Runs on each input that find half the noise; ``MOST_CHOSEN`` where even more are needed."""
    runs = FEWEST_CHOSEN
    while runs < MOST_CHOSEN and not finds(asked, counted_of(runs), HALF):
        runs = round(1.25 * runs)
    return min(runs, MOST_CHOSEN)


def _rates(asked: Asked, share: float) -> tuple[Floats, Floats]:
    """False positive and negative rates of tests of a faulty function, over thresholds."""
    if asked.labels:
        wrong = special.expit(-np.array([asked.epsilon / share]))
        return wrong, wrong
    if asked.delta == 0:
        shift = asked.epsilon / share
        thresholds = np.linspace(-2.0, shift + 2.0, _THRESHOLDS)
        return stats.laplace.sf(thresholds), stats.laplace.cdf(thresholds - shift)
    shift = gaussian.shift(asked.epsilon, asked.delta) / share
    thresholds = np.linspace(-4.0, shift + 4.0, _THRESHOLDS)
    return stats.norm.sf(thresholds), stats.norm.cdf(thresholds - shift)


def _finds_noise(asked: Asked, counted: int, share: float) -> bool:
    """The same by the size of Gaussian noise, where the user states that it is added."""
    shift = gaussian.shift(asked.epsilon, asked.delta) / share
    unlucky = stats.norm.isf((1 - POWER) / 2)
    difference = shift - unlucky * np.sqrt(2 / counted)
    deviation = 1 + unlucky / np.sqrt(4 * counted)
    mu = additive.lowest_mu(difference, deviation, counted, beta=asked.beta)
    return lower_bound.epsilon_of_mu(mu, asked.delta) > asked.epsilon
