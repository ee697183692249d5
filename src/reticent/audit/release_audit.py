"""What the audit of a release or of a transcript found: the claim, its figures, the verdict.

A claim graded *sampled* is one of random DP (docs/theory.md, B): of the pairs of neighbours drawn
from a population P, all but a share γ have (ε, δ). So a single pair beyond the claim, the worst
one included, refutes nothing. Fresh i.i.d. pairs do: where x of m exceed the claim, the share of
all pairs that do is above Clopper's and Pearson's one-sided limit BetaInv(β; x, m − x + 1), but for
an event of probability β. A limit above γ refutes the claim.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

import numpy as np

from reticent.arrays import ArrayLike, Floats
from reticent.audit.intervals import Share
from reticent.audit.lower_bound import LowerBound, checked_beta
from reticent.audit.many_runs import could_refute
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
    norms = float_array(f"{name} of the pairs", getattr(pairs, name))
    if norms.ndim != 1 or not (norms >= 0).all():
        raise InputError(f"{name} of the pairs must be one number >= 0 for each, got others")
    return norms


def _epsilon(noise: AdditiveMechanism, norm: float, delta: float) -> float:
    if not norm > 0:
        return 0.0
    sensitivity = Sensitivity(l1=norm, l2=norm, source="one pair's own distance")
    return type(noise)(scale=noise.scale, sensitivity=sensitivity).epsilon(delta=delta)


class Verdict(ABC):
    """Refuted, by what; or not refuted, which proves nothing."""

    @property
    @abstractmethod
    def refuted_by(self) -> str | None:
        """What refutes the claim; None where nothing does."""

    @property
    def refuted(self) -> bool:
        """Whether anything contradicts the claim."""
        return self.refuted_by is not None

    @property
    def verdict(self) -> Literal["refuted", "not refuted"]:
        """Either "refuted" or "not refuted", as JSON and pages say it."""
        return "refuted" if self.refuted else "not refuted"


_TOO_MANY: Final = "share of fresh pairs beyond it"


@dataclass(frozen=True, kw_only=True)
class ReleaseAudit(Verdict):
    """A claim, and both figures of its audit."""

    claim: Guarantee
    mechanism: str
    pair: str
    tightness: float
    """The distance of the pair over the claimed sensitivity: at most 1 if the theorem holds."""
    analytic: float
    """The pair's ε at the claimed δ under the noise of the certificate."""
    exact: bool
    """Whether ``analytic`` is that ε, or only at least that."""
    measured: LowerBound
    runs: int
    finds_half: bool
    """Whether so many runs refute noise of half the scale on this pair, with power 0.95."""
    fresh: SampledAudit | None = None
    """Of a sampled claim: the share of fresh pairs beyond it, where some were given."""

    @property
    def refuted_by(self) -> str | None:
        """What refutes the claim: an exact pair, or the measured bound; None where nothing does."""
        if self.claim.grade is Grade.SAMPLED:
            return _TOO_MANY if self.fresh is not None and self.fresh.refuted else None
        claimed = self.claim.epsilon * (1 + _ROUNDING)
        if self.measured.refutes(epsilon=self.claim.epsilon, delta=self.claim.delta):
            return "measured bound, for every mechanism"
        if self.exact and self.analytic > claimed:
            return "exact pair of neighbours, whose ε exceeds the claim"
        return None

    def __str__(self) -> str:
        """Claim, both figures and the verdict, a line each."""
        half = "would" if self.finds_half else "would NOT"
        reason = "" if self.refuted_by is None else f" by the {self.refuted_by}"
        return "\n".join(
            (
                f"claim: {self.claim}",
                f"pair: {self.pair}",
                f"tightness: {self.tightness:.3f}, how far this pair moves what is noised, over the"
                " most that the theorem allows: at 1 the worst case is on these data",
                f"analytic: ε {'=' if self.exact else '≤'} {upper_text(self.analytic)} at"
                f" δ = {upper_text(self.claim.delta)} for this pair: it checks the theorem",
                f"measured: {self.measured}: it checks the code",
                f"runs: {self.runs:,} in each world, which {half} find noise of half the scale",
                *self._about_most_pairs(),
                f"verdict: {self.verdict}{reason}",
            )
        )

    def _about_most_pairs(self) -> tuple[str, ...]:
        if self.claim.grade is not Grade.SAMPLED:
            return ()
        return (f"note: {CANNOT}",) if self.fresh is None else tuple(self.fresh.figures)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a JSON file."""
        return {
            "claim": self.claim.to_dict(),
            "mechanism": self.mechanism,
            "pair": self.pair,
            "tightness": self.tightness,
            "analytic": {"epsilon": self.analytic, "exact": self.exact},
            "measured": self.measured.to_dict(),
            "runs": self.runs,
            "finds_half": self.finds_half,
            "fresh": None if self.fresh is None else self.fresh.to_dict(),
            "verdict": self.verdict,
            "refuted_by": self.refuted_by,
        }


@dataclass(frozen=True, kw_only=True)
class TranscriptAudit(Verdict):
    """A claim about all noisy sums of a procedure, and the figures of its audit."""

    claim: Guarantee
    mechanism: str
    queries: int
    """Noisy sums in a transcript."""
    tightness: float
    """The most by which a sum moved, over its claimed sensitivity: at most 1 if that holds."""
    analytic: float
    """The ε at the claimed δ of the transcript whose sums were furthest apart."""
    exact: bool
    """Whether ``analytic`` is the ε of the two worlds, or only at most that of one transcript."""
    mu: float | None
    """The μ of that transcript; Gaussian noise only."""
    sealed: bool
    """Whether equal answers gave equal models, bit by bit, in every run."""
    measured: LowerBound
    conditional: LowerBound | None
    """The bound if the transcript's curve is Gaussian; it refutes nothing by itself."""
    runs: int
    needed: tuple[int | None, int | None]
    """Runs that would refute half and a quarter of the noise; None beyond a million."""

    @property
    def could_refute(self) -> bool:
        """Whether so many runs can refute the claim by the measured bound, whatever they show."""
        return could_refute(self.measured, self.claim)

    @property
    def finds_half(self) -> bool:
        """Whether so many runs refute noise of half the scale, with power 0.95."""
        return self.needed[0] is not None and self.runs >= self.needed[0]

    @property
    def finds_quarter(self) -> bool:
        """Whether so many runs refute noise of a quarter of the scale, with power 0.95."""
        return self.needed[1] is not None and self.runs >= self.needed[1]

    @property
    def refuted_by(self) -> str | None:
        """What refutes the claim; None where nothing does."""
        if not self.sealed:
            return "models, which differ between the worlds though all answers are equal"
        if self.measured.refutes(epsilon=self.claim.epsilon, delta=self.claim.delta):
            return "measured bound, for every mechanism"
        if self.exact and self.analytic > self.claim.epsilon * (1 + _ROUNDING):
            return "exact pair of neighbours, whose ε exceeds the claim"
        return None

    def __str__(self) -> str:
        """Claim, figures and the verdict, a line each."""
        delta, reason = upper_text(self.claim.delta), self.refuted_by
        mu = "" if self.mu is None else f", μ = {upper_text(self.mu)}"
        lines = (
            f"claim: {self.claim}",
            f"transcript: {self.queries:,} noisy sums, {self.mechanism}; tightness"
            f" {self.tightness:.3f}",
            f"analytic: ε {'=' if self.exact else '≤'} {upper_text(self.analytic)} at δ = {delta}"
            f"{mu} for {'this pair' if self.exact else 'the furthest transcript'}: it checks the"
            " theorem",
            f"measured: {self.measured}: it checks the code",
            self._conditional_line(),
            f"runs: {self.runs:,} in each world{self._too_few()}; {self._needed_line()}",
            f"verdict: {self.verdict}{'' if reason is None else f' by the {reason}'}",
        )
        return "\n".join(filter(None, lines))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a JSON file."""
        return {
            "claim": self.claim.to_dict(),
            "mechanism": self.mechanism,
            "queries": self.queries,
            "tightness": self.tightness,
            "analytic": {"epsilon": self.analytic, "exact": self.exact, "mu": self.mu},
            "sealed": self.sealed,
            "measured": self.measured.to_dict(),
            "conditional": None if self.conditional is None else self.conditional.to_dict(),
            "runs": self.runs,
            "could_refute": self.could_refute,
            "needed": {"half": self.needed[0], "quarter": self.needed[1]},
            "verdict": self.verdict,
            "refuted_by": self.refuted_by,
        }

    def _conditional_line(self) -> str | None:
        if self.conditional is None or self.conditional.mu is None:
            return None
        above = self.conditional.epsilon > self.claim.epsilon
        meaning = "above the claim, if the condition holds" if above else "not above the claim"
        mu = lower_text(self.conditional.mu)
        return f"conditional: {self.conditional}, from μ ≥ {mu}: {meaning}"

    def _too_few(self) -> str:
        return "" if self.could_refute else ", too few to refute the claim whatever they show"

    def _needed_line(self) -> str:
        parts = {"half": (self.finds_half, self.needed[0])}
        parts["a quarter"] = (self.finds_quarter, self.needed[1])
        return ", ".join(
            f"{part} of the noise {'would' if finds else 'would NOT'} be refuted"
            f" (by {'more than a million' if runs is None else f'{runs:,}'})"
            for part, (finds, runs) in parts.items()
        )
