"""LiRA, the likelihood-ratio attack (Carlini et al. 2022), online and offline.

For each record, φ over the shadows that saw it and over those that did not is taken as normal:
medians for the means, and a σ per record or one for all. Online, the score is the log likelihood
ratio at the target's φ; offline, without shadows that saw the record, it is the log of the
one-sided probability of a smaller φ. (The two-sided −log density would call a record with an
unusually SMALL φ a member.)

φ, the scaled logit of the true class: what LiRA, RMIA and the reference test compare.

φ(x, y) = z_y − log Σ_{j≠y} e^{z_j} = log(p_y / (1 − p_y)), from the logits and without forming
1 − p_y: exact where p_y rounds to 1. It is nearly normal over models (Carlini et al. 2022, section
V), log p_y = log expit(φ), and a constant added to a row of logits does not change it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy import special

from reticent.arrays import Array, ArrayLike, Flags, Floats, Integers
from reticent.attacks.attack import ScoreAttack, with_online_shadows, with_shadows
from reticent.attacks.records import Records
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import Access, Target, Threat
from reticent.validation import InputError, describe

Augment = Callable[[Array], Sequence[ArrayLike]]
"""n inputs to several views, each of n inputs in the same order."""


def margins(logits: Floats, labels: Integers) -> Floats:
    """φ of each row: its own logit less the log-sum-exp of the others.

    >>> margins(np.log([[0.8, 0.1, 0.1]]), np.array([0])).round(12) == np.log(4).round(12)
    array([ True])
    """
    columns = np.array(logits.T, order="C")  # class by class: sums over few classes run in step
    rows = np.arange(len(labels))
    own = columns[labels, rows]
    columns[labels, rows] = -np.inf
    top = columns.max(axis=0)
    columns -= top
    scaled_logits: Floats = own - top - np.log(np.exp(columns, out=columns).sum(axis=0))
    return scaled_logits


def target_margins(target: Target, records: Records, views: Sequence[ArrayLike]) -> Floats:
    """φ of each record, averaged over its views."""
    return _mean_margins(target, records.among(target.classes), views)


def shadow_margins(shadows: Shadows, records: Records, views: Sequence[ArrayLike]) -> Floats:
    """Shadows × records; all shadows have their classes in one order."""
    labels = records.among(shadows.classes)
    return np.stack([_mean_margins(model, labels, views) for model in shadows.models])


def _mean_margins(target: Target, labels: Integers, views: Sequence[ArrayLike]) -> Floats:
    if len(target.classes) < 2:
        raise InputError(f"target must have at least 2 classes, got {len(target.classes)}")
    means: Floats = np.mean([margins(target.logits(view), labels) for view in views], axis=0)
    return means


def views_of(records: Records, augment: Augment | None) -> Sequence[ArrayLike]:
    """The inputs alone, or what ``augment`` makes of them: drawn once, shown to every model."""
    if augment is None:
        return (records.inputs,)
    views = [np.asarray(view) for view in augment(records.inputs)]
    if not views or any(len(view) != len(records) for view in views):
        raise InputError(
            f"augment must give views of {len(records)} inputs each, got"
            f" {[len(view) for view in views]}"
        )
    return views


def require_shadows(flags: Flags, *, at_least: int, which: str, what: str = "record") -> None:
    """Refuses records for which too few shadows (rows) have the flag."""
    counts = flags.sum(axis=0)
    if wrong := int((counts < at_least).sum()):
        raise InputError(
            f"each {what} must have at least {at_least} shadows that {which}, {wrong} of"
            f" {len(counts)} have fewer (fewest: {int(counts.min())})"
        )


Mode = Literal["online", "offline"]
Variance = Literal["auto", "fixed", "per-record"]

ENOUGH_SHADOWS = 64
"""From here on "auto" trusts a σ of each record's own; below, one σ of all has less error."""
_SMALLEST_SPREAD = 1e-6
"""Shadows that agree to the last bit (clamped probabilities) do not make a score infinite."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Lira(ScoreAttack):
    """LiRA on any target that shows probabilities.

    Args:
        shadows: Models of the adversary. Which of them saw a record is found by its content.
        mode: "online" needs at least 2 shadows that saw each record and 2 that did not; "offline"
            uses only those that did not see it (at least 2).
        variance: "per-record"; "fixed", one σ from the residuals φ − median(record), in and out
            apart; or "auto": fixed below 64 shadows.
        augment: From n inputs to several views of them. φ is averaged over the views, the same ones
            for the target and the shadows. (The paper takes the views as a multivariate normal with
            a diagonal covariance; the mean keeps most of the gain and needs one σ.)
    """

    shadows: Shadows
    mode: Mode = "online"
    variance: Variance = "auto"
    augment: Augment | None = None
    threat: Threat = field(init=False)

    def __post_init__(self) -> None:
        """Known words only; the threat follows from the mode."""
        one_of("mode", self.mode, ("online", "offline"))
        one_of("variance", self.variance, ("auto", "fixed", "per-record"))
        object.__setattr__(self, "threat", shadow_threat(self.mode, self.augment is not None))

    @property
    def name(self) -> str:
        """What stands in tables: LiRA with its mode, online or offline."""
        return f"LiRA, {self.mode}"

    def _values(self, target: Target, records: Records) -> Floats:
        saw = self.shadows.saw(records)
        require_shadows(~saw, at_least=2, which="did not see it")
        views = views_of(records, self.augment)
        own = target_margins(target, records, views)
        if self.mode == "offline":
            others = shadow_margins(self.shadows, records, views)
            return offline_scores(own, others, saw, fixed=self._fixed)
        require_shadows(saw, at_least=2, which="saw it (or use mode='offline')")
        others = shadow_margins(self.shadows, records, views)
        return online_scores(own, others, saw, fixed=self._fixed)

    def _notes(self, target: Target, records: Records) -> tuple[str, ...]:  # noqa: ARG002
        spread = "one σ for all records" if self._fixed else "a σ for each record"
        return (f"{len(self.shadows)} shadows, {spread}",)

    @property
    def _fixed(self) -> bool:
        if self.variance == "auto":
            return len(self.shadows) < ENOUGH_SHADOWS
        return self.variance == "fixed"


def online_scores(own: Floats, others: Floats, saw: Flags, *, fixed: bool) -> Floats:
    """log N(φ; μ_in, σ_in²) − log N(φ; μ_out, σ_out²).

    Args:
        own: φ of the target, one for each record.
        others: φ of the shadows, shadows × records.
        saw: Whether the shadow saw the record; at least 2 of each kind for each record.
        fixed: One σ for all records, in and out apart.
    """
    inner, inner_spread = normal_fits(others, saw, fixed=fixed)
    outer, outer_spread = normal_fits(others, ~saw, fixed=fixed)
    near_inner, near_outer = (own - inner) / inner_spread, (own - outer) / outer_spread
    return (near_outer**2 - near_inner**2) / 2 + np.log(outer_spread / inner_spread)


def offline_scores(own: Floats, others: Floats, saw: Flags, *, fixed: bool) -> Floats:
    """log Φ((φ − μ_out)/σ_out), from the shadows that did not see the record."""
    middle, spread = normal_fits(others, ~saw, fixed=fixed)
    log_probabilities: Floats = special.log_ndtr((own - middle) / spread)
    return log_probabilities


def normal_fits(others: Floats, chosen: Flags, *, fixed: bool) -> tuple[Floats, Floats]:
    """Median and σ of each record's φ over its chosen shadows (at least 2 of them).

    A record's own σ is the usual estimate (m − 1). The fixed one is that of all residuals from the
    medians, where each record has used up one degree of freedom for its median: with few shadows a
    plain standard deviation of the residuals would be too small by √(1 − 1/m).
    """
    values, kept = np.ascontiguousarray(others.T), np.ascontiguousarray(chosen.T)
    counts = kept.sum(axis=1)
    middle = _medians(values, kept, counts)
    if fixed:
        free = counts.sum() - len(counts)
        spread = np.full(len(middle), np.sqrt(_squares(values, kept, middle).sum() / free))
    else:
        means = np.einsum("nk,nk->n", values, kept) / counts
        spread = np.sqrt(_squares(values, kept, means) / (counts - 1))
    return middle, np.maximum(spread, _SMALLEST_SPREAD)


def _squares(values: Floats, kept: Flags, centres: Floats) -> Floats:
    """The sum of each row's squared distances."""
    distances = np.where(kept, values - centres[:, None], 0.0)
    return np.asarray(np.einsum("nk,nk->n", distances, distances))


def _medians(values: Floats, kept: Flags, counts: Integers) -> Floats:
    """The others are sorted to the end as infinity."""
    ordered = np.sort(np.where(kept, values, np.inf), axis=1)
    rows = np.arange(len(ordered))
    medians: Floats = (ordered[rows, (counts - 1) // 2] + ordered[rows, counts // 2]) / 2
    return medians


def shadow_threat(mode: Mode, augmented: bool) -> Threat:
    """What an attack with shadow models knows, online and offline."""
    shadows = {
        "online": "shadow models with and without each record",
        "offline": "shadow models without the record",
    }
    knows = (shadows[mode], *(["augmentations of the inputs"] if augmented else []))
    return Threat(access=Access.SCORES, knows=knows)


def one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a word that is none of those allowed."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}, got {describe(value)}")


LIRA_OFFLINE = with_shadows(lambda known: Lira(shadows=known.offline, mode="offline"))
LIRA_ONLINE = with_online_shadows(lambda known: Lira(shadows=known.online))
