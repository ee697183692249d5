"""Audits of what is in files: releases on their own data, and trainings by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from reticent.audit.canaries import CanaryKind
from reticent.audit.one_training import TrainingAudit, margin_scores, one_run_audit
from reticent.audit.person_pairs import records_of, rows_of_units
from reticent.audit.release import audit_release
from reticent.audit.releases import AuditAt, ClaimsAudit, audit_together
from reticent.audit.transcript_audit import TranscriptAudit
from reticent.audit.transcripts import audit_learner
from reticent.data import Dataset
from reticent.guarantee import Guarantee, Relation
from reticent.pipeline.learning import LEARNERS, learner_like
from reticent.pipeline.protecting import capped, kept_each, private_rows
from reticent.pipeline.user_code import open_function
from reticent.protect import ReleasedHead, ReleasedLinear, ReleasedRegression
from reticent.protect.certificate import Released
from reticent.protect.learners.learner import Learner
from reticent.protect.public_numbers import records_touched, unit_of
from reticent.randomness import seeded
from reticent.training.records import indices_of
from reticent.validation import InputError

Floats = NDArray[np.float64]
Progress = Callable[[int, int], object]
Records = tuple[Floats, NDArray[Any]]
"""Rows and labels."""
Persons = NDArray[Any] | None
"""Whose each row is."""
Read = Callable[[list[str]], Dataset]
"""The private records, with these classes declared."""

LEARNER_RUNS: Final = 50
"""Each is four fits of up to a hundred sums: few enough to wait for, and enough to see whether sums
move further than they may, or a model tells what its answers did not."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How hard to look; None leaves it to the audit."""

    runs: int | None = None
    candidates: int | None = None
    progress: Progress | None = None

    @property
    def on_head(self) -> dict[str, Any]:
        """What the audit of a head is told."""
        chosen = {"runs": self.runs, "candidates": self.candidates}
        return {name: value for name, value in chosen.items() if value is not None}

    @property
    def on_learner(self) -> dict[str, Any]:
        """What the audit of a learner is told."""
        runs = LEARNER_RUNS if self.runs is None else self.runs
        return {"runs": runs, "progress": self.progress}


def audit_files(
    releases: Mapping[str, Released], read: Read, *, beta: float, effort: Effort
) -> ClaimsAudit:
    """Audit releases on the data that all of them were made from, β divided over them.

    Everything is opened before the first audit begins.
    """
    claims = {name: _audit_of(name, found, read, effort) for name, found in releases.items()}
    return audit_together(claims, beta=beta)


def _audit_of(name: str, released: Released, read: Read, effort: Effort) -> AuditAt:
    if isinstance(released, ReleasedRegression):
        raise InputError(
            f"{name} must hold a classifier, got a regression: audit its learner in Python,"
            " reticent.audit.transcripts.audit_learner"
        )
    names = [str(label) for label in released.classes_]
    data, each = read(names), records_of(released.guarantee.unit)
    refuse_persons(name, released, named=data.persons is not None)
    rows, texts = private_rows(data, each)
    persons = data.persons
    if persons is not None:
        persons = persons[capped(persons, records_touched(each))]
    labels = released.classes_[indices_of(texts, np.asarray(names))]  # numbers, where it has some
    if isinstance(released, ReleasedHead):
        return lambda beta: audit_release(
            released, rows, labels, beta=beta, persons=persons, **effort.on_head
        )
    return _audit_of_learner(released, (rows, labels), persons, effort)


def refuse_persons(name: str, released: Released, *, named: bool) -> None:
    """Refuse a table that is not the claim's: with persons or without, as ``named`` says.

    A claim about several rows of a person needs to know whose a row is. With one row each a table
    without persons is taken for the rows that were kept. Of a claim about one record every row of
    the table was fitted on, whoever owns it: nothing may be left out by person.
    """
    unit = released.guarantee.unit
    each = records_of(unit)
    if not named and records_touched(each) > 1:
        raise InputError(
            f"--person must be said, the column that says whose record it is: {name} protects"
            f" {unit}"
        )
    if named and each is None:
        raise InputError(f"--person must not be said: {name} protects {unit}, whoever owns it")


