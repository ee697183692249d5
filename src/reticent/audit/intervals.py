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

``smallest_auc`` and ``smallest_leakage`` say the smallest effects that so many records would have
shown, which stand beside "no leak found". An effect is shown where the lower end of its two-sided
interval lies above guessing; here it is shown with the given power.

``most_wrong`` says how often audits of true claims may refute them before they are refuted.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import optimize, special, stats

from reticent.arrays import Floats
from reticent.audit.lower_bound import checked_beta
from reticent.validation import count, open_probability

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
    alone, combined = tail * _APART / 2, tail * (1 - _APART)
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
    return not bool((sums >= special.ndtri(combined)).any())


def _stouffer(*tests: tuple[Floats, Floats]) -> Floats:
    """From p-values and variances; a test of no variance says nothing."""
    total = np.zeros_like(tests[0][0])
    for values, variances in tests:
        informative = np.sqrt(variances) > 0
        total[informative] += np.sqrt(variances[informative]) * special.ndtri(values[informative])
    weight = np.sqrt(tests[0][1] + tests[1][1])
    return np.divide(total, weight, out=np.full_like(total, np.inf), where=weight > 0)


_AUCS = np.linspace(0.5, 0.999, 500)[1:].tolist()
"""Among which the first shown is sought: next to 1, the interval in log odds is endless."""


def smallest_auc(
    members: int, others: int, *, confidence: float = 0.95, power: float = 0.95
) -> float:
    """The least AUC that is shown; infinite where none would be.

    The variance is Hanley's and McNeil's (1982), the interval symmetric in log odds as that of
    ``reticent.audit.auc``.

    >>> round(smallest_auc(1000, 1000), 3)
    0.547
    """
    inside, outside = count("members", members), count("others", others)
    tail = (1 - open_probability("confidence", confidence)) / 2
    quantiles = special.ndtri(1 - tail) + special.ndtri(open_probability("power", power))

    def surplus(auc: float) -> float:
        error = _hanley_mcneil(auc, inside, outside) / (auc * (1 - auc))
        return float(special.logit(auc) - quantiles * error)

    shown = next((auc for auc in _AUCS if surplus(auc) > 0), None)
    if shown is not None:
        return float(optimize.brentq(surplus, 0.5, shown, xtol=1e-9))
    # Where all members are above all others, the interval begins at tail^(1/fewest).
    return 1.0 if tail > 0.5 ** min(inside, outside) else math.inf


def smallest_leakage(
    members: int, others: int, *, confidence: float = 0.95, power: float = 0.95
) -> float:
    """The least TPR − FPR that is shown, whatever the two are; infinite where none would be.

    Both vary most around ½, so TPR = ½(1 + d) and FPR = ½(1 − d) are the worst case.

    >>> round(smallest_leakage(1000, 1000), 3)
    0.082
    """
    inside, outside = count("members", members), count("others", others)
    tail = (1 - open_probability("confidence", confidence)) / 2
    beyond = special.ndtri(open_probability("power", power))
    seen = _smallest_seen(inside, outside, tail)
    if seen is None:
        return math.inf
    # d − z·c·√(1 − d²) = seen, with c²(1 − d²) the variance of TPR − FPR.
    spread = beyond**2 * (1 / inside + 1 / outside) / 4
    root = seen**2 - (1 + spread) * (seen**2 - spread)
    return float((seen + math.copysign(math.sqrt(root), beyond)) / (1 + spread))


def _smallest_seen(members: int, others: int, tail: float) -> float | None:
    """The least observed difference, symmetric about ½, that excludes 0."""

    def shows(difference: float) -> bool:
        inside = Share(hits=members * (1 + difference) / 2, of=members)
        outside = Share(hits=others * (1 - difference) / 2, of=others)
        return is_rejected(0.0, inside, outside, tail)

    if not shows(1.0):
        return None
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high


def _hanley_mcneil(auc: float, members: int, others: int) -> float:
    """The standard error of an AUC, exact where scores are exponential."""
    first, second = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    variance = auc * (1 - auc) + (members - 1) * (first - auc**2) + (others - 1) * (second - auc**2)
    return math.sqrt(max(variance, 0.0) / (members * others))


FALSE_ALARM: Final = 1e-6


def wrong_too_often(
    wrong: int, audits: int, *, beta: float, false_alarm: float = FALSE_ALARM
) -> bool:
    """Whether independent audits, each wrong with probability β at most, are wrong so often.

    The one-sided binomial test: audits that keep their word are accused with probability
    ``false_alarm`` at most.

    >>> wrong_too_often(27, 200, beta=0.05), wrong_too_often(28, 200, beta=0.05)
    (False, True)
    """
    times = count("audits", audits)
    tail = stats.binom.sf(count("wrong", wrong, at_least=0) - 1, times, checked_beta(beta))
    return bool(tail < false_alarm)


def most_wrong(audits: int, *, beta: float, false_alarm: float = FALSE_ALARM) -> int:
    """The largest number of wrong audits that ``wrong_too_often`` does not accuse.

    >>> most_wrong(200, beta=0.05)
    27
    """
    return int(stats.binom.isf(false_alarm, count("audits", audits), checked_beta(beta)))
