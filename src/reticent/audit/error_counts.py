"""ε from the errors of a test that tells runs without a record from runs with it.

The test must have been fixed before it saw these runs (``reticent.audit.many_runs`` sees to that).
Every test of an (ε, δ)-private mechanism has FPR + e^ε·FNR ≥ 1 − δ and e^ε·FPR + FNR ≥ 1 − δ
(Wasserman & Zhou 2010; Kairouz, Oh & Viswanath 2015). So upper limits of both rates give a lower
bound on ε:

- Clopper's and Pearson's limits, half of β each (Nasr et al. 2021): holds for every mechanism.
- The same limits on the trade-off curve of Gaussian noise (Nasr et al. 2023): much higher, and true
  only if that is the mechanism's curve; labelled so.
- The posterior of both rates under Jeffreys' prior (Zanella-Béguelin et al. 2023): a credible
  bound, which needs fewer runs and promises nothing about how often it errs; labelled so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import optimize, special

from reticent.arrays import ArrayLike, Floats
from reticent.audit import lower_bound
from reticent.validation import open_probability, probability


def _dense_at_the_ends(count: int) -> tuple[Floats, Floats]:
    """Gauss–Legendre in s for x = s²(3 − 2s) from 0 to 1: a quantile has poles at 0 and 1."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    inner = (1 + nodes) / 2
    return inner**2 * (3 - 2 * inner), 3 * weights * inner * (1 - inner)


_NODES, _WEIGHTS = _dense_at_the_ends(48)
_ACCURACY: Final = 1e-10
"""Of a quantile of the posterior, in ε."""


def clopper_pearson_epsilon(
    false_positives: int,
    runs_without: int,
    false_negatives: int,
    runs_with: int,
    *,
    delta: float,
    beta: float,
) -> lower_bound.LowerBound:
    """With probability 1 − β both rates lie below their limits, and ε is at least so large.

    >>> round(clopper_pearson_epsilon(0, 100, 0, 100, delta=1e-5, beta=0.05).epsilon, 4)
    3.2813
    """
    counts = _counts(false_positives, runs_without, false_negatives, runs_with)
    probability("delta", delta)
    epsilon = float(log_ratio(*_limits(counts, beta), delta))
    return lower_bound.LowerBound(
        epsilon=max(0.0, epsilon),
        delta=delta,
        confidence=1 - beta,
        method="many runs, Clopper–Pearson",
        evidence=counts,
    )


def gdp_epsilon(
    false_positives: int,
    runs_without: int,
    false_negatives: int,
    runs_with: int,
    *,
    delta: float,
    beta: float,
) -> lower_bound.LowerBound:
    """ε at δ of μ = Φ⁻¹(1 − FPR) − Φ⁻¹(FNR) at the same limits, if the curve is Gaussian.

    >>> bound = gdp_epsilon(10, 1000, 800, 1000, delta=1e-5, beta=0.05)
    >>> round(bound.mu, 4), round(bound.epsilon, 4), bound.conditional
    (1.1577, 5.1906, 'Gaussian DP')
    """
    counts = _counts(false_positives, runs_without, false_negatives, runs_with)
    open_probability("delta", delta)
    mu = max(0.0, float(separation(*_limits(counts, beta), delta)))
    return lower_bound.LowerBound(
        epsilon=lower_bound.epsilon_of_mu(mu, delta),
        delta=delta,
        confidence=1 - beta,
        method="many runs, Clopper–Pearson",
        conditional=lower_bound.GAUSSIAN_DP,
        mu=mu,
        evidence=counts,
    )


def jeffreys_epsilon(
    false_positives: int,
    runs_without: int,
    false_negatives: int,
    runs_with: int,
    *,
    delta: float,
    beta: float,
) -> lower_bound.LowerBound:
    """The β-quantile of ε under the posterior of both rates, by quadrature.

    A priori FPR and FNR are independent Beta(½, ½), so a posteriori Beta(errors + ½, others + ½).
    No confidence statement: of 40 + 40 runs of randomised response with ε = 2, the bound of 95 %
    lies above 2 in 17 % of all audits, because ε is the larger one of two uncertain ratios.

    >>> print(jeffreys_epsilon(10, 1000, 800, 1000, delta=1e-5, beta=0.05))
    ε ≥ 2.4961 at δ = 1e-5 with 95 % credibility (many runs, Jeffreys' prior; not a confidence...
    """
    counts = _counts(false_positives, runs_without, false_negatives, runs_with)
    probability("delta", delta)
    return lower_bound.LowerBound(
        epsilon=_posterior_quantile(counts, delta, lower_bound.checked_beta(beta)),
        delta=delta,
        confidence=1 - beta,
        method="many runs, Jeffreys' prior",
        credible=True,
        evidence=counts,
    )


