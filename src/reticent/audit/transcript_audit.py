"""What the audit of a transcript found: the claim, the figures beside it and the verdict."""

from dataclasses import dataclass
from typing import Any, Final

from reticent.audit.lower_bound import LowerBound
from reticent.audit.power import could_refute
from reticent.audit.verdict import Verdict
from reticent.guarantee import Guarantee
from reticent.guarantee.rounding import lower_text, upper_text

_ROUNDING: Final = 1e-9


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
        found = {"half": (self.finds_half, self.needed[0])}
        found["a quarter"] = (self.finds_quarter, self.needed[1])
        return ", ".join(
            f"{part} of the noise {'would' if finds else 'would NOT'} be refuted"
            f" (by {'more than a million' if runs is None else f'{runs:,}'})"
            for part, (finds, runs) in found.items()
        )
