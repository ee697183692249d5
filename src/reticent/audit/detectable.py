"""The smallest effects that so many records would have shown: what stands beside "no leak found".

An effect is shown where the lower end of its two-sided interval lies above guessing; here it is
shown with the given power.
"""

import math

import numpy as np
from scipy import optimize, special

from reticent.audit.intervals import Share, is_rejected
from reticent.validation import count, open_probability

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
