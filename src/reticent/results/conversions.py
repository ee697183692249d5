"""What the library found, as values of the document."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from scipy import special

from reticent.arrays import Flags, Floats
from reticent.attacks import Access, Scores
from reticent.audit import AttackReport, Measured, UtilityLoss, release, release_audit, roc
from reticent.audit.attack_run import Attacked
from reticent.audit.lower_bound import LowerBound
from reticent.guarantee import Guarantee
from reticent.protect import Release
from reticent.protect.released_encoder import composed_guarantee
from reticent.protect.used_encoder import UsedStart
from reticent.results.attack import GUESSING, Attack, Curve, Interval, Rate
from reticent.results.audit import Audit, Bound, Claim, UsedClaim
from reticent.results.steps import AuditStep, AuditSteps

CONFIDENCE: Final = 0.95
BLACK_BOX: Final = {
    Access.SCORES,
    Access.TOP_SCORES,
    Access.ROUNDED_SCORES,
    Access.LABELS,
    Access.NUMBERS,
    Access.LABEL_SCORES,
}
_RATES: Final = 100
"""At which a ROC curve is kept, densest at few false alarms."""


def claim_of(guarantee: Guarantee) -> Claim:
    """The guarantee with its printed line; its parts are left out."""
    plain: dict[str, Any] = guarantee.to_dict()
    del plain["composed_of"]
    return Claim(**plain, text=str(guarantee))


def used_of(release: Release) -> UsedClaim | None:
    """The release below one, with what both promise together; None where there is none."""
    used, both = release.terms.used, composed_guarantee(release)
    if used is None or both is None:
        return None
    return UsedClaim(
        noun="start" if isinstance(used, UsedStart) else "encoder",
        recipe=used.recipe,
        people=used.people.value,
        claim=claim_of(used.guarantee),
        both=claim_of(both),
    )


def bound_of(bound: LowerBound) -> Bound:
    """The lower bound with its printed line."""
    return Bound(
        epsilon=bound.epsilon,
        delta=bound.delta,
        confidence=bound.confidence,
        method=bound.method,
        text=str(bound),
    )


def audit_of(
    audit: release_audit.ReleaseAudit | release_audit.TranscriptAudit, *, pair: str, **more: Any
) -> Audit:
    """Both figures of an audit and its verdict; ``more`` are fields that its caller knows."""
    notes: tuple[str, ...] = ()
    if isinstance(audit, release_audit.ReleaseAudit):
        notes = () if audit.fresh is None else tuple(audit.fresh.figures)
    else:
        more["could_refute"] = audit.could_refute
        notes = (f"all {audit.queries:,} noisy sums of a fit are seen by this adversary",)
        notes += () if audit.conditional is None else (str(audit.conditional),)
    return Audit(
        verdict=audit.verdict,
        refuted_by=audit.refuted_by,
        measured=bound_of(audit.measured),
        analytic=audit.analytic,
        exact=audit.exact,
        runs=audit.runs,
        finds_half=audit.finds_half,
        pair=pair,
        notes=notes,
        **{"tightness": audit.tightness} | more,
    )


def audit_steps(claims_audit: release.ClaimsAudit) -> AuditStep | AuditSteps:
    """Audits of releases as ``audit --json`` prints them: one, or several with their β."""
    steps = tuple(_audit_step(name, audit) for name, audit in claims_audit.audits.items())
    if len(steps) == 1:
        return steps[0]
    return AuditSteps(
        audits=steps,
        beta=claims_audit.beta,
        beta_each=claims_audit.each,
        refuted=claims_audit.fallen,
    )


def _audit_step(name: str, audit: Any) -> AuditStep:
    figures = audit.to_dict()
    for field in ("claim", "verdict", "refuted_by"):
        figures.pop(field)
    pair = getattr(audit, "pair", "the data, and a neighbour without what the model believes least")
    return AuditStep(
        release=name,
        claim=claim_of(audit.claim),
        audit=audit_of(audit, pair=pair),
        figures=figures,
    )


def interval_of(measured: Measured | UtilityLoss) -> Interval:
    """A measured figure with the limits of its interval."""
    return Interval(
        value=measured.value, low=measured.low, high=measured.high, confidence=measured.confidence
    )


def accuracy_of(hits: Sequence[Flags], *, confidence: float = CONFIDENCE) -> Interval:
    """The mean accuracy of several draws: records and draws both count for its limits.

    Wilson's limits for the records, Student's for the draws, joined by their squares (MOVER; Zou,
    Donner 2008). What a draw does to single records enters both, which errs on the safe side.
    """
    each = np.stack(hits)
    mean = float(each.mean())
    moved = moved_by_draws(each.mean(axis=1), confidence)
    limits = wilson_limits(mean, each.shape[1], confidence)
    below, above = (math.hypot(mean - limit, moved) for limit in limits)
    low, high = max(mean - below, 0.0), min(mean + above, 1.0)
    return Interval(value=mean, low=low, high=high, confidence=confidence)


def wilson_limits(share: float, records: int, confidence: float) -> tuple[float, float]:
    """The shares of which so many records would show this one at the confidence's edge."""
    squared = float(special.ndtri((1 + confidence) / 2)) ** 2
    middle = share + squared / (2 * records)
    half = math.sqrt(squared * (share * (1 - share) + squared / (4 * records)) / records)
    return (middle - half) / (1 + squared / records), (middle + half) / (1 + squared / records)


