"""What a claim that is true may still allow: a large δ, a large ε. It never changes a grade."""

import math
from typing import Final

from reticent.guarantee.rounding import upper_text

MODERATE_EPSILON: Final = 10.0
"""Above it a guarantee is called weak in the literature (Ponomareva et al. 2023, section 5.2)."""


def weaknesses(*, epsilon: float, delta: float, records: int) -> tuple[str, ...]:
    """A line for each number of (ε, δ) that allows a whole record to be told; none where neither.

    ``records`` is the public N. A mechanism that publishes each record with probability δ is
    (0, δ)-private, so from δ = 1/N on a release may show a record of somebody on average.

    >>> weaknesses(epsilon=1.0, delta=1e-5, records=1000)
    ()
    >>> for line in weaknesses(epsilon=20.0, delta=0.5, records=1000):
    ...     print(line[:60])
    δ ≤ 0.5 is not below 1/N = 0.001: publishing each record who
    ε ≤ 20 promises little: even odds that somebody was in the d
    """
    lines = []
    if records * delta >= 1:
        lines.append(
            f"δ ≤ {upper_text(delta)} is not below 1/N = {1 / records:.3g}: publishing each record"
            " whole with that probability satisfies it; take δ far below 1/N"
        )
    if epsilon > MODERATE_EPSILON:
        lines.append(
            f"ε ≤ {upper_text(epsilon)} promises little: even odds that somebody was in the data"
            f" may become {_percent(epsilon)} %; take ε of {MODERATE_EPSILON:g} or less"
        )
    return tuple(lines)


def _percent(epsilon: float) -> str:
    """100·e^ε/(1 + e^ε), with as many nines as it has; 100 where a float has no more of them."""
    return upper_text(100 / (1 + math.exp(-epsilon)), 9)
