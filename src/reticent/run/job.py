"""The whole job on anybody's features: tune, attack, release, attack again, audit, conclude."""

import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from threadpoolctl import threadpool_limits

from reticent.attacks import context, shadow_models
from reticent.audit.attack_run import Attacked
from reticent.files import writable_folder
from reticent.guarantee import Event, Grade, weakness
from reticent.protect import Release, plan_help, save, sealed_pair, signing, table
from reticent.protect.release import with_names
from reticent.protect.terms import Terms
from reticent.results import (
    Attack,
    Audit,
    Exposure,
    ReleaseRow,
    Results,
    Unprotected,
    conversions,
    recalls,
    write_results,
)
from reticent.results.protections import Protections
from reticent.run import auditing, conclusion, heads, provenance
from reticent.run.attacking import EXACT, Adversaries, candidates
from reticent.run.bounded import Bounded, bounded
from reticent.run.protections import compared
from reticent.run.releases import (
    Drawn,
    Kind,
    RunCharge,
    correct_predictions,
    drawn,
    kinds,
    recommended_kind,
    situation_of,
)
from reticent.run.spec import RunData, RunSpec
from reticent.run.stages import HANDED_OVER, STAGES
from reticent.validation import InputError

KEPT: Final = "released"
"""The name of the files of the release that is handed over."""


def save_kept(released: Release, folder: str | Path, *, sign: signing.Signer | None) -> list[Path]:
    """Write the files of the release; before their paths, that of the document beside them."""
    target = writable_folder(Path(folder))
    written = save(released, target / KEPT, sign=sign)
    signature = [] if sign is None else [sealed_pair.signature_path(target / KEPT)]
    return [target / "results.json", *written, *signature]


@dataclass(frozen=True, kw_only=True, eq=False)
class Finished:
    """What a run found, and the release that it hands over."""

    results: Results
    released: Release

    def _repr_html_(self) -> str:
        return self.results._repr_html_() + self.released._repr_html_()

    def save(self, folder: str | Path, *, sign: signing.Signer | None = None) -> list[Path]:
        """Write ``results.json`` and the released model with its certificate, signed with a key."""
        written = save_kept(self.released, folder, sign=sign)
        write_results(self.results, written[0])
        return written


def run_job(
    data: RunData,
    spec: RunSpec,
    *,
    model: Any = None,
    command: str = "run(…)",
    stage: context.ProgressCallback | None = None,
    charge: RunCharge | None = None,
) -> Finished:
    """All of it.

    Args:
        data: Features by their roles.
        spec: Every choice.
        model: The fitted classifier that would be published without protection; by default a
            softmax head with the best penalty.
        command: How to do the same again, for the document.
        stage: Told how far it is.
        charge: Charges a ledger for the release that is handed over, before anything else is done.
    """
    # Processes share the cores already; threads of linear algebra on top of them halve the speed.
    with threadpool_limits(limits=1):
        return _finished(data, spec, model, command, (stage, charge))


def _finished(
    data: RunData,
    spec: RunSpec,
    model: Any,
    command: str,
    calls: tuple[context.ProgressCallback | None, RunCharge | None],
) -> Finished:
    started = time.monotonic()
    if len(data.private) == 0:  # attacks need some; a release of none is made by ``protect``
        raise InputError("private must hold records, got none")
    data, spec = capped_run(data, spec)
    stage, charge = calls
    plan = bounded(data, spec)
    spec = plan.spec
    job = Job(data=data, plan=plan, model=model, progress=stage or (lambda *_: None), charge=charge)
    for one in STAGES:
        getattr(job, one.part)
    results = Results(
        title=f"{data.name}: what its model tells, and what a private release tells",
        facts=provenance.facts_of(job.data, spec),
        conclusion=conclusion.concluded(
            job.unprotected,
            job.recommended,
            job.published,
            job.strengths,
            job.notes,
            two_kinds=job.two_kinds,
        ).model_copy(update={"would_help": job.would_help}),
        unprotected=job.unprotected,
        releases=tuple(job.rows.values()),
        sensitivities=job.estimates.rows(),
        exposure=job.exposure,
        protections=job.protections,
        made=provenance.made_of(spec, command, time.monotonic() - started),
    )
    return Finished(results=results, released=job.kept)


