"""What a card and an annex are written from, whether one run or single commands found it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from reticent.protect import Release, sealed_pair
from reticent.protect.certificate import load_verified, verify_release
from reticent.results import Attack, Audit, ByClass, Claim, Interval, ReleaseRow, Results
from reticent.results.audit import UsedClaim
from reticent.results.conversions import claim_of, used_of
from reticent.results.steps import AttackStep, AuditStep
from reticent.results.task_results import Measure
from reticent.validation import InputError


@dataclass(frozen=True, kw_only=True)
class Trial:
    """The attacks that were made on one model."""

    target: str
    protected: bool
    attacks: tuple[Attack, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Attacks that were not possible, and why."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A release whose ε was computed anew: all that a public text may say of its claim."""

    epsilon: float
    """What follows from its public numbers."""
    claim: Claim
    """Declared at most where it is from a file: nobody can see who wrote one."""
    learner: str
    mechanism: str
    scales: Mapping[str, float]
    numbers: Mapping[str, object]
    """The public numbers that ε follows from."""
    inferred: tuple[str, ...]
    """Those among them that were read off the private data."""
    version: str
    """Of the package that made it."""
    formula: tuple[str, ...]
    """How an answer comes of a row."""
    columns: tuple[str, ...] = ()
    """The names of its features."""
    classes: tuple[str, ...] = ()
    """The names of its classes, or of its labels."""
    unit: str = ""
    """Of the number that it predicts, by its schema."""
    file: str | None = None
    """The name of its files, without a folder; None where it was never written."""
    used: UsedClaim | None = None
    """The release that it builds on, by its certificate."""
    signed_by: str | None = None
    """The fingerprint of the key that signed the files."""


@dataclass(frozen=True, kw_only=True)
class Utility:
    """What the release costs; no guarantee covers it, but for one accuracy on public records."""

    before: Interval
    after: Interval
    """The mean over the draws."""
    loss: Interval
    draws: int
    kept: Interval | None
    """Of the file that is handed over; None where no draw was kept."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One release: what it promises, what was tried on it, and how it was made."""

    title: str
    claim: Claim
    learner: str
    mechanism: str
    scales: Mapping[str, float]
    trials: tuple[Trial, ...] = ()
    audit: Audit | None = None
    certificate: Checked | None = None
    file: str | None = None
    """The name of the released files, without a folder."""
    utility: Utility | None = None
    covered: Interval | None = None
    """The accuracy on public records that may be published."""
    covered_by_class: ByClass | None = None
    """Recalls on public records that may be published."""
    covered_measures: tuple[Measure, ...] = ()
    """Of a number or of several labels: measures on public records that may be published."""
    used: UsedClaim | None = None
    """The release that it builds on, and what both promise together."""
    run: Results | None = None
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def refuted(self) -> bool:
        """Whether its audit contradicts the claim."""
        return self.audit is not None and self.audit.verdict == "refuted"

    def attacks(self, *, protected: bool, black_box: bool | None = None) -> tuple[Attack, ...]:
        """Those on released models, or on others; all, or by what they saw."""
        return tuple(
            attack
            for trial in self.trials
            for attack in trial.attacks
            if trial.protected is protected and black_box in (None, attack.black_box)
        )


def of_results(results: Results, released: Release | str | Path | None = None) -> Evidence:
    """Of the recommended release of a run; with the release, ε is computed anew from it."""
    release = results.recommended
    evidence = Evidence(
        title=results.title,
        claim=release.claim,
        learner=release.learner,
        mechanism=release.mechanism,
        scales=release.scales,
        trials=_trials(results, release),
        audit=release.audit,
        used=release.used,
        file=None if release.file is None else Path(release.file).name,
        utility=Utility(
            before=results.unprotected.accuracy,
            after=release.accuracy,
            loss=release.loss,
            draws=release.draws,
            kept=release.accuracy if release.draws == 1 else release.kept_accuracy,
        ),
        covered=results.covered_accuracy,
        covered_by_class=results.covered_by_class,
        run=results,
        versions=results.made.versions,
    )
    if released is None:
        return evidence
    own = checked(released)
    if differing := _differing(evidence, own):
        name = "the release" if isinstance(released, Release) else released
        raise InputError(
            f"{name} must be the release of this run: {release.graded_name}, got one with"
            f" another {differing[0]}"
        )
    return replace(evidence, certificate=own, file=own.file or evidence.file, used=own.used)


