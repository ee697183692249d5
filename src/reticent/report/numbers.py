"""Numbers as the page prints them; an ε never stands without its grade."""

from typing import NamedTuple

from reticent.audit.lower_bound import percent
from reticent.guarantee.rounding import lower_text, scale_text, upper_text
from reticent.results import Audit, Claim, Interval

NOTHING = "–"


def share(value: float) -> str:
    """A share in percent, with one decimal.

    >>> share(0.9482), share(-0.0004)
    ('94.8 %', '0.0 %')
    """
    return f"{round(100 * value, 1) + 0.0:.1f} %"


def share_range(interval: Interval) -> str:
    """A share between its limits."""
    low, high = (share(limit).removesuffix(" %") for limit in (interval.low, interval.high))
    return f"{share(interval.value)} [{low}, {high}]"


def whole_share(value: float) -> str:
    """A share that was chosen, such as a confidence: as few digits as it has.

    >>> whole_share(0.01), whole_share(0.9917)
    ('1 %', '99.17 %')
    """
    return f"{100 * value:.6g} %"


def surety(confidence: float) -> str:
    """A confidence, rounded down: as many digits as show the first three of what may go wrong.

    >>> surety(0.95), surety(1 - 0.05 / 7), surety(1 - 1e-6)
    ('95 %', '99.285 %', '99.9999 %')
    """
    return f"{percent(confidence)} %"


def decimals(value: float) -> str:
    """A figure with three decimals."""
    return f"{round(value, 3) + 0.0:.3f}"


def decimal_range(interval: Interval) -> str:
    """A figure between its limits."""
    return f"{decimals(interval.value)} [{decimals(interval.low)}, {decimals(interval.high)}]"


def allowed_of(value: float) -> str:
    """What a guarantee allows, rounded up."""
    return upper_text(value, 3)


def in_hundred(value: float) -> str:
    """How often in a hundred times."""
    return f"{100 * value:.0f}"


def small(value: float) -> str:
    """A number of any size in few digits."""
    return f"{value:.4g}"


def grade_of(claim: Claim) -> str:
    """The grade, with its γ where it has one."""
    gamma = "" if claim.gamma is None else f", γ ≤ {upper_text(claim.gamma)}"
    return f"{claim.grade}{gamma}"


def epsilon_of(claim: Claim) -> str:
    """The claimed ε with its grade, rounded up."""
    return f"ε ≤ {upper_text(claim.epsilon)} ({grade_of(claim)})"


def epsilon_alone(claim: Claim) -> str:
    """The number, for a place where the grade stands beside it."""
    return upper_text(claim.epsilon)


def delta_of(claim: Claim) -> str:
    """The claimed δ, rounded up."""
    return upper_text(claim.delta)


def measured_of(audit: Audit) -> str:
    """The lower bound on ε that was measured, rounded down."""
    return f"ε ≥ {lower_text(audit.measured.epsilon)} (measured)"


def analytic_of(audit: Audit) -> str:
    """The ε of the worst pair that was found, under the claimed noise."""
    if audit.analytic is None:
        return NOTHING
    if audit.exact:
        return f"ε = {small(audit.analytic)} (this pair)"
    return f"ε ≤ {upper_text(audit.analytic)} (this pair)"


def scale_of(value: float) -> str:
    """A scale of noise as it is printed, rounded up."""
    return scale_text(value)


class Meter(NamedTuple):
    """Where an interval stands on a scale, in percent of its width."""

    value: float
    low: float
    width: float


def meter_place(value: float, least: float = 0.4) -> float:
    """Where an AUC stands between ``least`` and 1.

    >>> meter_place(0.7)
    50.0
    """
    return round(100 * (min(max(value, least), 1.0) - least) / (1 - least), 2)


def meter(interval: Interval) -> Meter:
    """An AUC with its limits, as it is drawn."""
    low, high = meter_place(interval.low), meter_place(interval.high)
    return Meter(meter_place(interval.value), low, round(high - low, 2))


def figure_text(interval: Interval) -> str:
    """A measure between its limits, in the label's units: four digits.

    >>> figure_text(Interval(value=54.4248, low=49.7199, high=59.4085, confidence=0.95))
    '54.42 [49.72, 59.41]'
    """
    return f"{interval.value:.4g} [{interval.low:.4g}, {interval.high:.4g}]"
