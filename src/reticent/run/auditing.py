"""The audits of a run: every claim at the ε that is asked for, all together at one risk."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from reticent.attacks import context, shadow_models
from reticent.audit import lower_bound, release_audit, transcripts
from reticent.audit.many_runs import fewest_runs
from reticent.audit.release import audit_release
from reticent.guarantee import Grade, Guarantee, Relation
from reticent.neighbours.sampled import SampledPairs
from reticent.parallel import map_tasks
from reticent.protect import Release, terms
from reticent.results import Audit, conversions
from reticent.run.heads import Sensitivities
from reticent.run.releases import Drawn
from reticent.run.spec import RunData, RunSpec

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
    progress: context.ProgressCallback,
) -> dict[str, Audit]:
    """Of each release by name, each at its share of β."""
    auditor = _Auditor(
        data=data,
        spec=spec,
        fresh=estimates.fresh,
        beta=lower_bound.divided(spec.beta, len(releases)),
    )
    audit_results = map_tasks(
        auditor,
        [release.first for release in releases.values()],
        jobs=spec.jobs,
        on_done=lambda ready: progress("audits", ready, len(releases)),
    )
    return dict(zip(releases, audit_results, strict=True))


def audited_by_record(spec: RunSpec) -> tuple[str, ...]:
    """Where the run is about persons: which claims are not, and were audited as they are made."""
    # With one record each a person is a record; without mechanisms no sensitivity is released.
    if terms.records_touched(spec.max_records_per_person) == 1 or not spec.mechanisms:
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

    def __call__(self, released: Release) -> Audit:
        if shadow_models.is_convex(released):
            sampled = released.guarantee.grade is Grade.SAMPLED
            by_record = released.terms.max_records_per_person is None
            audit = audit_release(
                released,
                *self.data.rows("private"),
                beta=self.beta,
                runs=self.spec.audit_runs,
                fresh=self.fresh if sampled else None,
                persons=None if by_record else self.data.private.persons,
            )
            # The theorem's sensitivity is not what a sampled or published release claims.
            proven = audit.claim.grade in (Grade.PROVEN, Grade.DECLARED)
            return conversions.audit_of(
                audit, pair=audit.pair, tightness=audit.tightness if proven else None
            )
        pair = pair_in_words(released.terms.max_records_per_person)
        return conversions.audit_of(self._transcripts(released), pair=pair)

    def _transcripts(self, released: Release) -> release_audit.TranscriptAudit:
        """A claim about all data sets is tried on the hardest one known: a person alone, or nobody.

        Equal records of a person move every sum as many times as far as one of them.
        """
        names, each = released.classes_, released.terms.records_touched
        owned = np.repeat(np.eye(1, self.data.features), each, axis=0)
        opposite = -owned if released.terms.relation is Relation.REPLACE_ONE else owned[:0]
        worlds = [(rows, np.repeat(names[:1], len(rows))) for rows in (opposite, owned)]
        size = sum(tensor.size for tensor in released.tensors.values())
        runs = transcripts_for(released.guarantee, size, self.beta)
        return transcripts.audit_release_queries(released, *worlds, runs=runs, beta=self.beta)


def transcripts_for(claim: Guarantee, weights: int, beta: float) -> int:
    """As many as can refute the claim, where that takes seconds; else few."""
    most = min(max(_WEIGHTS // weights, FEWEST), MOST)
    needed = fewest_runs(claim, beta=beta, counted=1 - transcripts.SHARE, most=most)
    return FEWEST if needed is None else min(max(math.ceil(_SPARE * needed), FEWEST), most)


def pair_in_words(max_records_per_person: int | None) -> str:
    """The two data sets that a recipe is tried on, in words."""
    if max_records_per_person is None:
        return "one record, and none or its opposite"
    if max_records_per_person == 1:
        return "the one record of a person, and none or its opposite"
    return f"{max_records_per_person} equal records of one person, and none or their opposites"
