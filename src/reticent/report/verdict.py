"""The verdict in words: what leaks now, what leaks after, what it costs, what is promised."""

from dataclasses import dataclass
from typing import Final

from reticent.report import numbers, series
from reticent.results import Attack, Interval, Results, allowed, by_class

NO_LEAK: Final = "this is no leak once corrected for all figures of an attack that were looked at"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Sentences for a person who decides, in the order in which they are asked."""

    now: str
    after: str
    cost: str
    promise: str
    check: str
    warnings: tuple[str, ...]
    about: str
    """Of what the AUC that the guarantee leaves is one, where it must be said."""


def verdict(results: Results) -> Verdict:
    """From the figures of the document alone."""
    conclusion = results.conclusion
    before, after = (
        series.attack_on(made.attacks, conclusion.attack)
        for made in (results.unprotected, results.recommended)
    )
    return Verdict(
        now=told_apart(before, conclusion.before, enough=conclusion.enough),
        after=told_apart(after, conclusion.after, enough=conclusion.enough, still="still ")
        + _others(results),
        cost=_cost(results),
        promise=_promise(results),
        check=_check(results),
        warnings=tuple(_warnings(results)),
        about=allowed.attack_allowance(results.recommended).about,
    )


def told_apart(attack: Attack | None, auc: Interval, *, enough: bool, still: str = "") -> str:
    """Whether a leak was found, and what its AUC means: how often the member of a pair is named."""
    often = (
        "shown a member and a stranger, the attack names the member"
        f" {numbers.in_hundred(auc.value)} times in 100 (between {numbers.in_hundred(auc.low)}"
        f" and {numbers.in_hundred(auc.high)}); guessing names it 50 times"
    )
    if attack is None:
        return f"The document does not hold this attack's verdict: {often}."
    if attack.leaks:  # found with few records is found
        turned = ", by low scores" if auc.high < 0.5 else ""
        by = turned if attack.auc_excludes_guessing else f", if not by the AUC ({attack.verdict})"
        return f"Members are {still}told apart{by}: {often}."
    if attack.auc_excludes_guessing:
        often += f"; {NO_LEAK}"
    if not enough:
        return f"Too few records to say: {often}."
    return f"Members are not told apart by this attack: {often}."


def strongest(attacks: tuple[Attack, ...]) -> Attack | None:
    """The attack with the largest AUC that found a leak, whatever it saw; None where none did."""
    return max((one for one in attacks if one.leaks), key=lambda one: one.auc.value, default=None)


def _others(results: Results) -> str:
    """An attack other than the chosen one that still finds something."""
    best = strongest(results.recommended.attacks)
    if best is None or best.name == results.conclusion.attack:
        return ""
    return f" Most is found by {best.name} ({best.threat}): AUC {numbers.decimal_range(best.auc)}."


def _cost(results: Results) -> str:
    before, release = results.unprotected.accuracy, results.recommended
    return (
        f"Accuracy goes from {numbers.share(before.value)} to"
        f" {numbers.share(release.accuracy.value)}: a utility loss of"
        f" {numbers.share_range(release.loss)}, over {_drawn(release.draws)} of the noise."
        f"{_balanced(results)}"
    )


def _balanced(results: Results) -> str:
    """The mean recall of the classes, which a rare one moves as much as a large one."""
    before, after = results.unprotected.by_class, results.recommended.by_class
    if before is None or after is None:
        return ""
    was, is_now = (numbers.share(one.balanced_accuracy.value) for one in (before, after))
    loss = after.balanced_loss
    lost = "" if loss is None else f": a loss of {numbers.share_range(loss)}"
    return f" Each class counted alike, balanced accuracy goes from {was} to {is_now}{lost}."


def _drawn(draws: int) -> str:
    return "1 draw" if draws == 1 else f"{draws} draws"


def _promise(results: Results) -> str:
    claim = results.recommended.claim
    return f"{claim.text}. {claim.grade.capitalize()}: {claim.grade.meaning}."


def _check(results: Results) -> str:
    audit = results.recommended.audit
    if audit is None:
        return "This release was not audited: its claim rests on its assumptions alone."
    few = "" if audit.reach is None else f"; {audit.reach}"
    return (
        f"Its audit: {numbers.measured_of(audit)} with"
        f" {numbers.surety(audit.measured.confidence)} confidence, claim {audit.verdict}{few}."
    )


def _warnings(results: Results) -> list[str]:
    """What must be read before anything is published."""
    release, warnings = results.recommended, []
    if not results.conclusion.enough:
        needed = results.conclusion.records_needed
        size = "" if needed is None else f" At least {needed:,} are needed on each side."
        facts = results.facts
        warnings.append(
            f"Too few records: {facts.private:,} private and {facts.others:,} others leave open"
            f" what an attack finds.{size} A figure near guessing means nothing here."
        )
    lost = by_class.lost_classes(results.unprotected.by_class, release.by_class)
    if lost is not None:
        warnings.append(f"{lost} The accuracy does not show it: see the recall of each class.")
    if results.conclusion.would_help is not None:
        warnings.append(
            f"The recommended release loses {numbers.share_range(release.loss)} of its accuracy."
            f" {results.conclusion.would_help}"
        )
    left = allowed.attack_allowance(release)
    if left.attack is not None and left.broken:
        warnings.append(
            "An attack gets more out of the recommended release than"
            f" {numbers.epsilon_of(release.claim)} allows: {left.attack.name} has AUC"
            f" {numbers.decimal_range(left.attack.auc)}, and at most {left.limit} is allowed."
            " Do not publish it."
        )
    if left.note is not None:
        warnings.append(left.note)
    if release.audit is not None and release.audit.verdict == "refuted":
        warnings.append(
            "The audit refuted the claim of the recommended release:"
            f" {numbers.measured_of(release.audit)}, and {numbers.epsilon_of(release.claim)} is"
            " claimed. Do not publish it under this ε."
        )
    if release.claim.grade in ("sampled", "published"):
        warnings.append(f"Grade {numbers.grade_of(release.claim)}: {release.claim.grade.meaning}.")
    return warnings
