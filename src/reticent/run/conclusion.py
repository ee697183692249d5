"""The verdict of a run, in words that whoever decides about publishing can read."""

import math
from typing import Final, NamedTuple

from scipy import stats

from reticent.guarantee.rounding import upper_text
from reticent.results import Attack, Conclusion, Interval, ReleaseRow, Unprotected
from reticent.results.allowed import AttackAllowance, allowed_auc, attack_allowance
from reticent.results.audit import Audit
from reticent.results.by_class import lost_classes
from reticent.results.task_results import TaskRelease

HALF_WIDTH: Final = 0.03
"""Of the AUC's interval: with a wider one the page says that records are too few."""
WHO: Final = "who was in its training data"


def concluded(
    unprotected: Unprotected,
    recommended: ReleaseRow,
    others: tuple[ReleaseRow, ...],
    strengths: dict[str, float],
    notes: tuple[str, ...] = (),
    *,
    two_kinds: str | None = None,
) -> Conclusion:
    """What leaks now, what leaks after, what it costs, and what is promised.

    ``notes`` are sentences on what a reader must know besides; ``two_kinds`` stands before the
    verdict where the records that attacks compare were drawn otherwise than the private ones.
    """
    chosen = next(iter(strengths))
    before, after = (
        attack_named(unprotected.attacks, chosen),
        attack_named(recommended.attacks, chosen),
    )
    left = attack_allowance(recommended)
    needed = records_needed(after)
    enough = needed is None
    verdict = Verdict.of(recommended) or _verdict(
        unprotected.attacks, recommended, chosen, enough=enough
    )
    lost = lost_classes(unprotected.by_class, recommended.by_class)
    return Conclusion(
        headline=verdict.with_lost(lost).fair(two_kinds),
        forbids=verdict.forbids,
        sentences=(
            strongest(chosen, strengths),
            *too_few(after),
            attack_sentence("Without protection", before),
            f"{attack_sentence('The recommended release', after)} Its guarantee leaves no attack"
            f" more than {upper_text(left.once, 3)}{left.about}.",
            *filter(None, (left.note,)),
            *_found_by_others(recommended.attacks, chosen),
            _cost(unprotected, recommended),
            *_balanced(unprotected, recommended),
            "It was recommended by public numbers alone, or its learner was asked for before any"
            " record was read: to choose by these results would itself cost privacy.",
            f"Its guarantee: {recommended.claim.text}. It covers every attack, these and stronger"
            " ones, under the assumptions listed below.",
            *audit_sentence(recommended),
            *(line for release in others for line in audit_sentence(release)),
            *notes,
        ),
        enough=enough,
        records_needed=needed,
        attack=chosen,
        before=before.auc,
        after=after.auc,
        allowed=allowed_auc(recommended),
        recommended=recommended.name,
    )


def attack_named(attacks: tuple[Attack, ...], name: str) -> Attack:
    """The attack of this name."""
    return next(attack for attack in attacks if attack.name == name)


def records_for(half_width: float, confidence: float) -> int:
    """Records on each side whose AUC has such an interval, were it ½: its variance is 1/(6n).

    >>> records_for(0.03, 0.95)
    712
    """
    wide = float(stats.norm.ppf((1 + confidence) / 2))
    return math.ceil(wide**2 / (6 * half_width**2))


def records_needed(after: Attack) -> int | None:
    """Records on each side for an interval that decides; None where there are enough."""
    if _half(after.auc) <= HALF_WIDTH or after.leaks:  # a leak that is seen needs no more
        return None
    return records_for(HALF_WIDTH, after.auc.confidence)


def _half(interval: Interval) -> float:
    return (interval.high - interval.low) / 2


class Verdict(NamedTuple):
    """What stands first in a document, and whether it is not to publish."""

    headline: str
    forbids: bool = False

    @classmethod
    def of(cls, release: ReleaseRow | TaskRelease) -> "Verdict | None":
        """Not to publish, where something contradicts the guarantee; None where nothing does."""
        broken = contradiction(release, promise_of(release), attack_allowance(release))
        return None if broken is None else cls(f"Do not publish: {broken}.", True)

    def with_lost(self, lost: str | None) -> "Verdict":
        """With the classes that the release loses, which its accuracy need not show."""
        if lost is None:
            return self
        return self._replace(headline=f"{self.headline} Warning: {lost[0].lower()}{lost[1:]}")

    def fair(self, two_kinds: str | None) -> str:
        """The headline, the blind check before it; behind it where it says not to publish."""
        if two_kinds is None:
            return self.headline
        if self.forbids:
            return f"{self.headline} Not a fair test: {two_kinds}."
        return f"Not a fair test: {two_kinds}. Read with that: {self.headline}"


