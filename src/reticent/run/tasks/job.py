"""Tune, attack, release, attack again, audit, conclude: for a number, or for several labels."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, Literal, cast

import numpy as np
from threadpoolctl import threadpool_limits

from reticent.arrays import Array, Flags, Floats
from reticent.attacks.context import ProgressCallback
from reticent.attacks.output_likelihood import OutputRecords, OutputShadows
from reticent.audit import attack_run, auc, blind_check, measured_attack
from reticent.data import Dataset
from reticent.guarantee.weakness import weaknesses
from reticent.protect import Release, ReleaseRequest, release, signing
from reticent.protect.public_facts import target_options
from reticent.protect.registry import MULTILABEL, REGRESSION, learner_named
from reticent.results import Attack, conversions, task_results
from reticent.run.bounded import Bounded, bounded
from reticent.run.job import KEPT, capped_run, save_kept
from reticent.run.provenance import made_of
from reticent.run.releases import RunCharge, best_grade, named, noise_for
from reticent.run.spec import RunData, RunSpec
from reticent.run.stages import HANDED_OVER
from reticent.run.tasks import auditing, conclusion, measures, models
from reticent.validation import InputError

RANDOM: Final = (
    "the noise of every release, and with it its measures, its attacks and its measured bound: it"
    " comes from the operating system and has no seed",
)
DEFAULT_LEARNERS: Final = {REGRESSION: "adassp-regression", MULTILABEL: "weights"}


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """What a task needs beside the run's specification.

    ``target`` are the ends of the label's public range and ``unit`` its unit, for regression.
    """

    labels: tuple[str, ...]
    learner: str | None = None
    mechanism: str | None = None
    """Gaussian noise unless said, at δ = 0 Laplace."""
    target: tuple[float, float] | None = None
    unit: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class FinishedTask:
    """What such a run found, and the release that it hands over."""

    results: task_results.TaskResults
    released: Release

    def save(self, folder: str | Path, *, sign: signing.Signer | None = None) -> list[Path]:
        """Write ``results.json`` and the released model with its certificate, signed with a key."""
        written = save_kept(self.released, folder, sign=sign)
        task_results.write_task_results(self.results, written[0])
        return written


def run_task(
    data: RunData,
    spec: RunSpec,
    task_spec: TaskSpec,
    *,
    command: str = "run_task(…)",
    stage: ProgressCallback | None = None,
    charge: RunCharge | None = None,
) -> FinishedTask:
    """All of it, as ``run_job`` does it for classes.

    Args:
        data: Features by their roles; the labels say which task it is (``Dataset.task``).
        spec: Every choice that all runs have.
        task_spec: What this task needs besides.
        command: How to do the same again, for the document.
        stage: Told how far it is.
        charge: Charges a ledger for the release that is handed over, before anything else is done.
    """
    with threadpool_limits(limits=1):
        started = time.monotonic()
        if len(data.private) == 0:
            raise InputError("private must hold records, got none")
        data, spec = capped_run(data, spec)
        plan = bounded(data, spec)
        progress = stage or (lambda *_: None)
        job = TaskJob(data=data, plan=plan, task_spec=task_spec, progress=progress, charge=charge)
        kept = job.kept  # first: where the budget does not allow it, nobody waits for the rest
        return FinishedTask(
            results=task_results.TaskResults(
                title=f"{data.name}: what its model tells, and what a private release tells",
                facts=job.facts,
                conclusion=conclusion.concluded(
                    job.unprotected,
                    job.rows[job.name],
                    job.strengths,
                    notes=job.notes,
                    blind=job.blind,
                ),
                unprotected=job.unprotected,
                releases=tuple(job.rows.values()),
                made=made_of(plan.spec, command, time.monotonic() - started).model_copy(
                    update={"random": RANDOM}
                ),
            ),
            released=kept,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskJob:
    """The stages of such a run, each computed once, when it is first asked for."""

    data: RunData
    plan: Bounded
    task_spec: TaskSpec
    progress: ProgressCallback
    charge: RunCharge | None = None

    @property
    def spec(self) -> RunSpec:
        """As it is carried out."""
        return self.plan.spec

    @property
    def task(self) -> Literal["regression", "multilabel"]:
        """Whether labels are a number (regression) or several at once (multilabel)."""
        return cast(Literal["regression", "multilabel"], self.data.private.task)

    @property
    def target(self) -> tuple[float, float]:
        """The ends of the label's range."""
        if self.task_spec.target is None:
            raise InputError("target must be the public range of the label, got none")
        return self.task_spec.target

    def request(self, epsilon: float) -> ReleaseRequest:
        """As a release at this ε is asked for, from public numbers alone."""
        learner = self.task_spec.learner or DEFAULT_LEARNERS[self.task]
        kind, spec = learner_named(learner, self.task), self.spec
        options: dict[str, Any] = {"bound": spec.bound}
        if "intercept" in kind.options:
            options |= {"intercept": spec.intercept, "norms": spec.norms}
        if self.task == REGRESSION:
            options |= target_options(*self.target)
        return ReleaseRequest(
            terms=spec.terms(epsilon=epsilon),
            records=spec.records,
            recipe=learner,
            mechanism=self.task_spec.mechanism or noise_for(learner, pure=spec.delta == 0),
            options=options,
        )

    def name_at(self, epsilon: float) -> str:
        """The name of a release in the document."""
        request = self.request(epsilon)
        return named(
            request.recipe, best_grade(self.spec, request.recipe, request.mechanism), epsilon
        )

    @property
    def name(self) -> str:
        """Of the release that is handed over."""
        return self.name_at(self.spec.epsilon)

    @cached_property
    def _draw(self) -> Callable[..., Release]:
        return models.drawing(self.data.private, self.request(self.spec.epsilon))

    @cached_property
    def kept(self) -> Release:
        """The release that is handed over, the one draw that a ledger is charged for."""
        request, charged = self.request(self.spec.epsilon), {}
        if self.charge is not None:
            purpose = f"{request.recipe}, {request.noise_name} noise"
            charged = {"charge": partial(self.charge, request.terms, purpose)}
        self.progress(HANDED_OVER, 0, 1)
        kept = release.with_names(self._draw(**charged), columns=self.data.private.columns)
        self.progress(HANDED_OVER, 1, 1)
        return kept

    @cached_property
    def free(self) -> models.Unprotected:
        """The model that would be published without protection."""
        if self.task == REGRESSION:
            return models.unprotected_regression(self.data.private, self.spec, self.target)
        return models.unprotected_labels(self.data.private, self.spec)

    @cached_property
    def _test(self) -> tuple[Floats, Array]:
        assert self.data.test.labels is not None
        return self.data.test.features.astype(np.float64), self.data.test.labels

    @cached_property
    def _measured(self) -> measures.Measured:
        kinds = measures.kinds_of(
            self.task_spec.labels, numbers=self.task == REGRESSION, unit=self.task_spec.unit
        )
        return measures.Measured(kinds=kinds, truth=self._test[1], seed=self.spec.seed)

    @cached_property
    def _scored(self) -> OutputRecords:
        """Members first, then the others."""
        sides = (self.plan.measured.private, self.plan.measured.others)
        scale = 1.0 if self.task != REGRESSION else (self.target[1] - self.target[0]) / 2
        return OutputRecords(
            rows=np.concatenate([side.features.astype(np.float64) for side in sides]),
            labels=np.concatenate([_labels(side) for side in sides]),
            scale=scale,
        )

    @property
    def _inside(self) -> Flags:
        return np.arange(len(self._scored)) < len(self.plan.measured.private)

    @cached_property
    def _shadows(self) -> OutputShadows:
        return self._trained(self.free.shadow, "shadow models")

    def _trained(self, train: Any, stage: str) -> OutputShadows:
        self.progress(stage, 0, 1)
        spec = self.spec
        shadows = OutputShadows.trained(
            train, self._scored, count=spec.shadows, seed=spec.seed, jobs=spec.jobs
        )
        self.progress(stage, 1, 1)
        return shadows

    @cached_property
    def strengths(self) -> dict[str, float]:
        """Mean AUC of each attack on shadow targets, strongest first: no scored membership."""
        aucs: dict[str, list[float]] = {}
        for values, inside in self._shadows.before_shadows(self._scored):
            for name, one in values.items():
                aucs.setdefault(name, []).append(auc(one[inside], one[~inside]).value)
        means = {name: float(np.mean(values)) for name, values in aucs.items()}
        return dict(sorted(means.items(), key=lambda pair: -pair[1]))

    def _attacks(self, model: Any, shadows: OutputShadows) -> tuple[Attack, ...]:
        """Scores first; then, and only then, who was a member."""
        scores = shadows.scores(model, self._scored)
        each = attack_run.corrected(0.95, len(scores))
        return tuple(
            conversions.attack_of(
                measured_attack(one, self._inside, confidence=each, seed=self.spec.seed),
                one,
                self._inside,
                name,
            )
            for name, one in scores.items()
        )

    @cached_property
    def blind(self) -> blind_check.BlindCheck | None:
        """Whether members and others can be told apart without the model."""
        return blind_check.blind_check_rows(
            self._scored.rows, self._scored.labels, self._inside, seed=self.spec.seed
        )

    @cached_property
    def unprotected(self) -> task_results.TaskModel:
        """The model without protection: its measures, and the attacks on it."""
        return task_results.TaskModel(
            name=self.free.name,
            measures=self._measured.of([self._before]),
            attacks=self._attacks(self.free.model, self._shadows),
        )

    @cached_property
    def _before(self) -> Array:
        return np.asarray(self.free.model.predict(self._test[0]))

    @cached_property
    def rows(self) -> dict[str, task_results.TaskRelease]:
        """What stands in the document of each release, by ε."""
        rows = {}
        for place, epsilon in enumerate(self.spec.epsilons):
            rows[self.name_at(epsilon)] = self._row(epsilon)
            self.progress("releases", place + 1, len(self.spec.epsilons))
        return rows

    def _row(self, epsilon: float) -> task_results.TaskRelease:
        kept = epsilon == self.spec.epsilon
        draw = self._draw if kept else models.drawing(self.data.private, self.request(epsilon))
        first = self.kept if kept else draw()
        draws = [first, *(draw() for _ in range(self.spec.draws - 1))]
        predicted = [np.asarray(one.predict(self._test[0])) for one in draws]
        return task_results.TaskRelease(
            name=self.name_at(epsilon),
            learner=first.recipe.name,
            mechanism=first.mechanism,
            claim=conversions.claim_of(first.guarantee),
            used=conversions.used_of(first),
            scales=dict(first.scales),
            draws=len(draws),
            measures=self._measured.of(predicted),
            kept_measures=self._measured.of(predicted[:1]) if kept else (),
            change=self._measured.change(self._before, predicted),
            attacks=self._attacks(first, self._released_shadows) if kept else (),
            audit=auditing.audit_task(first, self.data.features, self.spec) if kept else None,
            file=KEPT if kept else None,
        )

    @cached_property
    def _released_shadows(self) -> OutputShadows:
        return self._trained(models.shadow_of(self.kept), "shadow models of the release")

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know besides."""
        spec, claim = self.spec, self.kept.guarantee
        weak = weaknesses(epsilon=claim.epsilon, delta=claim.delta, records=spec.records)
        lines = [f"Warning: {line}." for line in weak]
        scored = len(self.plan.measured.private)
        if scored < len(self.data.private):
            lines.append(
                f"A large table: attacks score {scored:,} of {len(self.data.private):,} private"
                " records, and shadow models see halves of these and of the others."
            )
        return tuple(lines)

    @property
    def facts(self) -> task_results.TaskFacts:
        """The data of the run in numbers, for the document."""
        data, spec = self.data, self.spec
        low, high = self.task_spec.target or (None, None)
        return task_results.TaskFacts(
            task=self.task,
            name=data.name,
            labels=self.task_spec.labels,
            unit=self.task_spec.unit,
            low=low,
            high=high,
            private=len(data.private),
            others=len(data.others),
            test=len(data.test),
            test_is_public=data.test_is_public,
            features=data.features,
            relation=str(spec.neighbours),
            unit_of_privacy=spec.unit,
        )


def _labels(data: Dataset) -> Array:
    assert data.labels is not None
    return data.labels
