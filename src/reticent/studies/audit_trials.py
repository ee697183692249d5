"""One audit of one proven release, as the study of audits repeats it."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reticent.arrays import Floats
from reticent.attacks.released_weights import noise_of
from reticent.audit.power import could_refute
from reticent.audit.release import audit_release
from reticent.audit.release_audit import ReleaseAudit
from reticent.audit.transcript_audit import TranscriptAudit
from reticent.audit.transcripts import audit_learner, audit_release_queries
from reticent.mechanisms import AdditiveMechanism
from reticent.protect import (
    AdaSSPHead,
    AdaSSPRegressor,
    ClassMeansHead,
    LDAHead,
    NoisyGradientHead,
    Release,
    release_mean,
    release_weights,
)
from reticent.protect.noisy_query import NoiseFunction
from reticent.studies.audit_worlds import (
    HeadData,
    centred_data,
    head_data,
    learner_worlds,
    neighbours,
)
from reticent.training import SoftmaxHead

WEIGHTS, CENTRED, TOGETHER = "weights", "weights after a mean", "mean and weights"
LEARNERS = {
    "class-means": ClassMeansHead,
    "lda": LDAHead,
    "adassp": AdaSSPHead,
    "adassp-regressor": AdaSSPRegressor,
    "noisy-gradient": NoisyGradientHead,
}
BOTH = "both"
"""Relations in turn, from audit to audit."""
RELATIONS = ("add-remove", "replace-one")
_MEAN_SHARE = 0.1


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A release, the terms of its claim, and how hard one audit looks."""

    what: str
    mechanism: str = "gaussian"
    delta: float = 1e-5
    relation: str = BOTH
    epsilons: tuple[float, ...] = (1.0, 2.0, 3.0)
    """In turn, from audit to audit."""
    runs: int = 2_000


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One audit: which release, on which data, with how much of its noise."""

    kind: Kind
    place: int
    beta: float
    share: float = 1.0
    built: bool

    @property
    def relation(self) -> str:
        """The kind's own; or each in turn, so that either meets digits and built data."""
        return RELATIONS[self.place // 2 % 2] if self.kind.relation == BOTH else self.kind.relation

    @property
    def terms(self) -> dict[str, Any]:
        """ε, δ, relation and mechanism of the audited claim."""
        return {
            "epsilon": self.kind.epsilons[self.place // 4 % len(self.kind.epsilons)],
            "delta": self.kind.delta,
            "relation": self.relation,
            "mechanism": self.kind.mechanism,
        }

    @property
    def effort(self) -> dict[str, Any]:
        """How hard the audit looks."""
        return {"runs": self.kind.runs, "beta": self.beta}


def audited(trial: Trial) -> dict[str, Any]:
    """One audit, in the few figures that the tables need."""
    audit = _AUDITS.get(trial.kind.what, _learner)(trial)
    conditional = getattr(audit, "conditional", None)
    claimed = audit.claim.epsilon
    return {
        "refuted": audit.verdict == "refuted",
        "able": could_refute(audit.measured, audit.claim),
        "bound": audit.measured.epsilon / claimed,
        "tightness": audit.tightness,
        "above": None if conditional is None else conditional.epsilon > claimed,
    }


def _weights(trial: Trial) -> ReleaseAudit:
    data = head_data(trial.place, built=trial.built, few_coordinates=trial.kind.delta == 0)
    released = _released(trial, data, with_mean=trial.kind.what == CENTRED)
    draw = None if trial.share == 1 else _weaker(noise_of(released), trial.share).release
    return audit_release(released, data.rows, data.labels, draw=draw, candidates=4, **trial.effort)


def _together(trial: Trial) -> TranscriptAudit:
    data = centred_data(trial.place, built=trial.built)
    released = _released(trial, data, with_mean=True)
    worlds = neighbours(data.rows, data.labels, replaced=trial.relation == RELATIONS[1])
    return audit_release_queries(released, *worlds, draw=_drawn(trial.share), **trial.effort)


def _learner(trial: Trial) -> TranscriptAudit:
    kind = LEARNERS[trial.kind.what]
    numbers = kind is AdaSSPRegressor
    worlds = learner_worlds(
        trial.place,
        built=trial.built,
        replaced=trial.relation == RELATIONS[1],
        targets=numbers,
    )
    own = {"bound": 1.0, "target_bound": 1.0} if numbers else {"classes": range(3)}
    learner = kind(records=8 + trial.place % 25, **own, **trial.terms)
    return audit_learner(learner, *worlds, draw=_drawn(trial.share), **trial.effort)


_AUDITS: Mapping[str, Callable[[Trial], ReleaseAudit | TranscriptAudit]] = {
    WEIGHTS: _weights,
    CENTRED: _weights,
    TOGETHER: _together,
}


def _released(trial: Trial, data: HeadData, *, with_mean: bool) -> Release:
    mean = None
    if with_mean:
        mean = release_mean(
            data.rows, bound=1.0, records=data.records, share=_MEAN_SHARE, **trial.terms
        )
    head = SoftmaxHead(
        penalty=data.penalty,
        bound=1.0,
        classes=range(data.classes),
        records=data.records,
        intercept=0.0,
        norms=data.norms,
        centre=None if mean is None else mean.tensors["mean"],
    )
    head.fit(data.rows, data.labels)
    return release_weights(head, mean=mean, **trial.terms)


def _weaker(noise: AdditiveMechanism, share: float) -> AdditiveMechanism:
    return dataclasses.replace(noise, scale=share * noise.scale)


def _drawn(share: float) -> NoiseFunction | None:
    """Code under audit that adds this share of the noise; None for what is released."""
    if share == 1:
        return None

    def draw(noise: AdditiveMechanism, value: Floats) -> Floats:
        return _weaker(noise, share).release(value)

    return draw
