"""Audits of what is in files: releases on their own data, and trainings by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from reticent.arrays import Array, Floats, Integers, Progress
from reticent.audit import one_training, output_release, pairs, transcripts, user_code
from reticent.audit.canaries import CanaryKind
from reticent.audit.release import AuditAt, ClaimsAudit, audit_release, audit_together
from reticent.data import Dataset
from reticent.guarantee import Guarantee, Relation
from reticent.protect import Release, release_records, table
from reticent.protect.registry import RECIPES, classifiers
from reticent.protect.terms import Terms, records_touched, unit_of
from reticent.randomness import seeded
from reticent.training.records import indices_of
from reticent.validation import InputError

Records = tuple[Floats, Array]
"""Rows and labels."""
Persons = Array | None
"""Whose each row is."""
Read = Callable[[list[str] | None], Dataset]
"""The private records, with these classes declared; None of an encoder, which needs no labels."""

LEARNER_RUNS: Final = 50
"""Each is four fits of up to a hundred sums: few enough to wait for, and enough to see whether sums
move further than they may, or a model tells what its answers did not."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How hard to look; None leaves it to the audit."""

    runs: int | None = None
    candidates: int | None = None
    progress: Progress | None = None
    jobs: int = 1
    """Releases that are audited at a time; -1 takes every core."""

    @property
    def on_head(self) -> dict[str, Any]:
        """What the audit of a head is told."""
        chosen = {"runs": self.runs, "candidates": self.candidates}
        return {name: value for name, value in chosen.items() if value is not None}

    @property
    def on_queries(self) -> dict[str, Any]:
        """What the audit of noisy queries is told."""
        runs = LEARNER_RUNS if self.runs is None else self.runs
        return {"runs": runs, "progress": self.progress if self.jobs == 1 else None}


def audit_files(
    releases: Mapping[str, Release], read: Read, *, beta: float, effort: Effort
) -> ClaimsAudit:
    """Audit releases on the data that all of them were made from, β divided over them.

    Everything is opened before the first audit begins.
    """
    claims = {name: _audit_of(name, release, read, effort) for name, release in releases.items()}
    progress = None if effort.jobs == 1 else effort.progress  # of one release runs are told of
    return audit_together(claims, beta=beta, jobs=effort.jobs, progress=progress)


def _audit_of(name: str, released: Release, read: Read, effort: Effort) -> AuditAt:
    if released.recipe.task == "encoding":
        return _audit_of_encoder(name, released, read, effort)
    if released.recipe.task == "regression" or output_release.is_sigmoid(released):
        return _audit_of_outputs(name, released, read, effort)
    if released.recipe.task != "classification":
        raise InputError(
            f"{name} must hold a classifier, a regression or an encoder, got a"
            f" {released.recipe.task}: audit its recipe in Python,"
            " reticent.audit.transcripts.audit_release_queries"
        )
    names = [str(label) for label in released.classes_]
    data, each = read(names), released.terms.max_records_per_person
    refuse_persons(name, released, named=data.persons is not None)
    rows, texts = table.private_rows(data, each)
    persons = data.persons
    if persons is not None:
        persons = persons[table.cap_rows_per_person(persons, records_touched(each))]
    labels = released.classes_[indices_of(texts, np.asarray(names))]  # numbers, where it has some
    if released.recipe.convex_head(released.tensors, released.classes_) is not None:
        return lambda beta: audit_release(
            released, rows, labels, beta=beta, persons=persons, **effort.on_head
        )
    worlds = (rows, labels), neighbour_of(released, rows, labels, persons=persons)
    return lambda beta: transcripts.audit_release_queries(
        released, *worlds, beta=beta, **effort.on_queries
    )


def _audit_of_outputs(name: str, released: Release, read: Read, effort: Effort) -> AuditAt:
    """By all noisy sums of a regression, or by the optimum of a sigmoid head in both worlds."""
    data, each = read(None), released.terms.max_records_per_person
    refuse_persons(name, released, named=data.persons is not None)
    world = table.kept_rows(data, each)
    persons = None if data.persons is None else data.persons[table.rows_kept(data, each)]
    _refuse_other_width(released, world[0])
    groups = pairs.rows_of_units(persons, len(world[0]), each)
    recipe = released.recipe
    if output_release.is_sigmoid(released) and recipe.to_dict().get("mean_bound") is None:
        return output_release.SigmoidAudit(
            released=released, world=world, groups=groups, **effort.on_head
        )
    worlds = output_release.worst_worlds(released, world)
    return lambda beta: transcripts.audit_release_queries(
        released, *worlds, beta=beta, **effort.on_queries
    )


