"""The verdict of such a run, in words that whoever decides about publishing can read."""

from reticent.audit.blind_check import BlindCheck
from reticent.guarantee.rounding import upper_text
from reticent.results import Attack, allowed
from reticent.results.task_results import Measure, TaskConclusion, TaskModel, TaskRelease
from reticent.run import conclusion


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
    first, last = (
        conclusion.attack_named(before.attacks, chosen),
        conclusion.attack_named(release.attacks, chosen),
    )
    left = allowed.attack_allowance(release)
    two_kinds = str(blind) if blind is not None and blind.differs else None
    verdict = conclusion.Verdict.of(release) or _verdict(before.attacks, release)
    return TaskConclusion(
        headline=verdict.fair(two_kinds),
        forbids=verdict.forbids,
        sentences=(
            conclusion.strongest(chosen, strengths),
            *conclusion.too_few(last),
            conclusion.attack_sentence("Without protection", first),
            f"{conclusion.attack_sentence('The release', last)} Its guarantee leaves no attack more"
            f" than {upper_text(left.once, 3)}{left.about}.",
            *filter(None, (left.note,)),
            *price(before, release),
            f"Its guarantee: {release.claim.text}. It covers every attack, these and stronger ones,"
            " under the assumptions listed below.",
            *conclusion.audit_sentence(release),
            *(() if blind is None else (f"{conclusion.capitalised(str(blind))}.",)),
            *notes,
        ),
        attack=chosen,
        before=first.auc,
        after=last.auc,
        allowed=allowed.allowed_auc(release),
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


def _verdict(before: tuple[Attack, ...], release: TaskRelease) -> conclusion.Verdict:
    """The first sentence that is true."""
    promise, left = conclusion.promise_of(release), allowed.attack_allowance(release)
    leaks = any(one.leaks for one in before)
    still = any(one.leaks for one in release.attacks)
    if still:
        rest = f"{promise} tells it too, within what its guarantee allows (AUC {left.limit})."
    elif leaks:
        rest = f"from {promise} no attack that was tried could tell."
    else:
        rest = (
            f"no leak was found, before protection or after it; {promise} holds against attacks"
            " that were not tried, too."
        )
    first = f"Published as it is, this model tells {conclusion.WHO}; {rest}"
    return conclusion.Verdict(first if leaks else conclusion.capitalised(rest))
