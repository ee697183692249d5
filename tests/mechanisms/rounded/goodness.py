"""Goodness-of-fit tests with one false-alarm rate for a whole run, and what they must reject.

Each check alarms falsely with probability at most ``ALARM``; a run has fewer than 100 of them, so
a run of correct samplers fails with probability below 10⁻⁶.
"""

import math

import numpy as np
from scipy import stats

ALARM = 1e-8
DRAWS = 1_000_000
TOO_WIDE = math.sqrt(1.06)  # the scale whose variance is 1.06 times too large


def follows(sample, cdf):
    """No evidence against the continuous cdf, by Kolmogorov–Smirnov (DKW–Massart) and by χ²."""
    sample = np.sort(np.asarray(sample, dtype=float))
    n = sample.size
    at = cdf(sample)
    distance = max(np.max(np.arange(1, n + 1) / n - at), np.max(at - np.arange(n) / n))
    p_distance = min(1.0, 2 * math.exp(-2 * n * distance**2))
    observed = np.histogram(at, bins=50, range=(0, 1))[0]
    return min(p_distance, stats.chisquare(observed).pvalue) > ALARM / 2


def counts_fit(observed, probabilities, least=100):
    """No evidence against the probabilities; cells expected below ``least`` are pooled."""
    observed, expected = np.asarray(observed, float), np.asarray(probabilities) * np.sum(observed)
    large = expected >= least
    observed = np.append(observed[large], observed[~large].sum())
    expected = np.append(expected[large], expected[~large].sum())
    rest = max(expected[-1], 0.0)
    if rest < least:  # too small for χ²: a Poisson tail of its own
        tail = stats.poisson.sf(observed[-1] - 1, rest) if observed[-1] else 1.0
        scaled = expected[:-1] * observed[:-1].sum() / expected[:-1].sum()
        fit = stats.chisquare(observed[:-1], scaled).pvalue if scaled.size > 1 else 1.0
        return min(tail, fit) > ALARM / 2
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > ALARM


def independent(left, right, cells=16):
    """No evidence against independence of two samples, each uniform on [0, 1]."""
    table = np.histogram2d(left, right, bins=cells, range=((0, 1), (0, 1)))[0]
    return stats.chisquare(table.ravel()).pvalue > ALARM
