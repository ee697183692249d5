"""LiRA, the likelihood-ratio attack (Carlini et al. 2022), online and offline.

For each record, φ over the shadows that saw it and over those that did not is taken as normal:
medians for the means, and a σ per record or one for all. Online, the score is the log likelihood
ratio at the target's φ; offline, without shadows that saw the record, it is the log of the
one-sided probability of a smaller φ. (The two-sided −log density would call a record with an
unusually SMALL φ a member.)
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy import special

from reticent.arrays import Flags, Floats, Integers
from reticent.attacks.attack import ScoreAttack
from reticent.attacks.builder import with_online_shadows, with_shadows
from reticent.attacks.margins import (
    Augment,
    require_shadows,
    shadow_margins,
    target_margins,
    views_of,
)
from reticent.attacks.records import Records
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import Target
from reticent.attacks.threat import Access, Threat
from reticent.validation import InputError, describe

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
    found: Floats = (near_outer**2 - near_inner**2) / 2 + np.log(outer_spread / inner_spread)
    return found


def offline_scores(own: Floats, others: Floats, saw: Flags, *, fixed: bool) -> Floats:
    """log Φ((φ − μ_out)/σ_out), from the shadows that did not see the record."""
    middle, spread = normal_fits(others, ~saw, fixed=fixed)
    found: Floats = special.log_ndtr((own - middle) / spread)
    return found


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


def _squares(values: Floats, kept: Flags, around: Floats) -> Floats:
    """The sum of each row's squared distances."""
    distances = np.where(kept, values - around[:, None], 0.0)
    return np.asarray(np.einsum("nk,nk->n", distances, distances))


def _medians(values: Floats, kept: Flags, counts: Integers) -> Floats:
    """The others are sorted to the end as infinity."""
    ordered = np.sort(np.where(kept, values, np.inf), axis=1)
    rows = np.arange(len(ordered))
    found: Floats = (ordered[rows, (counts - 1) // 2] + ordered[rows, counts // 2]) / 2
    return found


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
