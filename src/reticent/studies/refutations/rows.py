"""One row for each audited claim, the same columns in every table."""

from __future__ import annotations

from typing import Final

from reticent.audit.mechanism import FunctionAudit
from reticent.audit.release import ReleaseAudit
from reticent.guarantee import Grade
from reticent.guarantee.rounding import lower_text, upper_text
from reticent.pipeline import Table

BETA: Final = 1e-6
"""The risk of each measured bound."""
COLUMNS: Final = (
    "mechanism",
    "grade",
    "claimed ε",
    "δ",
    "exact pair ε",
    "measured ε ≥",
    "verdict",
    "refuted by",
)
_NONE: Final = "–"

Row = tuple[str, ...]


def function_row(mechanism: str, grade: Grade, audit: FunctionAudit) -> Row:
    """Of a function that was drawn on two inputs; there is no exact figure."""
    return (
        mechanism,
        str(grade),
        upper_text(audit.epsilon),
        upper_text(audit.delta),
        _NONE,
        lower_text(audit.bound.epsilon, 4),
        audit.verdict,
        "measured bound" if audit.refuted else _NONE,
    )


def release_row(mechanism: str, audit: ReleaseAudit) -> Row:
    """Of noise on a vector, whose pair of worlds is solved."""
    claim = audit.claim
    found = {
        "measured bound": audit.measured.refutes(epsilon=claim.epsilon, delta=claim.delta),
        "exact pair": audit.exact and audit.analytic > claim.epsilon,
    }
    by = " and ".join(name for name, refutes in found.items() if refutes)
    return (
        mechanism,
        str(claim.grade),
        upper_text(claim.epsilon),
        upper_text(claim.delta),
        f"{'' if audit.exact else '≤ '}{upper_text(audit.analytic, 4)}",
        lower_text(audit.measured.epsilon, 4),
        audit.verdict,
        by if audit.refuted_by is not None else _NONE,
    )


def refutation_table(title: str, rows: list[Row], *notes: str) -> Table:
    """The rows, and what they mean."""
    risk = (
        "Measured bounds hold for every mechanism; each is wrong with probability 10⁻⁶ at most"
        " (Clopper–Pearson). Not refuted is not proven; proven rows have a theorem."
    )
    return Table(title=f"Refuted: {title}", columns=COLUMNS, rows=tuple(rows), notes=(*notes, risk))
