"""The verdict of such a run, in words that whoever decides about publishing can read."""

from __future__ import annotations

from reticent.audit.blind_check import BlindCheck
from reticent.guarantee.rounding import upper_text
from reticent.results import Attack
from reticent.results.allowed import allowed_auc, attack_allowance
from reticent.results.document import DO_NOT_PUBLISH
from reticent.results.task_results import Measure, TaskConclusion, TaskModel, TaskRelease
from reticent.run.conclusion import attack_named, records_for, told

_WHO = "who was in its training data"


def concluded(
    before: TaskModel,
    release: TaskRelease,
    strengths: dict[str, float],
    *,
    notes: tuple[str, ...] = (),
    blind: BlindCheck | None = None,
) -> TaskConclusion:
    """What leaks now, what leaks after, what it costs, and what is promised."""
    chosen = next(iter(strengths))
    first, last = attack_named(before.attacks, chosen), attack_named(release.attacks, chosen)
    left = attack_allowance(release)
    return TaskConclusion(
        headline=_fair(_headline(before.attacks, release), blind),
        sentences=(
            f"Of {len(strengths)} black-box attacks {chosen} was the strongest on shadow targets"
            f" (mean AUC {strengths[chosen]:.3f}): it is the one that is judged by.",
            *_too_few(last),
            told("Without protection", first),
            f"{told('The release', last)} Its guarantee leaves no attack more than"
            f" {upper_text(left.once, 3)}{left.about}.",
            *filter(None, (left.note,)),
            *price(before, release),
            f"Its guarantee: {release.claim.text}. It covers every attack, these and stronger ones,"
            " under the assumptions listed below.",
            *_audited(release),
            *(() if blind is None else (f"{str(blind)[0].upper()}{str(blind)[1:]}.",)),
            *notes,
        ),
        attack=chosen,
        before=first.auc,
        after=last.auc,
        allowed=allowed_auc(release),
        recommended=release.name,
    )


def price(before: TaskModel, release: TaskRelease) -> tuple[str, ...]:
    """Each measure of all labels, before and after; the relative change of the first."""
    pairs = zip(before.measures, release.measures, strict=True)
    shown = [f"{one.words} {_both(one, other)}" for one, other in pairs if not one.label]
    worst = [
        f"{one.words} {_both(one, other)}"
        for one, other in _labelled(before, release)[:1]
        if one.figure.value > 0
    ]
    more = (f"Most is lost on one label: {worst[0]}.",) if worst else ()
    change = release.change
    direction = "larger" if before.measures[0].lower_is_better else "smaller"
    return (
        f"The price, on {'the mean of ' if release.draws > 1 else ''}{release.draws} draw"
        f"{'s' if release.draws > 1 else ''} of the noise: {'; '.join(shown)}.",
        f"{before.measures[0].words} is {100 * change.value:.1f} % [{100 * change.low:.1f} %,"
        f" {100 * change.high:.1f} %] {direction} than without protection.",
        *more,
    )


def _labelled(before: TaskModel, release: TaskRelease) -> list[tuple[Measure, Measure]]:
    """F1 of each label before and after, the largest fall first."""
    pairs = zip(before.measures, release.measures, strict=True)
    own = [pair for pair in pairs if pair[0].label and pair[0].name == "F1"]
    return sorted(own, key=lambda pair: pair[1].figure.value - pair[0].figure.value)


def _both(one: Measure, other: Measure) -> str:
    return f"{one.figure.value:.4g} becomes {other.figure.value:.4g}"


def _headline(before: tuple[Attack, ...], release: TaskRelease) -> str:
    """The first sentence that is true."""
    promise = f"the release with ε ≤ {upper_text(release.claim.epsilon)} ({release.claim.grade})"
    left = attack_allowance(release)
    if release.audit is not None and release.audit.verdict == "refuted":
        return f"{DO_NOT_PUBLISH}: the audit refuted {promise}."
    if left.broken:
        return (
            f"{DO_NOT_PUBLISH}: an attack gets more out of {promise} than it allows: the claim is"
            " wrong, or the other records are not of the private ones' kind."
        )
    leaks = any(one.leaks for one in before)
    still = any(one.leaks for one in release.attacks)
    if still:
        rest = f"{promise} tells it too, within what its guarantee allows (AUC {left.limit})."
    elif leaks:
        rest = f"from {promise} no attack that was tried could tell."
    else:
        rest = (
            f"No leak was found, before protection or after it; {promise} holds against attacks"
            " that were not tried, too."
        )
    return f"Published as it is, this model tells {_WHO}; {rest}" if leaks else _capital(rest)


def _capital(sentence: str) -> str:
    return f"{sentence[0].upper()}{sentence[1:]}"


def _fair(headline: str, blind: BlindCheck | None) -> str:
    """With the blind check before it, where members and others are of two kinds."""
    if blind is None or not blind.differs:
        return headline
    if headline.startswith(DO_NOT_PUBLISH):
        return f"{headline} Not a fair test: {blind}."
    return f"Not a fair test: {blind}. Read with that: {headline}"


def _too_few(after: Attack) -> tuple[str, ...]:
    half = (after.auc.high - after.auc.low) / 2
    if half <= 0.03 or after.leaks:
        return ()
    return (
        f"Too few records: {after.members:,} members and {after.others:,} others leave the AUC open"
        f" within ±{half:.3f}; about {records_for(0.03, after.auc.confidence):,} of each would make"
        " it ±0.03.",
    )


def _audited(release: TaskRelease) -> tuple[str, ...]:
    audit = release.audit
    if audit is None:
        return ()
    by = "" if audit.refuted_by is None else f" by the {audit.refuted_by}"
    few = "" if audit.reach is None else f"; {audit.reach}"
    return (f"Audit of {release.name}: {audit.verdict}{by}; measured {audit.measured.text}{few}.",)