CountedBound = Callable[..., lower_bound.LowerBound]
"""A bound from four counts, δ and β, such as those above."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How errors become an ε: a bound, and which of several tests promises a high one.

    ``merit`` takes upper limits of FPR and FNR, and δ; the bound rises with it.
    """

    bound: CountedBound
    merit: Callable[[Floats, Floats, float], Floats]


def highest_rate(errors: ArrayLike, runs: ArrayLike, tail: float) -> Floats:
    """Below the true rate with probability ``tail`` at most (Clopper & Pearson 1934)."""
    hits, of = np.broadcast_arrays(np.asarray(errors, float), np.asarray(runs, float))
    some = np.minimum(hits, of - 1)
    return np.asarray(np.where(hits >= of, 1.0, special.betainccinv(some + 1, of - some, tail)))


def log_ratio(fpr: Floats, fnr: Floats, delta: float) -> Floats:
    """The least ε that allows these rates, or below 0 where every ε does."""
    with np.errstate(divide="ignore"):
        powers = [np.log(np.maximum(1 - delta - rate, 0.0)) for rate in (fpr, fnr)]
        ratios = powers[0] - np.log(fnr), powers[1] - np.log(fpr)
    return np.asarray(np.maximum(*ratios))


def separation(fpr: Floats, fnr: Floats, delta: float) -> Floats:  # noqa: ARG001 - a merit
    """The μ of the Gaussian curve through these rates, or below 0 where they are guessing's."""
    return np.asarray(-special.ndtri(fpr) - special.ndtri(fnr))


CLOPPER_PEARSON: Final = Reading(bound=clopper_pearson_epsilon, merit=log_ratio)
GDP: Final = Reading(bound=gdp_epsilon, merit=separation)
JEFFREYS: Final = Reading(bound=jeffreys_epsilon, merit=log_ratio)


def _counts(
    false_positives: int, runs_without: int, false_negatives: int, runs_with: int
) -> lower_bound.ErrorCounts:
    return lower_bound.ErrorCounts(
        false_positives=false_positives,
        runs_without=runs_without,
        false_negatives=false_negatives,
        runs_with=runs_with,
    )


def _limits(counts: lower_bound.ErrorCounts, beta: float) -> tuple[Floats, Floats]:
    tail = lower_bound.checked_beta(beta) / 2
    return (
        highest_rate(counts.false_positives, counts.runs_without, tail),
        highest_rate(counts.false_negatives, counts.runs_with, tail),
    )


def _posterior_quantile(counts: lower_bound.ErrorCounts, delta: float, beta: float) -> float:
    sides = (
        (counts.false_positives, counts.runs_without),
        (counts.false_negatives, counts.runs_with),
    )
    # The rates may be exchanged; the sharper posterior is the one to be integrated over.
    fewer, more = sorted(((hits + 0.5, of - hits + 0.5) for hits, of in sides), key=sum)

    def surplus(epsilon: float) -> float:
        return _posterior(epsilon, more, fewer, delta) - beta

    if surplus(0.0) > 0:
        return 0.0
    high = 1.0
    while surplus(high) <= 0:
        high *= 2
    quantile = float(optimize.brentq(surplus, 0.0, high, xtol=_ACCURACY))
    return max(0.0, quantile - _ACCURACY)


def _posterior(
    epsilon: float, first: tuple[float, float], second: tuple[float, float], delta: float
) -> float:
    """P[ε' ≤ ε]: the other rate is at least max(e^{−ε}(1 − δ − rate), 1 − δ − e^ε·rate).

    The two cross at (1 − δ)/(1 + e^ε), where the integral over the rate's quantiles is cut.
    """
    corner = float(special.betainc(*first, (1 - delta) * special.expit(-epsilon)))
    levels = np.concatenate([corner * _NODES, corner + (1 - corner) * _NODES])
    weights = np.concatenate([corner * _WEIGHTS, (1 - corner) * _WEIGHTS])
    rates = special.betaincinv(*first, levels)
    least = np.maximum(np.exp(-epsilon) * (1 - delta - rates), 1 - delta - np.exp(epsilon) * rates)
    return float(weights @ special.betaincc(*second, np.clip(least, 0.0, 1.0)))
