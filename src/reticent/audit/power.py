"""How many runs an audit needs before a claim that is false by so much is refuted."""

from typing import Final

import numpy as np
from scipy import stats

from reticent.audit.error_counts import clopper_pearson_epsilon, highest_rate, log_ratio
from reticent.audit.lower_bound import ErrorCounts, LowerBound, checked_beta
from reticent.guarantee import Guarantee
from reticent.validation import InputError, non_negative, open_probability

MOST_RUNS: Final = 1_000_000
POWER: Final = 0.95
_FEWEST_RUNS: Final = 20
_STEP: Final = 1.15


def runs_to_refute(mu: float, claim: Guarantee, *, beta: float, counted: float = 0.8) -> int | None:
    """Runs in each world after which Gaussian worlds at distance μ refute ε with power 0.95.

    ``counted`` is the share of the runs that is left after others chose the threshold. The bound is
    Clopper's and Pearson's, for every mechanism; None stands for more than a million runs, or for a
    μ that allows the claim.

    >>> claim = Guarantee(epsilon=2.0, delta=1e-5, relation="add-remove")
    >>> [runs_to_refute(share * 0.502, claim, beta=0.05) for share in (1, 2, 4)]
    [None, 24578, 565]
    """
    distance, share = non_negative("mu", mu), open_probability("counted", counted)
    tail = checked_beta(beta) / 2
    thresholds = np.linspace(-4.0, distance + 4.0, 400)
    rates = stats.norm.sf(thresholds), stats.norm.cdf(thresholds - distance)
    runs = _FEWEST_RUNS
    while runs <= MOST_RUNS:
        left = round(share * runs)
        # Errors above these happen with probability (1 − power)/2 each.
        errors = [stats.binom.ppf((1 + POWER) / 2, left, rate) for rate in rates]
        fpr, fnr = (highest_rate(found, left, tail) for found in errors)
        if float(log_ratio(fpr, fnr, claim.delta).max()) > claim.epsilon:
            return runs
        runs = round(_STEP * runs)
    return None


def could_refute(measured: LowerBound, claim: Guarantee) -> bool:
    """Whether so many counted runs can refute the claim at all: without a single error.

    Where they cannot, that a claim was not refuted says nothing.

    >>> claim = Guarantee(epsilon=2.0, delta=1e-5, relation="add-remove")
    >>> bounds = [
    ...     clopper_pearson_epsilon(9, runs, 9, runs, delta=1e-5, beta=0.05) for runs in (24, 48)
    ... ]
    >>> [could_refute(bound, claim) for bound in bounds]
    [False, True]
    """
    counts = measured.evidence
    if not isinstance(counts, ErrorCounts):
        raise InputError("measured must be a bound from many runs, got one from guesses")
    best = clopper_pearson_epsilon(
        0,
        counts.runs_without,
        0,
        counts.runs_with,
        delta=measured.delta,
        beta=1 - measured.confidence,
    )
    return best.epsilon > claim.epsilon


def fewest_runs(claim: Guarantee, *, beta: float, counted: float, most: int) -> int | None:
    """Runs in each world with which the claim can be refuted at all; None where ``most`` cannot.

    ``counted`` is their share that does not choose the threshold.

    >>> claim = Guarantee(epsilon=1.0, delta=1e-5, relation="add-remove")
    >>> fewest_runs(claim, beta=0.05, counted=0.8, most=100)
    15
    """
    for runs in range(1, most + 1):
        left = runs - round((1 - counted) * runs)
        best = clopper_pearson_epsilon(0, left, 0, left, delta=claim.delta, beta=beta)
        if best.epsilon > claim.epsilon:
            return runs
    return None
