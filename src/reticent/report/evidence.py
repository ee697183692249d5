"""What a card and an annex are written from, whether one run or single commands found it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from reticent.protect import Release, load, verify
from reticent.protect.sealed_pair import paths_of, read_pair
from reticent.results import Attack, Audit, Claim, Interval, ReleaseRow, Results
from reticent.results.conversions import claim_of
from reticent.results.steps import AttackStep, AuditStep
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
    """A certificate from which ε was computed anew."""

    epsilon: float
    grade: str
    """Declared at most: nobody can see who wrote a file."""
    numbers: Mapping[str, object]
    """The public numbers that it follows from."""


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
    covered: Interval | None
    """The accuracy that may be published."""


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


def of_results(results: Results, released: str | Path | None = None) -> Evidence:
    """Of the recommended release of a run; with its files, ε is computed anew from them."""
    release = results.recommended
    found = Evidence(
        title=results.title,
        claim=release.claim,
        learner=release.learner,
        mechanism=release.mechanism,
        scales=release.scales,
        trials=_trials(results, release),
        audit=release.audit,
        file=None if release.file is None else Path(release.file).name,
        utility=Utility(
            before=results.unprotected.accuracy,
            after=release.accuracy,
            loss=release.loss,
            draws=release.draws,
            kept=release.accuracy if release.draws == 1 else release.kept_accuracy,
            covered=results.covered_accuracy,
        ),
        run=results,
        versions=results.made.versions,
    )
    if released is None:
        return found
    own = of_certificate(released)
    if differing := _differing(found, own):
        raise InputError(
            f"{released} must be the release of this run: {release.graded_name}, got one with"
            f" another {differing[0]}"
        )
    return replace(found, certificate=own.certificate, file=own.file)


def of_certificate(released: str | Path) -> Evidence:
    """Of a release on disk; one whose certificate does not hold is refused."""
    model, verified = load(released), verify(released)
    name, claim = paths_of(released)[1].stem, claim_of(model.guarantee)
    return Evidence(
        title=name,
        claim=claim,
        learner=model.recipe.name,
        mechanism=model.mechanism,
        scales=dict(model.scales),
        certificate=Checked(epsilon=verified.epsilon, grade=claim.grade, numbers=_numbers(model)),
        file=name,
        versions={"reticent": str(read_pair(released).claims["version"])},
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


def _differing(run: Evidence, file: Evidence) -> list[str]:
    """By what a file is not the release of a run; public numbers stand in ``checked``."""
    parts = {
        "claim": (_terms(run.claim), _terms(file.claim)),
        "recipe": (run.learner, file.learner),
        "mechanism": (run.mechanism, file.mechanism),
        "scale of noise": (run.scales, file.scales),
        "list of public numbers": (run.claim.checked, file.claim.checked),
        "list of assumptions": (run.claim.stated, file.claim.stated),
    }
    return [name for name, (one, other) in parts.items() if one != other]


def _numbers(model: Release) -> dict[str, object]:
    numbers = {**model.recipe.to_dict(), **model.terms.to_dict()}
    return {name: value for name, value in numbers.items() if value is not None}
