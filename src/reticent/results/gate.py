"""The gate of ``--fail-above``: which figures are above what somebody allows.

A limit is a text: ``auc=0.55``, ``balanced-accuracy=0.55``, ``leakage=0.1``, ``tpr@0.01=0.05`` (of
members found at 1 % false alarms), ``loss=0.07`` (utility), ``balanced-loss=0.1`` (the same of the
balanced accuracy), ``recall-loss=0.3`` (the same of each class's recall) or ``epsilon=2``; a number
alone is an AUC.

- A measured figure is above its limit where its interval is as a whole: the low end is compared. A
  gate fails on what was shown, not on chance. All intervals of one figure hold together over the
  attacks, so a gate on it fails without reason with probability 1 − confidence at most. Few records
  have wide intervals and pass: the verdict of an attack says what they would have shown.
- An attack that is wrong more often than a coin tells as much to whoever turns it round: an AUC, a
  balanced accuracy or a leakage is compared from both sides of guessing.
- ε has no interval: the claim is compared. One that its audit refuted, or that is graded published
  (known not to hold), is above every limit.
- What was not measured cannot pass: it counts as above.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from reticent.guarantee.rounding import upper_text
from reticent.validation import InputError, finite, open_probability

if TYPE_CHECKING:
    from reticent.audit.attack_run import Attacked
    from reticent.results import ReleaseRow, Results, task_results

OPTION: Final = "--fail-above"
TPR: Final = "tpr"
LOSS: Final = "loss"
BALANCED_LOSS: Final = "balanced-loss"
RECALL_LOSS: Final = "recall-loss"
_LOSSES: Final = (LOSS, BALANCED_LOSS, RECALL_LOSS)
EPSILON: Final = "epsilon"
_OF_ATTACKS: Final = {
    "auc": "auc",
    "balanced-accuracy": "balanced_accuracy",
    "leakage": "leakage",
}
"""Figures of an attack, and the attributes that hold them."""
_TURNED: Final = {"auc": 1.0, "balanced-accuracy": 1.0, "leakage": 0.0}
"""What a figure and that of the attack turned round add up to."""
_KNOWN: Final = (*_OF_ATTACKS, f"{TPR}@FPR", *_LOSSES, EPSILON)


class Figure(Protocol):
    """A measured figure; its text shows the interval."""

    @property
    def low(self) -> float:
        """The low end of its interval."""
        ...

    @property
    def high(self) -> float:
        """The high end of the figure's interval."""
        ...


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The most that one figure may be."""

    figure: str
    most: float
    fpr: float | None = None
    """The share of false alarms, for ``tpr``."""

    @property
    def name(self) -> str:
        """As it is written before the equals sign."""
        return self.figure if self.fpr is None else f"{self.figure}@{self.fpr:.10g}"

    def __str__(self) -> str:
        """As it is typed."""
        return f"{self.name}={self.most:.10g}"


@dataclass(frozen=True, kw_only=True)
class Excess:
    """What is above a limit: an attack or a release, and its figure in words."""

    limit: Limit
    of: str
    shown: str
    measured: bool = True
    """Whether there is a figure at all: what has none counts as above, and is not said to be."""

    def to_dict(self) -> dict[str, str]:
        """Plain values, as they stand in a JSON file."""
        return {"limit": str(self.limit), "of": self.of, "shown": self.shown}


def limit_of(text: str) -> Limit:
    """One limit, from its text.

    >>> limit_of("tpr@0.01=.05")
    Limit(figure='tpr', most=0.05, fpr=0.01)
    >>> print(limit_of("0.55"))
    auc=0.55
    """
    name, _, number = text.rpartition("=")
    figure, at, rate = (name.strip() or "auc").partition("@")
    if figure not in (*_OF_ATTACKS, TPR, *_LOSSES, EPSILON) or bool(at) != (figure == TPR):
        raise InputError(f"{OPTION} must be of {', '.join(_KNOWN)}, got {name or text!r}")
    fpr = open_probability(f"{OPTION} {TPR}@FPR", _number(rate, text)) if at else None
    return Limit(figure=figure, most=_most(figure, _number(number, text)), fpr=fpr)


def limits_of(texts: Iterable[str]) -> tuple[Limit, ...]:
    """All limits; two on one figure are refused."""
    limits = tuple(map(limit_of, texts))
    names = [limit.name for limit in limits]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"{OPTION} must name each figure once, got {twice[0]} twice")
    return limits


def attack_limits_of(texts: Iterable[str], *, fprs: Sequence[float]) -> tuple[Limit, ...]:
    """Limits on figures that attacks alone have, at rates that will be measured."""
    limits = limits_of(texts)
    for limit in limits:
        if limit.figure in (*_LOSSES, EPSILON):
            raise InputError(f"{OPTION} must be a figure of an attack here, got {limit}")
        if limit.fpr is not None and limit.fpr not in fprs:
            rates = " or ".join(f"{TPR}@{fpr:g}" for fpr in fprs)
            raise InputError(f"{OPTION} must be a rate that is measured, {rates}, got {limit}")
    return limits


def exceeded(
    results: Results, limits: Iterable[Limit], *, release: ReleaseRow | None = None
) -> tuple[Excess, ...]:
    """What is above the limits in a run: of the recommended release, or of another."""
    judged = results.recommended if release is None else release
    attacks = {
        attack.name: _figures(attack, {rate.fpr: rate.tpr for rate in attack.rates})
        for attack in judged.attacks
    }
    excesses: list[Excess] = []
    for limit in limits:
        if limit.figure == EPSILON:
            excesses += _above_epsilon(limit, judged)
        elif limit.figure in _LOSSES:
            losses = _losses(limit.figure, judged, results.facts.classes)
            excesses += _above(limit, losses) if losses else []
        else:
            excesses += _above(limit, attacks)
    return tuple(excesses)


def exceeded_by_attacks(attacked: Attacked, limits: Iterable[Limit]) -> tuple[Excess, ...]:
    """What is above the limits among the attacks on one model."""
    attacks = {
        name: _figures(report, report.tpr_at_fpr) for name, report in attacked.reports.items()
    }
    return tuple(excess for limit in limits for excess in _above(limit, attacks))


def in_one_line(excesses: Sequence[Excess]) -> str:
    """Each limit with all that is above it or unmeasured; no line breaks, whatever the names."""
    by_limit: dict[str, list[str]] = {}
    for excess in excesses:
        lead = f"above {excess.limit}" if excess.measured else f"{excess.limit} not met"
        by_limit.setdefault(lead, []).append(f"{excess.of} {excess.shown}")
    line = "; ".join(f"{lead}: {', '.join(those)}" for lead, those in by_limit.items())
    return " ".join(line.split())


def _number(text: str, whole: str) -> float:
    try:
        return finite(OPTION, float(text))
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{OPTION} must be such as auc=0.55, got {whole!r}") from None


def _most(figure: str, most: float) -> float:
    """Within the range of the figure: a limit beyond it would never fail, or always."""
    low = -1.0 if figure in (*_LOSSES, "leakage") else 0.0
    if not low <= most or not (figure == EPSILON or most <= 1):
        allowed = ">= 0" if figure == EPSILON else f"in [{low:g}, 1]"
        raise InputError(f"{OPTION} {figure} must be {allowed}, got {most:g}")
    return most


def _figures(attack: Any, rates: Mapping[float, Figure]) -> dict[str, Figure]:
    """By the names of limits."""
    own = {figure: getattr(attack, attribute) for figure, attribute in _OF_ATTACKS.items()}
    return own | {Limit(figure=TPR, most=1.0, fpr=fpr).name: tpr for fpr, tpr in rates.items()}


def _losses(
    figure: str, release: ReleaseRow, classes: Sequence[str]
) -> dict[str, dict[str, Figure]]:
    """What a release loses: as a whole, or of each class that has anything to lose.

    A class without test records was not measured; one that the unprotected model never finds is
    left out.
    """
    if figure == LOSS:
        return {release.name: {LOSS: release.loss}}
    own = release.by_class
    if own is None:
        return {release.name: {}}
    if figure == BALANCED_LOSS:
        lost = own.balanced_loss
        return {release.name: {} if lost is None else {BALANCED_LOSS: lost}}
    losses: dict[str, dict[str, Figure]] = {}
    for label in classes:
        recall = own.of(label)
        if recall is None:
            losses[f"class {label}"] = {}
        elif recall.loss is not None:
            losses[f"class {label}"] = {RECALL_LOSS: recall.loss}
    return losses


def _above(limit: Limit, figures: Mapping[str, Mapping[str, Figure]]) -> list[Excess]:
    """Those whose figure is above; with nobody to have one, nothing was measured."""
    if not figures:
        return [Excess(limit=limit, of="no attack", shown="measured it", measured=False)]
    excesses = []
    for name, those in figures.items():
        figure = those.get(limit.name)
        if figure is None:
            excesses.append(Excess(limit=limit, of=name, shown="not measured", measured=False))
        elif figure.low > limit.most:
            excesses.append(Excess(limit=limit, of=name, shown=str(figure)))
        elif limit.figure in _TURNED and _TURNED[limit.figure] - figure.high > limit.most:
            excesses.append(Excess(limit=limit, of=name, shown=f"{figure}, turned round"))
    return excesses


def _above_epsilon(limit: Limit, release: ReleaseRow) -> list[Excess]:
    claim = release.claim
    shown = f"ε ≤ {upper_text(claim.epsilon)} ({claim.grade})"
    if release.audit is not None and release.audit.verdict == "refuted":
        shown += ", refuted by its audit"
    elif claim.grade == "published":
        shown += ", known not to hold"
    elif claim.epsilon <= limit.most:
        return []
    return [Excess(limit=limit, of=release.name, shown=shown)]


OF_TASKS: Final = ("auc", "balanced-accuracy", "leakage", TPR, LOSS, EPSILON)


def refuse_other_limits(limits: Sequence[Limit]) -> None:
    """Refuses limits on figures of classes: a run on a number or several labels has none."""
    if other := [limit for limit in limits if limit.figure not in OF_TASKS]:
        raise InputError(f"{OPTION} must be of {', '.join(OF_TASKS)} here, got {other[0].figure}")


def exceeded_by_task(
    results: task_results.TaskResults, limits: Sequence[Limit]
) -> tuple[Excess, ...]:
    """What is above the limits, of a run on a number or several labels.

    ``loss`` is the relative change of its first measure (RMSE, or the mean accuracy of all labels).
    """
    refuse_other_limits(limits)
    return exceeded(cast(Any, results), limits)
