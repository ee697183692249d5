"""ε of Gaussian noise from its size: a bound for functions whose user states that noise is added.

Taken for granted: on input i the output is mᵢ + Z, Z normal with mean 0 and the same covariance Σ
on both inputs. Then the function is exactly μ-GDP with μ = ‖Σ^(−1/2)(m₁ − m₀)‖ (Dong, Roth & Su
2022), and for every direction w, (w·(m₁ − m₀))² ≤ wᵀΣw · μ² (Cauchy–Schwarz): a lower bound for the
projected outputs, which are numbers with one standard deviation s, is one on μ.

With n runs on each input, D the difference of the means and S² the pooled variance (2n − 2 degrees
of freedom), independent of how w was chosen on other runs:

- s ≤ S·√((2n − 2)/χ²) with probability 1 − β/2, χ² the β/2 quantile of its law;
- w·(m₁ − m₀) ≥ D − z·s·√(2/n) with probability 1 − β/2, z the 1 − β/2 quantile of a normal one.

So μ ≥ D/s_max − z·√(2/n) with probability 1 − β. Where the noise is of another kind this says
nothing: noise with a normal body and heavier tails may be private where this bound is above its ε.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import stats

from reticent.arrays import Floats
from reticent.audit.lower_bound import checked_beta, epsilon_of_mu, percent
from reticent.guarantee.rounding import lower_text
from reticent.validation import InputError

GAUSSIAN: Final = "gaussian"
_NOT_NORMAL: Final = 1e-9
"""The p-value below which outputs are not called normal: true statements are hardly refused."""


@dataclass(frozen=True, kw_only=True)
class NoiseBound:
    """ε is at least so large, if the function adds Gaussian noise to an answer."""

    epsilon: float
    delta: float
    confidence: float
    mu: float

    def refutes(self, *, epsilon: float, delta: float) -> bool:
        """Whether it contradicts a claim of (ε, δ) by a function that adds Gaussian noise."""
        return delta <= self.delta and self.epsilon > epsilon

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a JSON file."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "confidence": self.confidence,
            "mu": self.mu,
            "conditional": "additive Gaussian noise, stated by the user",
        }

    def __str__(self) -> str:
        return (
            f"ε ≥ {lower_text(self.epsilon)} at δ = {lower_text(self.delta)} with"
            f" {percent(self.confidence)} % confidence, if Gaussian noise is added, as stated"
        )


def noise_bound(
    learning: tuple[Floats, Floats], counted: tuple[Floats, Floats], *, delta: float, beta: float
) -> NoiseBound:
    """The bound from outputs on both inputs, rows of numbers.

    Args:
        learning: Runs that choose the direction.
        counted: Other runs, whose means and variance are taken.
        delta: Of the claim; above 0, or Gaussian noise has no ε.
        beta: The probability with which the bound may be wrong.
    """
    if not delta > 0:
        raise InputError(f"delta must be > 0 for Gaussian noise, got {delta}")
    direction = learning[1].mean(axis=0) - learning[0].mean(axis=0)
    one, other = (side @ direction for side in counted)
    _refuse_not_normal(one, other)
    mu = lowest_mu(float(other.mean() - one.mean()), _pooled(one, other), len(one), beta=beta)
    return NoiseBound(
        epsilon=epsilon_of_mu(mu, delta), delta=delta, confidence=1 - checked_beta(beta), mu=mu
    )


def lowest_mu(difference: float, deviation: float, runs: int, *, beta: float) -> float:
    """μ is at least this with probability 1 − β, from ``runs`` outputs on each input.

    >>> round(lowest_mu(0.5, 1.0, 20_000, beta=1e-6), 4)
    0.4425
    """
    freedom, tail = 2 * runs - 2, checked_beta(beta) / 2
    if not deviation > 0:
        return 0.0
    largest = deviation * np.sqrt(freedom / stats.chi2.ppf(tail, freedom))
    lowest = difference / largest - stats.norm.isf(tail) * np.sqrt(2 / runs)
    return max(0.0, float(lowest))


def _pooled(one: Floats, other: Floats) -> float:
    """The standard deviation around both means."""
    return float(np.sqrt((one.var() + other.var()) / 2 * len(one) / (len(one) - 1)))


def _refuse_not_normal(one: Floats, other: Floats) -> None:
    """A statement that the outputs themselves contradict: another shape, or two variances."""
    sides = [_standard(side) for side in (one, other)]
    if any(side is None for side in sides):
        raise InputError(
            "outputs must vary if Gaussian noise is added as stated, got constant ones"
        )
    shape = min(float(stats.jarque_bera(side).pvalue) for side in sides if side is not None)
    spread = one.var() / other.var()
    freedom = len(one) - 1
    even = 2 * min(stats.f.sf(spread, freedom, freedom), stats.f.cdf(spread, freedom, freedom))
    if min(shape, even) < _NOT_NORMAL:
        kind = "another shape" if shape < even else "two variances"
        raise InputError(
            f"noise must be gaussian, as stated, got outputs of {kind}: leave noise out, so that"
            " nothing is taken for granted"
        )


def _standard(values: Floats) -> Floats | None:
    deviation = values.std()
    return None if not deviation > 0 else (values - values.mean()) / deviation
