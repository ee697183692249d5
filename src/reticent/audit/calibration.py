"""How often audits of true claims may refute them before the audits themselves are refuted."""

from typing import Final

from scipy import stats

from reticent.audit.lower_bound import checked_beta
from reticent.validation import count

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
