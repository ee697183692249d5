"""Several claims about the same data, audited together: β is divided over them.

Each of m audits at β may be wrong with probability β, so that one of 20 true claims may fall in
almost two reports of three. At β/m each, none falls with probability 1 − β (Bonferroni), however
the audits depend on each other.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import ArrayLike

from reticent.audit.lower_bound import checked_beta, divided
from reticent.audit.release import audit_release
from reticent.guarantee.rounding import upper_text
from reticent.protect import Release
from reticent.validation import InputError


class ClaimAudit(Protocol):
    """The audit of one claim."""

    @property
    def refuted(self) -> bool:
        """Whether the audit contradicts the claim."""

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values for a JSON file."""


AuditAt = Callable[[float], ClaimAudit]
"""The audit of one claim at its own share of β."""


@dataclass(frozen=True, kw_only=True)
class ClaimsAudit:
    """The audits of one report, by the names of what was audited; they hold together."""

    audits: Mapping[str, ClaimAudit]
    beta: float
    """The probability that any claim is refuted, if all are true."""

    @property
    def each(self) -> float:
        """The share of β that each audit had."""
        return divided(self.beta, len(self.audits))

    @property
    def refuted(self) -> bool:
        """Whether any of the claims is contradicted."""
        return bool(self.fallen)

    @property
    def fallen(self) -> tuple[str, ...]:
        """The names of those that did."""
        return tuple(name for name, audit in self.audits.items() if audit.refuted)

    @property
    def verdict(self) -> str:
        """In one line, with the correction."""
        names = ", ".join(self.fallen) or "none"
        return (
            f"{len(self.fallen)} of {len(self.audits)} claims refuted ({names}), each at"
            f" β = {upper_text(self.beta)}/{len(self.audits)}: all hold together at"
            f" β = {upper_text(self.beta)}"
        )

    def __str__(self) -> str:
        """Each audit under its name, and the verdict on all."""
        parts = [f"{name}\n{audit}" for name, audit in self.audits.items()]
        return "\n\n".join([*parts, f"together: {self.verdict}"])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a JSON file."""
        return {
            "audits": {name: audit.to_dict() for name, audit in self.audits.items()},
            "beta": self.beta,
            "beta_each": self.each,
            "refuted": list(self.fallen),
        }


def audit_together(claims: Mapping[str, AuditAt], *, beta: float = 0.05) -> ClaimsAudit:
    """Audit claims of any kind, each at β over their number.

    Args:
        claims: For each name a function from a risk to an audit, as ``lambda beta:
            audit_function(…, beta=beta)``.
        beta: The probability that any claim is refuted, if all are true.
    """
    if not claims:
        raise InputError("claims must be one or more to be audited, got none")
    each = divided(checked_beta(beta), len(claims))
    return ClaimsAudit(audits={name: audit(each) for name, audit in claims.items()}, beta=beta)


def audit_releases(
    releases: Sequence[Release] | Mapping[str, Release],
    X: ArrayLike,
    y: ArrayLike,
    *,
    beta: float = 0.05,
    **options: Any,
) -> ClaimsAudit:
    """Audit released softmax heads on the data that all of them were trained on.

    Args:
        releases: By name, or in order: they are then called 1, 2, ….
        X: The records, as they were before a head's own map.
        y: Their labels.
        beta: The probability that any claim is refuted, if all are true.
        **options: As for ``audit_release``: draw, runs, candidates, class_weight, fresh.
    """
    claims = {name: _audit_of(head, X, y, options) for name, head in _named(releases)}
    return audit_together(claims, beta=beta)


def _audit_of(head: Release, X: ArrayLike, y: ArrayLike, options: dict[str, Any]) -> AuditAt:
    return lambda beta: audit_release(head, X, y, beta=beta, **options)


def _named(
    releases: Sequence[Release] | Mapping[str, Release],
) -> Iterable[tuple[str, Release]]:
    if isinstance(releases, Mapping):
        return releases.items()
    return ((str(number), head) for number, head in enumerate(releases, start=1))
