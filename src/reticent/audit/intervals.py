"""Intervals that hold their confidence for shares, and for the difference of two shares.

A share has Clopper's and Pearson's interval (1934). For a difference p₁ − p₀ of independent shares
the popular intervals miss more often than they say: Newcombe's (1998) of 99 % up to ten times as
often in small samples, that of 1 − 1e-6 in more than 1 % of the worst cases. Here every pair
(p₁, p₀) is tested:

- Under the pair, the exact one-sided p-values P₁ = P[X₁ ≥ x₁] and P₀ = P[X₀ ≤ x₀] are independent
  and stochastically no smaller than uniform. So (s₁Φ⁻¹(P₁) + s₀Φ⁻¹(P₀))/√(s₁² + s₀²), Stouffer's
  sum, lies below the α-quantile of the normal distribution with probability α at most, for weights
  that depend on the pair alone. With sᵢ² = pᵢ(1 − pᵢ)/nᵢ it is the normal test where counts are
  large, so hardly any width is lost.
- Where a share is next to 0 its weight vanishes. So a tenth of α goes to limits of each share by
  itself.

The lower limit is the least p₁ − p₀ of the pairs that no test rejects; the upper one is the same
with the shares exchanged.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

from reticent.arrays import Floats

_APART: Final = 0.1
"""The part of α for limits of each share alone."""
_HALVINGS: Final = 30
_ALONG: Final = np.sin(np.linspace(0, np.pi / 2, 101)) ** 2
"""Where pairs of one difference are tested: more densely at the ends."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """``hits`` out of ``of`` independent trials; both may be real for planning."""

    hits: float
    of: float

    @property
    def value(self) -> float:
        """The estimate itself, hits over trials."""
        return self.hits / self.of

    def low(self, tail: float) -> float:
        """Above the true share with probability ``tail`` at most."""
        if self.hits <= 0:
            return 0.0
        return float(special.betaincinv(self.hits, self.of - self.hits + 1, tail))

    def high(self, tail: float) -> float:
        """Below the true share with probability ``tail`` at most."""
        if self.hits >= self.of:
            return 1.0
        return float(special.betainccinv(self.hits + 1, self.of - self.hits, tail))

    def so_many(self, chances: Floats) -> Floats:
        """P[as many hits or more] for each chance of a hit."""
        if self.hits <= 0:
            return np.ones_like(chances)
        return np.asarray(special.betainc(self.hits, self.of - self.hits + 1, chances))

    def so_few(self, chances: Floats) -> Floats:
        """P[as many hits or fewer] for each chance of a hit."""
        if self.hits >= self.of:
            return np.ones_like(chances)
        return np.asarray(special.betaincc(self.hits + 1, self.of - self.hits, chances))


def share_interval(share: Share, *, confidence: float) -> tuple[float, float]:
    """Clopper–Pearson: half of the risk on either side."""
    tail = (1 - confidence) / 2
    return share.low(tail), share.high(tail)


def difference_interval(first: Share, second: Share, *, confidence: float) -> tuple[float, float]:
    """For the first share minus the second: half of the risk on either side."""
    tail = (1 - confidence) / 2
    return lowest_difference(first, second, tail), -lowest_difference(second, first, tail)


def lowest_difference(first: Share, second: Share, tail: float) -> float:
    """Above the true difference with probability ``tail`` at most."""
    rejected, kept = -1.0, first.value - second.value
    for _ in range(_HALVINGS):
        middle = (rejected + kept) / 2
        if is_rejected(middle, first, second, tail):
            rejected = middle
        else:
            kept = middle
    return rejected


def is_rejected(difference: float, first: Share, second: Share, tail: float) -> bool:
    """Whether all pairs of this difference are, in favour of a larger one."""
    alone, together = tail * _APART / 2, tail * (1 - _APART)
    start = max(0.0, -difference, first.low(alone) - difference)
    end = min(1.0, 1 - difference, second.high(alone))
    if start > end:
        return True
    of_second = start + (end - start) * _ALONG
    of_first = np.clip(of_second + difference, 0.0, 1.0)
    sums = _stouffer(
        (first.so_many(of_first), of_first * (1 - of_first) / first.of),
        (second.so_few(of_second), of_second * (1 - of_second) / second.of),
    )
    return not bool((sums >= special.ndtri(together)).any())


def _stouffer(*tests: tuple[Floats, Floats]) -> Floats:
    """From p-values and variances; a test of no variance says nothing."""
    total = np.zeros_like(tests[0][0])
    for values, variances in tests:
        moved = np.sqrt(variances) > 0
        total[moved] += np.sqrt(variances[moved]) * special.ndtri(values[moved])
    weight = np.sqrt(tests[0][1] + tests[1][1])
    return np.divide(total, weight, out=np.full_like(total, np.inf), where=weight > 0)