def _refuse_other_width(released: Release, rows: Floats) -> None:
    if rows.shape[1] != released.features:
        raise InputError(
            f"private must have the {released.features} features of the release, got"
            f" {rows.shape[1]}"
        )


def _audit_of_encoder(name: str, released: Release, read: Read, effort: Effort) -> AuditAt:
    """By all its noisy queries, on the rows with and without one unit, or one turned round.

    Rows are scaled to norm 1, so every record moves sums about as far: a unit with the most of them
    is taken.
    """
    data, each = read(None), released.terms.max_records_per_person
    refuse_persons(name, released, named=data.persons is not None)
    kept = table.rows_kept(data, each)
    rows = data.features[kept].astype(np.float64)
    if len(rows) == 0:
        raise InputError("private must hold a record to be removed, got none")
    persons = None if data.persons is None else data.persons[kept]
    unit = max(pairs.rows_of_units(persons, len(rows), each), key=len)
    if released.guarantee.relation is Relation.REPLACE_ONE:
        other = rows.copy()
        other[unit] *= -1
    else:
        other = np.delete(rows, unit, axis=0)
    worlds = (rows, np.zeros(len(rows))), (other, np.zeros(len(other)))
    return lambda beta: transcripts.audit_release_queries(
        released, *worlds, beta=beta, **effort.on_queries
    )


def refuse_persons(name: str, released: Release, *, named: bool) -> None:
    """Refuse a table that is not the claim's: with persons or without, as ``named`` says.

    A claim about several rows of a person needs to know whose a row is. With one row each a table
    without persons is taken for the rows that were kept. Of a claim about one record every row of
    the table was fitted on, whoever owns it: nothing may be left out by person.
    """
    terms = released.terms
    if not named and terms.records_touched > 1:
        raise InputError(
            f"--person must be said, the column that says whose record it is: {name} protects"
            f" {terms.unit}"
        )
    if named and terms.max_records_per_person is None:
        raise InputError(
            f"--person must not be said: {name} protects {terms.unit}, whoever owns it"
        )


def neighbour_of(
    released: Release, rows: Floats, labels: Array, *, persons: Persons = None
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


def _believed_least(released: Release, rows: Floats, labels: Array, persons: Persons) -> Integers:
    scores = one_training.margin_scores(released, rows, labels)
    groups = pairs.rows_of_units(persons, len(rows), released.terms.max_records_per_person)
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

    @property
    def by_recipe(self) -> bool:
        """Whether a recipe of that name trains, and not a user's function."""
        return self.train in classifiers()

    def trained_by(
        self, classes: tuple[str, ...], max_records_per_person: int | None = None
    ) -> Any:
        """The training as a function; its rows are so many of each person at most."""
        if not self.by_recipe:
            return user_code.open_function("train", self.train)
        if self.epsilon is None or self.records is None:
            raise InputError(f"epsilon and records must be said for the learner {self.train}")
        kind, names = RECIPES[self.train], np.asarray(classes)
        terms = Terms(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=Relation.ADD_REMOVE,
            max_records_per_person=max_records_per_person,
        )
        options: dict[str, Any] = {"bound": self.longest} if "bound" in kind.options else {}

        def train(rows: Floats, labels: Array) -> Release:
            recipe = kind.planned(
                terms,
                records=self.records or 0,
                features=rows.shape[1],
                classes=len(names),
                **options,
            )
            return release_records(recipe, terms, rows, indices_of(labels, names), classes=names)

        return train

    def claim(self, max_records_per_person: int | None = None) -> Guarantee | None:
        """What somebody's own training is said to keep; a recipe says it itself."""
        if self.by_recipe or self.epsilon is None:
            return None
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=Relation.ADD_REMOVE,
            unit=unit_of(max_records_per_person),
        )

    @property
    def longest(self) -> float:
        """The bound on rows; recipes that take none scale all rows to norm 1 themselves."""
        if self.bound is not None:
            return self.bound
        if self.by_recipe and "bound" not in RECIPES[self.train].options:
            return 1.0
        raise InputError("bound must be said for a training of your own: canaries keep it")


def needs_bound(train: str) -> bool:
    """Whether a bound must be said: recipes that take none scale rows to norm 1 themselves."""
    return train not in RECIPES or "bound" in RECIPES[train].options


def audit_named_training(
    data: Dataset, plan: TrainingPlan, *, beta: float
) -> one_training.TrainingAudit:
    """Train once with canaries among the records, and bound ε by how well they are told.

    Of persons one row each is trained on: a canary is all that a person of its own has.
    """
    each = table.kept_each(data, None)
    rows, labels = table.private_rows(data, each)
    return one_training.one_run_audit(
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
