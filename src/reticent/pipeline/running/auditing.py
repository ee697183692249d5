"""The audits of a run: every claim at the ε that is asked for, all together at one risk."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from reticent.audit.lower_bound import divided
from reticent.audit.power import fewest_runs
from reticent.audit.release import audit_release
from reticent.audit.release_audit import ReleaseAudit
from reticent.audit.transcript_audit import TranscriptAudit
from reticent.audit.transcripts import SHARE, audit_learner
from reticent.guarantee import Grade, Guarantee, Relation
from reticent.guarantee.guarantee import ONE_RECORD
from reticent.neighbours.sampled import SampledPairs
from reticent.parallel import map_tasks
from reticent.pipeline.attack_recipes import Stage
from reticent.pipeline.learning import learner_like
from reticent.pipeline.running.heads import Sensitivities
from reticent.pipeline.running.releases import Drawn
from reticent.pipeline.running.spec import RunData, RunSpec
from reticent.pipeline.running.values import bound_of
from reticent.protect import ReleasedHead, ReleasedLinear
from reticent.protect.public_numbers import records_touched
from reticent.results import Audit

FEWEST, MOST = 20, 100
"""Transcripts of a learner in each world. They find gross errors; ``make audits`` looks harder."""
_WEIGHTS: Final = 200_000
"""Of all transcripts of one world together: seconds."""
_SPARE: Final = 1.25
"""Times the runs that could refute the claim if every one were told right."""


def audits(
    releases: Mapping[str, Drawn],
    data: RunData,
    spec: RunSpec,
    estimates: Sensitivities,
    tell: Stage,
) -> dict[str, Audit]:
    """Of each release by name, each at its share of β."""
    auditor = _Auditor(
        data=data, spec=spec, fresh=estimates.fresh, beta=divided(spec.beta, len(releases))
    )
    found = map_tasks(
        auditor,
        [release.first for release in releases.values()],
        jobs=spec.jobs,
        on_done=lambda ready: tell("audits", ready, len(releases)),
    )
    return dict(zip(releases, found, strict=True))


def audited_by_record(spec: RunSpec) -> tuple[str, ...]:
    """Where the run is about persons: which claims are not, and were audited as they are made."""
    # With one record each a person is a record; without mechanisms no sensitivity is released.
    if records_touched(spec.records_each) == 1 or not spec.mechanisms:
        return ()
    return (
        "Sampled and published sensitivities are about one record, and their releases were audited"
        f" for that alone; all others for {spec.unit}.",
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Auditor:
    data: RunData
    spec: RunSpec
    fresh: SampledPairs | None
    beta: float

    def __call__(self, released: ReleasedHead | ReleasedLinear) -> Audit:
        if isinstance(released, ReleasedHead):
            sampled = released.guarantee.grade is Grade.SAMPLED
            by_record = released.guarantee.unit == ONE_RECORD
            found = audit_release(
                released,
                *self.data.rows("private"),
                beta=self.beta,
                runs=self.spec.audit_runs,
                fresh=self.fresh if sampled else None,
                persons=None if by_record else self.data.private.persons,
            )
            # The theorem's sensitivity is not what a sampled or published release claims.
            proven = found.claim.grade in (Grade.PROVEN, Grade.DECLARED)
            return head_audit(found, tightness=found.tightness if proven else None)
        return _of_learner(self._transcripts(released), released.recipe.records_each)

    def _transcripts(self, released: ReleasedLinear) -> TranscriptAudit:
        """A claim about all data sets is tried on the hardest one known: a person alone, or nobody.

        Equal records of a person move every sum as many times as far as one of them.
        """
        learner, names = learner_like(released), released.classes_
        each = records_touched(released.recipe.records_each)
        owned = np.repeat(np.eye(1, self.data.features), each, axis=0)
        opposite = -owned if released.guarantee.relation is Relation.REPLACE_ONE else owned[:0]
        worlds = [(rows, np.repeat(names[:1], len(rows))) for rows in (opposite, owned)]
        runs = transcripts_for(released.guarantee, released.weights.size, self.beta)
        return audit_learner(learner, *worlds, runs=runs, beta=self.beta)


def transcripts_for(claim: Guarantee, weights: int, beta: float) -> int:
    """As many as can refute the claim, where that takes seconds; else few."""
    most = min(max(_WEIGHTS // weights, FEWEST), MOST)
    needed = fewest_runs(claim, beta=beta, counted=1 - SHARE, most=most)
    return FEWEST if needed is None else min(max(math.ceil(_SPARE * needed), FEWEST), most)


def head_audit(audit: ReleaseAudit, *, tightness: float | None) -> Audit:
    """The audit of a head as it stands in the document."""
    notes = () if audit.fresh is None else audit.fresh.figures
    return Audit(**_figures(audit), pair=audit.pair, tightness=tightness, notes=notes)


def _of_learner(audit: TranscriptAudit, records_each: int | None) -> Audit:
    notes = [f"all {audit.looks:,} noisy sums of a fit are seen by this adversary"]
    if audit.conditional is not None:
        notes.append(str(audit.conditional))
    pair = "one record, and none or its opposite"
    if records_each == 1:
        pair = "the one record of a person, and none or its opposite"
    elif records_each is not None:
        pair = f"{records_each} equal records of one person, and none or their opposites"
    return Audit(
        **_figures(audit),
        pair=pair,
        tightness=audit.tightness,
        could_refute=audit.could_refute,
        notes=tuple(notes),
    )


def _figures(audit: ReleaseAudit | TranscriptAudit) -> dict[str, Any]:
    return {
        "verdict": audit.verdict,
        "refuted_by": audit.refuted_by,
        "measured": bound_of(audit.measured),
        "analytic": audit.analytic,
        "exact": audit.exact,
        "runs": audit.runs,
        "finds_half": audit.finds_half,
    }
