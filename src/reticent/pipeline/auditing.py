"""Audits of what is in files: releases on their own data, and trainings by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reticent.audit.canaries import CanaryKind
from reticent.audit.one_training import TrainingAudit, one_run_audit
from reticent.audit.release import audit_release
from reticent.audit.releases import AuditAt, ClaimsAudit, audit_together
from reticent.data import Dataset
from reticent.guarantee import Guarantee, Relation
from reticent.pipeline.learning import LEARNERS
from reticent.pipeline.protecting import private_rows
from reticent.pipeline.user_code import open_function
from reticent.protect import ReleasedHead
from reticent.protect.certificate import Released
from reticent.randomness import seeded
from reticent.validation import InputError

Read = Callable[[list[str]], Dataset]
"""The private records, with these classes declared."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How hard to look; None leaves it to the audit."""

    runs: int | None = None
    candidates: int | None = None

    def said(self) -> dict[str, Any]:
        """What was said of it."""
        return {name: value for name, value in vars(self).items() if value is not None}


def audit_files(
    releases: Mapping[str, Released], read: Read, *, beta: float, effort: Effort
) -> ClaimsAudit:
    """Audit releases on the data that all of them were made from, β divided over them.

    Everything is opened before the first audit begins.
    """
    claims = {name: _audit_of(name, found, read, effort) for name, found in releases.items()}
    return audit_together(claims, beta=beta)


def _audit_of(name: str, released: Released, read: Read, effort: Effort) -> AuditAt:
    if not isinstance(released, ReleasedHead):
        raise InputError(
            f"{name} must hold a softmax head's noisy weights, got {released.learner}: its training"
            " can be audited, --train"
        )
    rows, labels = private_rows(read([str(label) for label in released.classes_]), 1)
    return lambda beta: audit_release(released, rows, labels, beta=beta, **effort.said())


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """A training by name, its claim, and the canaries; every number is public.

    ``train`` is a learner's name or ``module:function``. ``records`` is the public N of a learner.
    """

    train: str
    bound: float | None
    epsilon: float | None
    delta: float
    records: int | None = None
    canaries: int = 200
    kind: str = CanaryKind.ORTHOGONAL
    seed: int = 0

    def trained_by(self, classes: tuple[str, ...]) -> Any:
        """The function, or the learner before its fit."""
        if self.train not in LEARNERS:
            return open_function("train", self.train)
        if self.epsilon is None or self.records is None:
            raise InputError(f"epsilon and records must be said for the learner {self.train}")
        return LEARNERS[self.train](
            classes=classes,
            records=self.records,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=Relation.ADD_REMOVE,
        )

    @property
    def claim(self) -> Guarantee | None:
        """What somebody's own training is said to keep; a learner says it itself."""
        if self.train in LEARNERS or self.epsilon is None:
            return None
        return Guarantee(epsilon=self.epsilon, delta=self.delta, relation=Relation.ADD_REMOVE)

    @property
    def longest(self) -> float:
        """The bound on rows; learners scale all rows to norm 1 themselves."""
        if self.bound is not None:
            return self.bound
        if self.train in LEARNERS:
            return 1.0
        raise InputError("bound must be said for a training of your own: canaries keep it")


def audit_named_training(data: Dataset, plan: TrainingPlan, *, beta: float) -> TrainingAudit:
    """Train once with canaries among the records, and bound ε by how well they are told."""
    rows, labels = private_rows(data, 1)
    return one_run_audit(
        plan.trained_by(data.classes),
        rows,
        labels,
        classes=data.classes,
        bound=plan.longest,
        rng=seeded("coins of canaries", plan.seed),
        canaries=plan.canaries,
        kind=plan.kind,
        claim=plan.claim,
        delta=plan.delta,
        beta=beta,
    )