def _audit_of_learner(
    released: ReleasedLinear, records: Records, persons: Persons, effort: Effort
) -> AuditAt:
    learner = learner_of(released)
    worlds = records, neighbour_of(released, *records, persons=persons)

    def audit(beta: float) -> TranscriptAudit:
        found = audit_learner(learner, *worlds, beta=beta, **effort.on_learner)
        # The file's own claim: the learner that was built from it would call the same ε proven.
        return dataclasses.replace(found, claim=released.guarantee)

    return audit


def learner_of(released: ReleasedLinear) -> Learner:
    """The learner that a certificate describes, before its fit.

    Refused where it would not make the sums of the certificate with the same noise: the audit
    would be of another claim.
    """
    recipe, claim = released.recipe, released.guarantee
    if claim.unit != recipe.unit:
        raise InputError(f"unit must be that of the recipe, {recipe.unit}, got {claim.unit}")
    learner = learner_like(released)
    nobody = np.zeros((0, recipe.features)), released.classes_[:0]
    planned = clone(learner).fit(*nobody).released_  # the plan follows from public numbers alone
    if planned.recipe != recipe or planned.scales != released.scales:
        raise InputError(
            "released must follow from its recipe in this version, got other sums or noise"
        )
    return learner


def neighbour_of(
    released: ReleasedLinear, rows: Floats, labels: NDArray[Any], *, persons: Persons = None
) -> Records:
    """The data without the record, or all records of the person, that the model believes least.

    Its residual is the longest, and so is its part of a gradient. Under replace-one it is turned
    round and given another label instead. Of persons those with the most records move sums most.
    """
    if len(rows) == 0:
        raise InputError("private must hold a record to be removed, got none")
    least = _believed_least(released, rows, labels, persons)
    if released.guarantee.relation is not Relation.REPLACE_ONE:
        return np.delete(rows, least, axis=0), np.delete(labels, least)
    turned, relabelled = rows.copy(), labels.copy()
    turned[least] *= -1
    for row in least:
        relabelled[row] = next(name for name in released.classes_ if name != labels[row])
    return turned, relabelled


def _believed_least(
    released: ReleasedLinear, rows: Floats, labels: NDArray[Any], persons: Persons
) -> NDArray[np.int64]:
    scores, each = margin_scores(released, rows, labels), records_of(released.guarantee.unit)
    groups = rows_of_units(persons, len(rows), each)
    return max(groups, key=lambda group: (len(group), -float(scores[group].sum())))


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

    def trained_by(self, classes: tuple[str, ...], records_each: int | None = None) -> Any:
        """The function, or the learner before its fit; its rows are so many of each person."""
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
            records_each=records_each,
        )

    def claim(self, records_each: int | None = None) -> Guarantee | None:
        """What somebody's own training is said to keep; a learner says it itself."""
        if self.train in LEARNERS or self.epsilon is None:
            return None
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=Relation.ADD_REMOVE,
            unit=unit_of(records_each),
        )

    @property
    def longest(self) -> float:
        """The bound on rows; learners scale all rows to norm 1 themselves."""
        if self.bound is not None:
            return self.bound
        if self.train in LEARNERS:
            return 1.0
        raise InputError("bound must be said for a training of your own: canaries keep it")


def audit_named_training(data: Dataset, plan: TrainingPlan, *, beta: float) -> TrainingAudit:
    """Train once with canaries among the records, and bound ε by how well they are told.

    Of persons one row each is trained on: a canary is all that a person of its own has.
    """
    each = kept_each(data, None)
    rows, labels = private_rows(data, each)
    return one_run_audit(
        plan.trained_by(data.classes, each),
        rows,
        labels,
        classes=data.classes,
        bound=plan.longest,
        rng=seeded("coins of canaries", plan.seed),
        canaries=plan.canaries,
        kind=plan.kind,
        claim=plan.claim(each),
        delta=plan.delta,
        beta=beta,
    )