def of_certificate(released: str | Path) -> Evidence:
    """Of a release on disk; one whose certificate does not hold is refused."""
    own = checked(released)
    return Evidence(
        title=own.file or "this model",
        claim=own.claim,
        learner=own.learner,
        mechanism=own.mechanism,
        scales=own.scales,
        certificate=own,
        file=own.file,
        used=own.used,
        versions={"reticent": own.version},
    )


def checked(released: Release | str | Path) -> Checked:
    """A release, of a file or of this process, from which ε follows; another is refused.

    One of this process keeps its grade: it was minted here, or it is declared.
    """
    if isinstance(released, Release):
        model, verified, file = released, verify_release(released), None
        if not verified.holds:
            raise InputError(f"the release must be what it claims, got: {verified.problems[0]}")
    else:
        (model, verified), file = (
            load_verified(released),
            sealed_pair.paths_of(released).certificate.stem,
        )
    return Checked(
        epsilon=verified.epsilon,
        claim=claim_of(model.guarantee),
        learner=model.recipe.name,
        mechanism=model.mechanism,
        scales=dict(model.scales),
        numbers=_numbers(model),
        inferred=model.terms.inferred,
        version=verified.version,
        formula=model.recipe.formula,
        columns=model.columns,
        classes=tuple(map(str, model.classes_)),
        unit=_unit(model),
        file=file,
        used=used_of(model),
        signed_by=verified.signed_by,
    )


def with_steps(
    evidence: Evidence, attacked: tuple[AttackStep, ...] = (), audited: AuditStep | None = None
) -> Evidence:
    """With what ``reticent attack --json`` and ``reticent audit --json`` found."""
    trials = tuple(_trial(step, evidence.claim) for step in attacked)
    if audited is not None and _terms(audited.claim) != _terms(evidence.claim):
        raise InputError(
            f"audit must be of the release, {evidence.claim.text}, got one of {audited.claim.text}"
        )
    audit = None if audited is None else audited.audit
    return replace(evidence, trials=trials, audit=audit)


def _trials(results: Results, release: ReleaseRow) -> tuple[Trial, ...]:
    before = results.unprotected
    return (
        Trial(target=before.name, protected=False, attacks=before.attacks),
        Trial(
            target=release.graded_name,
            protected=True,
            attacks=release.attacks,
        ),
    )


def _trial(step: AttackStep, claim: Claim) -> Trial:
    """On the release itself, or on a model without a claim; another claim is another release."""
    if step.claim is not None and _terms(step.claim) != _terms(claim):
        raise InputError(f"attack must be on the release, {claim.text}, got {step.target}")
    return Trial(
        target=step.target,
        protected=step.claim is not None,
        attacks=step.attacks,
        left_out=step.left_out,
        notes=step.notes,
    )


def _terms(claim: Claim) -> tuple[object, ...]:
    """What two claims must share to be about one release; a file is graded declared at most."""
    return claim.epsilon, claim.delta, claim.relation, claim.unit, claim.gamma


def _differing(run: Evidence, file: Checked) -> list[str]:
    """By what a release is not that of a run; public numbers stand in ``checked``."""
    parts = {
        "claim": (_terms(run.claim), _terms(file.claim)),
        "recipe": (run.learner, file.learner),
        "mechanism": (run.mechanism, file.mechanism),
        "scale of noise": (run.scales, file.scales),
        "list of public numbers": (run.claim.checked, file.claim.checked),
        "list of assumptions": (run.claim.stated, file.claim.stated),
    }
    return [name for name, (one, other) in parts.items() if one != other]


def _unit(model: Release) -> str:
    target = None if model.schema is None else model.schema.target
    return "" if target is None else target.unit


def _numbers(model: Release) -> dict[str, object]:
    numbers = {**model.recipe.to_dict(), **model.terms.to_dict()}
    if model.terms.used is not None:  # a name: its certificate is a document of its own
        numbers[model.terms.used.noun] = str(model.terms.used)
    return {name: value for name, value in numbers.items() if value is not None}
