"""A model attacked by name: shadow models, scores, and figures that hold all together.

Who was a member is used once, when the scores are measured. Several attacks are looked at, so each
is measured at a confidence of 1 − (1 − confidence)/m for m of them (Bonferroni): all intervals hold
together, and the verdict, the gate and the slices with them.

Which attack is the strongest is found out on models of the adversary's own. Choosing an attack by
what it found on the target would look at the records that are judged with it. The shadows that
online attacks train are targets as well: which records each of them saw is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from reticent.arrays import Array, Flags, Floats
from reticent.attacks import Records, Scores, registry, shadow_models
from reticent.attacks.context import AttackContext, ProgressCallback
from reticent.attacks.targets import AnsweredTarget, LabelTarget, RecordedTarget, Target, target_of
from reticent.audit import AttackReport, Sliced, auc, deciles, measured_attack, sliced
from reticent.audit.attack_plan import ALL, AttackPlan
from reticent.audit.attack_report import POWER
from reticent.audit.blind_check import BlindCheck, blind_check
from reticent.validation import InputError

_MODEL_ERRORS: Final = (ValueError, TypeError, LookupError, AttributeError, RuntimeError)
"""What somebody's model raises at inputs that are not its own; torch's are RuntimeErrors."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Attacked:
    """What the attacks gave, by their names; all intervals hold together."""

    reports: dict[str, AttackReport]
    scores: dict[str, Scores]
    records: Records
    """Members first, then the others."""
    inside: Flags
    confidences: Floats | None
    """The largest probability that is shown of each record; None for labels alone."""
    skipped: dict[str, str]
    """Attacks that were not possible, and why."""
    notes: tuple[str, ...]
    confidence: float
    blind: BlindCheck | None = None
    """Whether members and others can be told apart without the model; None: not looked at."""

    @property
    def strongest(self) -> str:
        """The attack with the largest AUC."""
        return max(self.reports, key=lambda name: self.reports[name].auc.value)

    @property
    def leaks(self) -> bool:
        """Whether any attack found something."""
        return any(report.leaks for report in self.reports.values())

    @property
    def verdict(self) -> str:
        """One line; where nothing was found, with what would have been.

        Where members and others are of two kinds, that is said first.
        """
        if self.blind is not None and self.blind.differs:
            return f"not a fair test: {self.blind}; {self._verdict}"
        return self._verdict

    @property
    def _verdict(self) -> str:
        leaking = {name: report for name, report in self.reports.items() if report.leaks}
        if leaking:
            best = max(leaking, key=lambda name: leaking[name].auc.value)
            return (
                f"leak found by {len(leaking)} of {len(self.reports)} attacks, most by {best}: "
                + ", ".join(leaking[best].found)
            )
        any_report = next(iter(self.reports.values()))
        return (
            f"no leak found by {len(self.reports)} attacks, all together at"
            f" {100 * self.confidence:g} %; {any_report.members:,} members and"
            f" {any_report.others:,} others would have shown {self._smallest()} with power"
            f" {POWER:g}"
        )

    def _smallest(self) -> str:
        """The attacks differ in how many records are left to measure a threshold on."""
        reports = self.reports.values()
        auc = max(report.smallest_auc for report in reports)
        leakage = max(report.smallest_leakage for report in reports)
        sizes = {"an AUC": auc, "a TPR − FPR": leakage}
        shown = [f"{name} of {size:.3f}" for name, size in sizes.items() if size < np.inf]
        return " or ".join(shown) or "nothing at all, being too few,"

    @cached_property
    def slices(self) -> Sliced:
        """The strongest attack by class and by confidence of the target.

        Corrected for all slices (Holm) and for the attacks among which the strongest was chosen.
        """
        by: dict[str, Any] = {"class": self.records.labels}
        if self.confidences is not None:
            by["confidence"] = deciles(self.confidences)
        values = self.scores[self.strongest].values
        return sliced(values, self.inside, by, confidence=self.each)

    @property
    def each(self) -> float:
        """The confidence of each report, and of the slices."""
        return corrected(self.confidence, len(self.reports))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a JSON file."""
        return {
            "attacks": {name: report.to_dict() for name, report in self.reports.items()},
            "skipped": self.skipped,
            "notes": list(self.notes),
            "confidence": self.confidence,
            "leaks": self.leaks,
            "strongest": self.strongest,
            "verdict": self.verdict,
        }


def attack_model(  # noqa: PLR0913 - the target, what is known of it, and how it is attacked
    target: Any,
    members: Records,
    others: Records,
    *,
    shadow: Records | None = None,
    population: Records | None = None,
    plan: AttackPlan | None = None,
    stage: ProgressCallback | None = None,
) -> Attacked:
    """Run the attacks of the plan on one model and measure them.

    Args:
        target: A fitted model, a ``Target``, or an ``AnsweredTarget`` with one row for each member
            and then one for each of the others.
        members: Records that the model was trained on; for the exact attack on released weights
            all of them.
        others: Records of the same kind that it was not trained on.
        shadow: Records of the adversary's own, about twice as many as the members: shadow models
            see half of them each. Online attacks do without: theirs see half of the scored records.
        population: Records that RMIA compares with; by default the shadow data.
        plan: Which attacks, how many shadows, the seed.
        stage: Told how far it is.
    """
    asked = AttackPlan() if plan is None else plan
    known = adversary(
        target, members, others, shadow=shadow, population=population, plan=asked, stage=stage
    )
    inside = np.arange(len(known.records)) < len(members)
    return checked_blindly(attacked(known, asked, inside), seed=asked.seed)


def checked_blindly(attack_run: Attacked, *, seed: int = 0) -> Attacked:
    """With the check whether its members and others are records of one kind, first in its notes."""
    blind = blind_check(attack_run.records, attack_run.inside, seed=seed)
    if blind is None:
        return attack_run
    return replace(attack_run, blind=blind, notes=(str(blind), *attack_run.notes))


def adversary(  # noqa: PLR0913 - as for attack_model
    target: Any,
    members: Records,
    others: Records,
    *,
    shadow: Records | None = None,
    population: Records | None = None,
    plan: AttackPlan,
    stage: ProgressCallback | None = None,
) -> AttackContext:
    """What is there for the attacks of ``attack_model``; shadow models are trained when needed."""
    seen = target_of(target)
    names = seen.classes
    inner, outer = _named("members", members, names), _named("others", others, names)
    own = None if shadow is None else _named("shadow", shadow, names)
    population_records = None if population is None else _named("population", population, names)
    refuse_same(inner, outer)
    records = inner.joined(outer)
    if isinstance(seen, AnsweredTarget) and records.inputs.ndim > 1:
        seen = RecordedTarget(seen, records)
    _refuse_other_inputs(seen, records, shadow=own, population=population_records)
    return AttackContext(
        target=seen,
        view=plan.view,
        full_access=plan.view.whole,
        records=records,
        known=inner,
        shadow=own,
        population=population_records,
        shadows=plan.shadows,
        progress=stage or (lambda *_: None),
    )


def attacked(known: AttackContext, plan: AttackPlan, inside: Flags) -> Attacked:
    """Scores first; then, and only then, who was a member."""
    scores, skipped = _scored(known, plan)
    each = corrected(plan.confidence, len(scores))
    return Attacked(
        reports={
            name: measured_attack(attack_scores, inside, confidence=each, seed=plan.seed)
            for name, attack_scores in scores.items()
        },
        scores=scores,
        records=known.records,
        inside=inside,
        confidences=_confidences(known),
        skipped=skipped,
        notes=_notes(known, inside),
        confidence=plan.confidence,
    )


def corrected(confidence: float, looks: int) -> float:
    """Of each of several looks, so that all hold together (Bonferroni).

    >>> round(corrected(0.95, 10), 3)
    0.995
    """
    return 1 - (1 - confidence) / looks


def _named(role: str, records: Records, classes: Array) -> Records:
    """Labels as the target spells its classes; a file has texts where a model may have numbers."""
    if len(records) == 0:
        raise InputError(f"{role} must be records, got none")
    try:
        return Records(records.inputs, classes[records.among(classes)])
    except InputError as error:
        raise InputError(f"{role} must have labels of the target's classes: {error}") from None


def refuse_same(inner: Records, outer: Records) -> None:
    """Where all of one side are on the other too, nothing can be told."""
    sides = {"members": set(inner.keys), "others": set(outer.keys)}
    common = sides["members"] & sides["others"]
    for role, keys in sides.items():
        if keys == common:
            raise InputError(
                f"{role} must differ from the rest, got records that are on both sides"
            )


def _refuse_other_inputs(target: Target, records: Records, **more: Records | None) -> None:
    """Before any shadow is trained; what a model says itself may quote a private row."""
    shape = records.inputs.shape[1:]
    for role, others in more.items():
        if others is not None and shape and others.inputs.shape[1:] != shape:
            raise InputError(
                f"{role} must have inputs of shape {shape}, as the members, got"
                f" {others.inputs.shape[1:]}"
            )
    try:
        target.logits(records.inputs[:1])
    except InputError:
        raise
    except _MODEL_ERRORS as error:
        raise InputError(
            f"target must answer inputs of shape {shape}, got {type(error).__name__}: are they"
            " what it was trained on?"
        ) from None


def _scored(known: AttackContext, plan: AttackPlan) -> tuple[dict[str, Scores], dict[str, str]]:
    """Scores of the possible attacks, and why the others are not."""
    scores: dict[str, Scores] = {}
    skipped: dict[str, str] = {}
    for place, name in enumerate(plan.names):
        try:
            target = registry.ATTACKS[name].attacked(known)
            scores[name] = registry.build_attack(name, known).scores(target, known.records)
        except InputError as error:
            if plan.attacks != ALL:
                raise InputError(f"{name} is not possible: {error}") from None
            skipped[name] = str(error)
        known.progress("attacks", place + 1, len(plan.names))
    if not scores:
        raise InputError(f"attacks must be possible, got none: {next(iter(skipped.values()))}")
    return scores, skipped


def _confidences(known: AttackContext) -> Floats | None:
    shown = known.view(known.target)
    if isinstance(shown, LabelTarget):
        return None
    return np.asarray(shown.probabilities(known.records.inputs).max(axis=1))


def notes_on_copies(records: Records, inside: Flags) -> tuple[str, ...]:
    """Records that stand on both sides, and copies on one of them."""
    keys, notes = records.keys, []
    sides = [{keys[row] for row in np.flatnonzero(side)} for side in (inside, ~inside)]
    if both := len(sides[0] & sides[1]):
        notes.append(f"{both} records are among the members and among the others")
    if copies := len(keys) - sum(map(len, sides)):
        notes.append(
            f"{copies} records are copies of others on their side: intervals take each for a record"
            " of its own and are too narrow"
        )
    return tuple(notes)


def _notes(known: AttackContext, inside: Flags) -> tuple[str, ...]:
    """What a reader must know about the records."""
    keys, notes = known.records.keys, list(notes_on_copies(known.records, inside))
    shared = 0 if known.shadow is None else len(set(known.shadow.keys) & set(keys))
    if shared:
        notes.append(f"{shared} of the scored records are shadow data too")
    other = shadow_models.unlike_target(known.target, known.shadows)
    if other is not None and known.has_shadows:
        notes.append(
            f"shadow models are {other}, and not trained as the target was: attacks with shadows"
            " may find less than there is (--shadow-model module:function trains them alike)"
        )
    return tuple(notes)


def strengths(
    known: AttackContext, attacks: Sequence[str], *, targets: int = 4
) -> dict[str, float]:
    """The mean AUC of each attack over the first shadow of so many pairs, strongest first."""
    if len(known.online) < 2 * targets + 2:
        raise InputError(
            f"shadows must be at least {2 * targets + 2} for {targets} shadow targets, got"
            f" {len(known.online)}"
        )
    means = {name: float(np.mean(_found(known, name, targets))) for name in attacks}
    return dict(sorted(means.items(), key=lambda pair: -pair[1]))


def _found(known: AttackContext, name: str, targets: int) -> list[float]:
    figures = []
    for place in range(0, 2 * targets, 2):
        facing, inside = known.before_shadow(place), known.online.inside[place]
        target = registry.ATTACKS.named(name).attacked(facing)
        values = registry.build_attack(name, facing).scores(target, known.records).values
        figures.append(auc(values[inside], values[~inside]).value)
    return figures
