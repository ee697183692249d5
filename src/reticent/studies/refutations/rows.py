"""One row for each audited claim, the same columns in every table."""

from typing import Final

from reticent.audit import FunctionAudit, ReleaseAudit
from reticent.guarantee import Grade
from reticent.guarantee.rounding import lower_text, upper_text
from reticent.results.table import Table

BETA: Final = 1e-6
"""The risk of each measured bound."""
COLUMNS: Final = ("mechanism", "grade", "claim", "exact ε", "ε ≥", "verdict")
"""What is claimed as (ε, δ); the ε of an exact pair; the measured bound; what refutes the claim."""

Row = tuple[str, ...]


def function_row(mechanism: str, grade: Grade, audit: FunctionAudit) -> Row:
    """Of a function that was drawn on two inputs; there is no exact figure."""
    return (
        mechanism,
        str(grade),
        _claim(audit.epsilon, audit.delta),
        "–",
        lower_text(audit.bound.epsilon, 4),
        _verdict(measured=audit.refuted, exact=False),
    )


def release_row(mechanism: str, audit: ReleaseAudit) -> Row:
    """Of noise on a vector, whose pair of worlds is solved."""
    claim = audit.claim
    measured = audit.measured.refutes(epsilon=claim.epsilon, delta=claim.delta)
    exact = audit.refuted_by is not None and audit.exact and audit.analytic > claim.epsilon
    return (
        mechanism,
        str(claim.grade),
        _claim(claim.epsilon, claim.delta),
        f"{'' if audit.exact else '≤ '}{upper_text(audit.analytic, 4)}",
        lower_text(audit.measured.epsilon, 4),
        _verdict(measured=measured, exact=exact),
    )


def _claim(epsilon: float, delta: float) -> str:
    return f"({upper_text(epsilon)}, {upper_text(delta)})"


def _verdict(*, measured: bool, exact: bool) -> str:
    if measured and exact:
        return "refuted by both"
    if exact:
        return "refuted by the exact pair"
    return "refuted by the measured bound" if measured else "not refuted"


def refutation_table(title: str, rows: list[Row], *notes: str) -> Table:
    """The rows, and what they mean."""
    risk = (
        "The claim is (ε, δ). Exact: ε of one pair of neighbours at that δ, under the noise as it"
        " is stated. Measured bounds (ε ≥) hold for every mechanism; each is wrong with"
        " probability 10⁻⁶ at most (Clopper–Pearson). Not refuted is not proven; proven"
        " rows have a theorem."
    )
    return Table(title=f"Refuted: {title}", columns=COLUMNS, rows=tuple(rows), notes=(*notes, risk))