def _verdict(
    before: tuple[Attack, ...], release: ReleaseRow, chosen: str, *, enough: bool
) -> Verdict:
    """The first sentence that is true; any attack's leak is a leak, not the chosen one's alone."""
    promise = promise_of(release)
    left = attack_allowance(release)
    leaked, still = (any(one.leaks for one in attacks) for attacks in (before, release.attacks))
    if still:
        less = attack_named(release.attacks, chosen).auc.high < attack_named(before, chosen).auc.low
        rest = f"tells {WHO}" if not leaked else "tells less" if less else "tells it too"
        rest = f"{promise} {rest}, within what its guarantee allows (AUC {left.limit})."
    elif not enough:
        rest = f"too few records to say what {promise} tells."
    elif leaked:
        rest = f"from {promise} no attack that was tried could tell."
    else:
        rest = (
            f"no leak was found, before protection or after it; {promise} holds against attacks"
            " that were not tried, too."
        )
    first = f"Published as it is, this model tells {WHO}; {rest}"
    return Verdict(first if leaked else capitalised(rest))


def promise_of(release: ReleaseRow | TaskRelease) -> str:
    """A release by what it promises."""
    return f"the release with ε ≤ {upper_text(release.claim.epsilon)} ({release.claim.grade})"


def contradiction(
    release: ReleaseRow | TaskRelease, promise: str, left: AttackAllowance
) -> str | None:
    """What contradicts the guarantee; None where nothing does."""
    if release.audit is not None and release.audit.verdict == "refuted":
        return f"the audit refuted {promise}"
    if left.broken:
        return (
            f"an attack gets more out of {promise} than it allows: the claim is wrong, or the other"
            " records are not of the private ones' kind"
        )
    return None


def capitalised(sentence: str) -> str:
    """The sentence with a capital first."""
    return f"{sentence[0].upper()}{sentence[1:]}"


def _found_by_others(attacks: tuple[Attack, ...], chosen: str) -> tuple[str, ...]:
    """The strongest of those that were not chosen, where it finds anything."""
    others = [one for one in attacks if one.name != chosen and one.leaks]
    if not others:
        return ()
    best = max(others, key=lambda one: one.auc.value)
    return (f"On it {best.name} ({best.threat}) finds a leak: AUC {best.auc}.",)


def strongest(chosen: str, strengths: dict[str, float]) -> str:
    """Which attack is judged by, and why."""
    return (
        f"Of {len(strengths)} black-box attacks {chosen} was the strongest on shadow targets (mean"
        f" AUC {strengths[chosen]:.3f}): it is the one that is judged by."
    )


def too_few(after: Attack) -> tuple[str, ...]:
    """That the records are too few to say what an attack finds, where they are."""
    needed = records_needed(after)
    if needed is None:
        return ()
    return (
        f"Too few records: {after.members:,} members and {after.others:,} others leave the AUC"
        f" open within ±{_half(after.auc):.3f}; about {needed:,} of each would make it"
        f" ±{HALF_WIDTH:g}.",
    )


def attack_sentence(what: str, attack: Attack) -> str:
    """What an attack found on a model, in one sentence."""
    verdict = "was not seen to do better than guessing"
    if attack.leaks:
        by = "" if attack.auc_excludes_guessing else f" ({attack.verdict})"
        verdict = f"tells members from others{by}"
    return f"{what}: the attack {verdict}, AUC {attack.auc} (0.5 is guessing)."


def _cost(unprotected: Unprotected, release: ReleaseRow) -> str:
    return (
        f"The price: accuracy {unprotected.accuracy.value:.3f} becomes"
        f" {release.accuracy.value:.3f}, a utility loss of {100 * release.loss.value:.1f} %"
        f" [{100 * release.loss.low:.1f} %, {100 * release.loss.high:.1f} %]."
    )


def _balanced(unprotected: Unprotected, release: ReleaseRow) -> tuple[str, ...]:
    """The mean recall before and after, and the class that loses most."""
    before, after = unprotected.by_class, release.by_class
    if before is None or after is None:
        return ()
    loss, worst = after.balanced_loss, after.worst
    lost = "" if loss is None else f", a loss of {100 * loss.value:.1f} %"
    most = (
        ""
        if worst is None or worst.loss is None
        else (
            f" Most is lost for class {worst.label}: {100 * worst.loss.value:.1f} % of its recall."
        )
    )
    return (
        f"Each class counted alike: balanced accuracy {before.balanced_accuracy.value:.3f} becomes"
        f" {after.balanced_accuracy.value:.3f}{lost}.{most}",
    )


def audit_sentence(release: ReleaseRow | TaskRelease) -> tuple[str, ...]:
    """What the audit of a release found, where there is one."""
    audit: Audit | None = release.audit
    if audit is None:
        return ()
    by = "" if audit.refuted_by is None else f" by the {audit.refuted_by}"
    few = "" if audit.reach is None else f"; {audit.reach}"
    return (f"Audit of {release.name}: {audit.verdict}{by}; measured {audit.measured.text}{few}.",)
