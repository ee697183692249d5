"""A sampled claim, audited by what it is about: the share of fresh pairs that exceed it.

A claim graded *sampled* is one of random DP (docs/theory.md, B): of the pairs of neighbours drawn
from a population P, all but a share γ have (ε, δ). So a single pair beyond the claim, the worst
one included, refutes nothing. Fresh i.i.d. pairs do: where x of m exceed the claim, the share of
all pairs that do is above Clopper's and Pearson's one-sided limit BetaInv(β; x, m − x + 1), but for
an event of probability β. A limit above γ refutes the claim.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import ArrayLike

from reticent.arrays import Floats
from reticent.audit.intervals import Share
from reticent.audit.lower_bound import checked_beta
from reticent.guarantee import Grade, Guarantee, Sensitivity
from reticent.guarantee.rounding import lower_text, upper_text
from reticent.mechanisms import AdditiveMechanism, Gaussian
from reticent.validation import InputError, NotCoveredError, float_array

_ROUNDING: Final = 1e-9
"""Relative: a pair that is exactly as far apart as the claim allows does not exceed it."""
CANNOT = (
    "a sampled claim cannot be refuted by single pairs: it is about all but a share γ of pairs;"
    " give fresh pairs from the population"
)


class PairNorms(Protocol):
    """How far apart both sides of each pair are, as ``neighbours.sampled_pairs`` finds it."""

    @property
    def l1(self) -> ArrayLike:
        """The L1 distance of each sampled pair."""

    @property
    def l2(self) -> ArrayLike:
        """The L2 distances, in the same order."""


@dataclass(frozen=True, kw_only=True)
class SampledAudit:
    """A claim about most pairs, and how many fresh pairs exceed it."""

    claim: Guarantee
    mechanism: str
    pairs: int
    exceeding: int
    rate: float
    """The lower limit of the share of pairs that exceed the claim."""
    worst: float
    """The largest ε of a fresh pair at the claimed δ; it refutes nothing by itself."""
    beta: float

    @property
    def gamma(self) -> float:
        """The share that the claim allows."""
        assert self.claim.gamma is not None
        return self.claim.gamma

    @property
    def refuted(self) -> bool:
        """Whether more pairs exceed the claim than it allows."""
        return self.rate > self.gamma

    @property
    def verdict(self) -> str:
        """Either "refuted" or "not refuted", as JSON and pages say it."""
        return "refuted" if self.refuted else "not refuted"

    def __str__(self) -> str:
        """Claim, count, limit and verdict, a line each."""
        return "\n".join((f"claim: {self.claim}", *self.figures, f"verdict: {self.verdict}"))

    @property
    def figures(self) -> tuple[str, str]:
        """The count and the limit, a line each."""
        return (
            f"fresh pairs: {self.exceeding:,} of {self.pairs:,} exceed the claim, the worst with"
            f" ε = {upper_text(self.worst)}, which alone refutes nothing",
            f"share beyond the claim: at least {lower_text(self.rate)} of all pairs, but for risk"
            f" β = {upper_text(self.beta)} (Clopper–Pearson); γ = {upper_text(self.gamma)} may be",
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a JSON file."""
        return {
            "claim": self.claim.to_dict(),
            "mechanism": self.mechanism,
            "pairs": self.pairs,
            "exceeding": self.exceeding,
            "rate": self.rate,
            "worst": self.worst,
            "beta": self.beta,
            "verdict": self.verdict,
        }


def audit_sampled(
    claim: Guarantee, noise: AdditiveMechanism, pairs: PairNorms, *, beta: float = 0.05
) -> SampledAudit:
    """Try to refute a sampled claim by the share of fresh pairs beyond it.

    Args:
        claim: Graded sampled, with its γ.
        noise: What is added to both sides: its scale counts, its sensitivity does not.
        pairs: i.i.d. pairs from P, drawn anew: those that the sensitivity came from are the ones
            it was fitted to. ``sampled_pairs`` and ``sampled_head_pairs`` with another seed, or
            from another pool, make them.
        beta: The probability with which a true claim is refuted.

    >>> from reticent.neighbours.sampled import Draws, sampled_pairs
    >>> total = np.linspace(0, 1, 50)
    >>> def drawn(seed):
    ...     draws = Draws(size=5, pairs=200, seed=seed)
    ...     return sampled_pairs(lambda rows: total[rows].sum(), 50, draws)
    >>> noise = Gaussian.calibrate(drawn(0).sensitivity, epsilon=1.0, delta=1e-5)
    >>> claim = noise.guarantee(epsilon=1.0, delta=1e-5)
    >>> audit_sampled(claim, noise, drawn(1)).verdict
    'not refuted'
    >>> half = Gaussian(scale=noise.scale / 2, sensitivity=noise.sensitivity)
    >>> audit_sampled(claim, half, drawn(1)).verdict
    'refuted'
    """
    checked_beta(beta)
    if not isinstance(claim, Guarantee) or claim.grade is not Grade.SAMPLED:
        raise InputError("claim must be a guarantee graded sampled: others hold for every pair")
    _refuse_inexact(noise, claim.delta)
    norms = np.sort(_norms(noise, pairs))
    limit = claim.epsilon * (1 + _ROUNDING)

    def epsilon(norm: float) -> float:
        return _epsilon(noise, norm, claim.delta)

    # ε rises with the norm, so that the place of the claim among sorted pairs counts them.
    exceeding = len(norms) - bisect_right(norms.tolist(), limit, key=epsilon)
    return SampledAudit(
        claim=claim,
        mechanism=noise.name,
        pairs=len(norms),
        exceeding=exceeding,
        rate=Share(hits=exceeding, of=len(norms)).low(beta),
        worst=epsilon(float(norms[-1])),
        beta=beta,
    )


def _refuse_inexact(noise: AdditiveMechanism, delta: float) -> None:
    """Beyond a claim is only what exceeds it surely: an upper bound on a pair's ε may not."""
    if delta > 0 and not isinstance(noise, Gaussian):
        raise NotCoveredError(
            f"mechanism must be gaussian at delta > 0, got {noise.name}: norms alone do not give"
            " the exact ε of a pair"
        )


def _norms(noise: AdditiveMechanism, pairs: PairNorms) -> Floats:
    """The norm that the noise's ε is a function of."""
    name = noise.norm
    found = float_array(f"{name} of the pairs", getattr(pairs, name))
    if found.ndim != 1 or not (found >= 0).all():
        raise InputError(f"{name} of the pairs must be one number >= 0 for each, got others")
    return found


def _epsilon(noise: AdditiveMechanism, norm: float, delta: float) -> float:
    if not norm > 0:
        return 0.0
    moved = Sensitivity(l1=norm, l2=norm, source="one pair's own distance")
    return type(noise)(scale=noise.scale, sensitivity=moved).epsilon(delta=delta)
