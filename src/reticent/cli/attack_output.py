"""What ``reticent attack`` prints: a table of attacks, what was left out, notes, the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.cli.output import print_line, print_table

if TYPE_CHECKING:
    from reticent.audit.attack_plan import AttackPlan
    from reticent.audit.attack_run import Attacked
    from reticent.results.gate import Excess
    from reticent.results.steps import AttackStep

RATE = 0.01
"""The false positive rate at which the table gives the true positive rate."""


def step_of(target: Any, attacked: Attacked, slices: bool, above: Sequence[Excess]) -> AttackStep:
    """The values of a run, for ``reticent card --attack``."""
    from reticent.attacks.open_target import claimed, described
    from reticent.results.conversions import attacks_of, claim_of
    from reticent.results.steps import AttackStep

    claim = claimed(target)
    parts = attacked.slices if slices else None
    return AttackStep(
        target=described(target),
        claim=None if claim is None else claim_of(claim),
        attacks=attacks_of(attacked),
        left_out=attacked.skipped,
        notes=attacked.notes,
        confidence=attacked.confidence,
        strongest=attacked.strongest,
        leaks=attacked.leaks,
        verdict=attacked.verdict,
        above=tuple(excess.to_dict() for excess in above),
        slices=None
        if parts is None
        else tuple(vars(part) | {"auc": part.auc.to_dict()} for part in parts.slices),
        too_small_slices=() if parts is None else tuple(parts.too_small),
    )


def print_attacked(attacked: Attacked, target: str, plan: AttackPlan) -> None:
    """A row for each attack, what intervals mean, and what each adversary sees."""
    from reticent.audit.attack_report import rate_name

    first = next(iter(attacked.reports.values()))
    measured = first.tpr_at_fpr.keys() & {RATE}
    columns = ["attack", "AUC", "TPR − FPR", *(rate_name(rate) for rate in measured)]
    rows = [
        (name, *(report.row()[column] for column in columns[1:]))
        for name, report in attacked.reports.items()
    ]
    title = f"{target}: {first.members:,} members, {first.others:,} others"
    print_table(title, columns, rows, detail=True)
    print_line(
        f"intervals: {100 * plan.confidence:g} % for all {len(rows)} attacks together; 0.5 and 0"
        " are guessing",
        detail=True,
    )
    for reason in () if measured else first.refused[:1]:
        print_line(f"not measured: {reason}", detail=True)
    threats = {name: str(report.threat) for name, report in attacked.reports.items()}
    for threat, names in _grouped(threats):
        print_line(f"{names}: {threat}", detail=True)


def _grouped(texts: dict[str, str]) -> list[tuple[str, str]]:
    """Each text once, with the attacks that it is about."""
    names: dict[str, list[str]] = {}
    for name, text in texts.items():
        names.setdefault(text, []).append(name)
    return [(text, ", ".join(group)) for text, group in names.items()]


def print_rest(attacked: Attacked, slices: bool, scores_out: Path | None) -> None:
    """What was left out, notes, slices, where scores are; the verdict last."""
    for reason, names in _grouped(attacked.skipped):
        print_line(f"left out: {names}: {reason}", detail=True)
    for note in attacked.notes:
        print_line(f"note: {note}", detail=True)
    if slices:
        _print_slices(attacked)
    if scores_out is not None:
        print_line(f"scores written to {scores_out}: private, for they say who may be a member")
    print_line(f"verdict: {attacked.verdict}")


def _print_slices(attacked: Attacked) -> None:
    rows = [
        (f"{part.by} {part.name}", str(part.members), str(part.others), str(part.auc),
         f"{part.corrected:.2g}", "leaks" if part.leaks else "no leak found")
        for part in attacked.slices.slices
    ]  # fmt: skip
    print_table(
        f"{attacked.strongest} by slice; p-values by Holm's rule",
        ("slice", "members", "others", "AUC", "p", "verdict"),
        rows,
        detail=True,
    )
    print_line(
        f"a slice leaks where p ≤ {1 - attacked.each:.2g}: the strongest of {len(attacked.reports)}"
        " attacks was chosen",
        detail=True,
    )
    if attacked.slices.too_small:
        print_line(f"too few records: {', '.join(attacked.slices.too_small)}", detail=True)
