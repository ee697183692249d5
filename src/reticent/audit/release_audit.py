"""What the audit of a release found: the claim, both figures and the verdict."""

from dataclasses import dataclass
from typing import Any, Final

from reticent.audit.lower_bound import LowerBound
from reticent.audit.sampled import CANNOT, SampledAudit
from reticent.audit.verdict import Verdict
from reticent.guarantee import Grade, Guarantee
from reticent.guarantee.rounding import upper_text

_ROUNDING: Final = 1e-9
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