def moved_by_draws(means: Floats, confidence: float) -> float:
    """t·s/√K: how far the mean over K draws lies from that over all, at most."""
    draws = len(means)
    if draws == 1:
        return 0.0
    wide = float(special.stdtrit(draws - 1, (1 + confidence) / 2))
    return wide * float(means.std(ddof=1)) / math.sqrt(draws)


def attacks_of(attacked: Attacked) -> tuple[Attack, ...]:
    """One value for each attack."""
    return tuple(
        attack_of(report, attacked.scores[name], attacked.inside, name)
        for name, report in attacked.reports.items()
    )


def attack_of(report: AttackReport, scores: Scores, inside: Flags, name: str) -> Attack:
    """What was measured of one attack, with its curve."""
    smallest = report.smallest_auc
    # The page judges by the AUC: where its interval, which holds for all attacks together, is above
    # guessing, nobody shall read "no leak" because other figures were looked at, too.
    leaks = report.leaks or report.auc.low > GUESSING
    by_auc = f"leak found by {name}: AUC {report.auc}"
    return Attack(
        name=name,
        threat=str(report.threat),
        black_box=report.threat.access in BLACK_BOX,
        members=report.members,
        others=report.others,
        auc=interval_of(report.auc),
        balanced_accuracy=interval_of(report.balanced_accuracy),
        leakage=interval_of(report.leakage),
        rates=tuple(
            Rate(fpr=fpr, tpr=interval_of(rate)) for fpr, rate in report.tpr_at_fpr.items()
        ),
        roc=_curve(scores.values, inside),
        leaks=leaks,
        verdict=report.verdict if leaks == report.leaks else by_auc,
        notes=(*report.notes, *report.refused),
        smallest_auc=None if smallest == float("inf") else smallest,
    )


def _curve(values: Floats, inside: Flags) -> Curve:
    """Steps: with both corners of each, a line through the points is nowhere above the curve."""
    curve = roc(values[inside], values[~inside])
    wanted = np.unique(np.concatenate([[0.0], np.geomspace(1e-4, 1.0, _RATES)]))
    # The last point at or below each rate: the most that this rate allows.
    places = np.unique(np.searchsorted(curve.fpr, wanted, side="right") - 1)
    fpr, tpr = curve.fpr[places], curve.tpr[places]
    corners = np.stack([fpr[1:], tpr[:-1]]), np.stack([fpr[1:], tpr[1:]])
    steps = np.stack(corners, axis=2).reshape(2, -1)
    points = np.unique(np.column_stack([np.stack([fpr[:1], tpr[:1]]), steps]).round(6), axis=1)
    return Curve(fpr=tuple(points[0].tolist()), tpr=tuple(points[1].tolist()))