def capped_run(data: RunData, spec: RunSpec) -> tuple[RunData, RunSpec]:
    """Each person's first rows alone are private records of the run, and the person is its unit.

    A schema with facts of the private table is among what was inferred from the data.
    """
    schema = data.private.schema
    if schema is not None and schema.inferred and "schema" not in spec.inferred_from_data:
        inferred = (*spec.inferred_from_data, "schema")
        spec = replace(spec, inferred_from_data=inferred)
    persons, each = data.private.persons, table.kept_each(data.private, spec.max_records_per_person)
    if each is None:
        return data, spec
    if persons is None:
        raise InputError(
            f"persons must be given with max_records_per_person = {each}, one for each record, got"
            " none"
        )
    kept = table.cap_rows_per_person(persons, each)
    if len(kept) < len(persons):  # a copy of a large table is made only where it must be
        data = replace(data, private=data.private.take(kept), kept=kept)
    return data, replace(spec, max_records_per_person=each)


@dataclass(frozen=True, kw_only=True, eq=False)
class Job:
    """What the stages of a run compute, each once (``stages.STAGES``)."""

    data: RunData
    plan: Bounded
    model: Any
    progress: context.ProgressCallback
    charge: RunCharge | None = None

    @property
    def spec(self) -> RunSpec:
        """As it is carried out."""
        return self.plan.spec

    @cached_property
    def head(self) -> Any:
        """The model that would be published without protection."""
        if self.model is not None:
            return self.model
        return heads.unprotected_head(
            self.data, self.spec, progress=self.progress, chosen_on=self.plan.measured
        )

    @cached_property
    def adversaries(self) -> Adversaries:
        """Who attacks: the adversary with all that it has beforehand."""
        return Adversaries(data=self.plan.measured, spec=self.spec, progress=self.progress)

    @cached_property
    def _before(self) -> tuple[Attacked, dict[str, float]]:
        return self.adversaries.on_unprotected(self.head)

    @property
    def strengths(self) -> dict[str, float]:
        """Of the black-box attacks on shadow targets, strongest first."""
        return self._before[1]

    @cached_property
    def unprotected(self) -> Unprotected:
        """The model without protection: its accuracy, and the attacks on it."""
        rows, labels = self.data.rows("test")
        hits = [correct_predictions(self.head, rows, labels)]
        return Unprotected(
            name=f"{getattr(self.head, 'called', type(self.head).__name__)} on {self.data.kind}",
            accuracy=conversions.accuracy_of(hits),
            by_class=recalls.by_class_of(hits, labels, self.data.private.classes),
            attacks=conversions.attacks_of(self._before[0]),
        )

    @cached_property
    def estimates(self) -> heads.Sensitivities:
        """Three ways to say how far one record moves a head."""
        self.progress("sensitivities", 0, 1)
        estimates = heads.sensitivities(self.data, self.spec, published=self.plan.published)
        self.progress("sensitivities", 1, 1)
        return estimates

    @cached_property
    def releases(self) -> dict[str, Drawn]:
        """All releases that were drawn, by name."""
        asked = list(kinds(self.data, self.spec, self.estimates))
        first = {self.chosen: self.kept}
        releases = drawn(asked, self.data, self.spec, self.head, self.progress, first)
        return {release.name: release for release in releases}

    @cached_property
    def _recommended_kind(self) -> Kind:
        return recommended_kind(self.data, self.spec)

    @property
    def chosen(self) -> str:
        """The release that public numbers recommend."""
        return self._recommended_kind.name

    @cached_property
    def kept(self) -> Release:
        """The release that is handed over, the one draw that a ledger is charged for."""
        kept = self._recommended_kind.charged(self._told_charge())
        kept = with_names(kept, columns=self.data.private.columns)
        self.progress(HANDED_OVER, 1, 1)
        return kept

    def _told_charge(self) -> RunCharge | None:
        """The charge, after which the stage begins: nothing is told of before."""
        charge = self.charge
        if charge is None:
            self.progress(HANDED_OVER, 0, 1)
            return None

        def charged(terms: Terms, purpose: str, event: Event) -> None:
            charge(terms, purpose, event)
            self.progress(HANDED_OVER, 0, 1)

        return charged

    @property
    def at_epsilon(self) -> dict[str, Drawn]:
        """Releases at the ε that was asked for: these are audited."""
        asked = self.spec.epsilon
        return {name: one for name, one in self.releases.items() if one.claim.epsilon == asked}

    @cached_property
    def audited(self) -> dict[str, Audit]:
        """Verdicts by the name of the release."""
        return auditing.audits(
            self.at_epsilon, self.plan.measured, self.spec, self.estimates, self.progress
        )

    @cached_property
    def attacked(self) -> dict[str, tuple[Attack, ...]]:
        """What the attacks find on each release."""
        tasks = [(release.first, self._attacks(name)) for name, release in self.releases.items()]
        return dict(zip(self.releases, self.adversaries.on_releases(tasks), strict=True))

    @cached_property
    def rows(self) -> dict[str, ReleaseRow]:
        """What stands in the document of each release."""
        return {
            name: _row(
                release, self.attacked[name], self.audited.get(name), kept=name == self.chosen
            )
            for name, release in self.releases.items()
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What was not done or done otherwise, and what the attacks found odd about the records."""
        return (
            *self.plan.notes,
            *self.estimates.notes,
            *auditing.audited_by_record(self.spec),
            *(f"Warning: {line}." for line in self._weaknesses()),
            *(f"{note[0].upper()}{note[1:]}." for note in self._before[0].notes),
        )

    @property
    def two_kinds(self) -> str | None:
        """That the test records are drawn otherwise than the private ones, where it shows."""
        blind = self._before[0].blind
        return str(blind) if blind is not None and blind.differs else None

    @property
    def would_help(self) -> str | None:
        """What would lower a large loss, from public numbers; None where it is not large."""
        if not self.recommended.loss.value > plan_help.LARGE_LOSS:
            return None
        return plan_help.help_sentence(situation_of(self.data, self.spec, self.spec.epsilon))

    def _weaknesses(self) -> tuple[str, ...]:
        claim = self.kept.guarantee
        return weakness.weaknesses(
            epsilon=claim.epsilon, delta=claim.delta, records=self.spec.records
        )

    @property
    def recommended(self) -> ReleaseRow:
        """The row of the chosen release."""
        return self.rows[self.chosen]

    @property
    def published(self) -> tuple[ReleaseRow, ...]:
        """What papers would release at the same ε."""
        names = (name for name, one in self.at_epsilon.items() if _graded(one, Grade.PUBLISHED))
        return tuple(self.rows[name] for name in names)

    @cached_property
    def exposure(self) -> Exposure | None:
        """Who is most exposed by Gaussian noise on the optimum; not where records are many."""
        if not self.plan.exact:
            return None
        for name, one in self.at_epsilon.items():
            if _is_gaussian(one) and _graded(one, Grade.PROVEN, Grade.DECLARED):
                return self.adversaries.exposure(one.first, name)
        return None

    @cached_property
    def protections(self) -> Protections | None:
        """Every place for noise on these records, where the run was asked to compare them."""
        if not self.spec.compare_protections:
            return None
        return compared(self.data, self.spec, self.progress)

    def _attacks(self, name: str) -> tuple[str, ...]:
        """All on the recommended one, the exact one on Gaussian heads, else the strongest alone."""
        strongest = next(iter(self.strengths))
        judged = self.plan.exact and name in self.at_epsilon
        exact = (EXACT,) if judged and _is_gaussian(self.releases[name]) else ()
        return (*candidates(), *exact) if name == self.chosen else (strongest, *exact)


def _is_gaussian(release: Drawn) -> bool:
    return shadow_models.is_convex(release.first) and release.first.mechanism == "gaussian"


def _graded(release: Drawn, *grades: Grade) -> bool:
    return release.claim.grade in grades


def _row(
    release: Drawn, attacks: tuple[Attack, ...], audit: Audit | None, *, kept: bool
) -> ReleaseRow:
    return ReleaseRow(
        name=release.name,
        learner=release.learner,
        mechanism=release.first.mechanism,
        claim=conversions.claim_of(release.claim),
        used=conversions.used_of(release.first),
        scales=dict(release.first.scales),
        accuracy=release.accuracy,
        loss=conversions.interval_of(release.loss),
        draws=len(release.draws),
        attacks=attacks,
        audit=audit,
        file=KEPT if kept else None,
        kept_accuracy=release.first_accuracy if kept else None,
        by_class=release.by_class,
        kept_by_class=release.first_by_class if kept else None,
    )
