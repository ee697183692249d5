"""Which records leak: the AUC by class, by confidence of the target, or by any other names.

Many slices are looked at, and by chance alone some look leaky. So p-values are corrected by Holm's
step-down rule (1979) over all slices together: with probability ``confidence`` at least, no slice
is called leaky that is not. The p-values are one-sided Mann–Whitney ones, valid where members and
others of a slice have the same distribution of scores, which is what "no leak" means. The intervals
hold all at once (Bonferroni).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from reticent.arrays import Array, ArrayLike, Flags, Floats
from reticent.audit.metrics import Measured, auc
from reticent.validation import InputError, count, float_array, open_probability


@dataclass(frozen=True, kw_only=True)
class Slice:
    """Some of the records, and what the attack tells about them."""

    by: str
    name: str
    members: int
    others: int
    auc: Measured
    """Its interval holds together with those of all slices."""
    p_value: float
    """By itself: of scores so much above the others', were there no leak."""
    corrected: float
    """By Holm's rule, for all slices that were looked at."""
    leaks: bool

    def __str__(self) -> str:
        verdict = "leaks" if self.leaks else "no leak found"
        return (
            f"{self.by} {self.name}: AUC {self.auc} ({self.members:,} members,"
            f" {self.others:,} others, p = {self.corrected:.2g} by Holm): {verdict}"
        )


@dataclass(frozen=True, kw_only=True)
class Sliced:
    """The slices that were measured, and those that hold too few records."""

    slices: tuple[Slice, ...]
    too_small: tuple[str, ...]


def sliced(
    values: ArrayLike,
    members: ArrayLike,
    by: Mapping[str, ArrayLike],
    *,
    confidence: float = 0.95,
    fewest: int = 10,
) -> Sliced:
    """Measure an attack on parts of the records.

    Args:
        values: A score for each record.
        members: True for each record that was a member.
        by: What to slice by, with a name of its slice for each record: ``{"class": labels,
            "confidence": deciles(confidences)}``. It must not depend on who was a member.
        confidence: That no slice is called leaky which is not, and that all intervals hold.
        fewest: Members, and others, that a slice must have.
    """
    scores, inside = float_array("values", values), np.asarray(members)
    level = open_probability("confidence", confidence)
    if scores.ndim != 1 or inside.shape != scores.shape or inside.dtype != np.bool_:
        raise InputError("values and members must be a number and true or false for each record")
    kept, small = [], []
    for kind, name, rows in _parts(by, len(scores)):
        sides = scores[rows & inside], scores[rows & ~inside]
        enough = min(map(len, sides)) >= count("fewest", fewest, at_least=2)
        (kept.append((kind, name, sides)) if enough else small.append(f"{kind} {name}"))
    return Sliced(slices=_measured(kept, level), too_small=tuple(small))


def deciles(values: ArrayLike) -> NDArray[np.str_]:
    """The tenth of all records that each belongs to, with its ends.

    Equal values share a tenth, so that many equal ones make fewer and larger parts.

    >>> deciles([0.1, 0.9] * 10).tolist()[:2]
    ['01 of 2 (0.1 to 0.1)', '02 of 2 (0.9 to 0.9)']
    """
    numbers = float_array("values", values)
    if numbers.ndim != 1:
        raise InputError(f"values must be one number for each record, got shape {numbers.shape}")
    edges = np.unique(np.quantile(numbers, np.arange(1, 10) / 10, method="higher"))
    present, part = np.unique(np.searchsorted(edges, numbers, side="right"), return_inverse=True)
    names = []
    for place in range(len(present)):
        own = numbers[part == place]
        ends = f"{own.min():.4g} to {own.max():.4g}"
        names.append(f"{place + 1:02d} of {len(present)} ({ends})")
    return np.array(names)[part]


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values: the k-th smallest of m times m − k + 1, made monotone.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = float_array("p_values", p_values)
    order = np.argsort(values, kind="stable")
    raised = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(raised, 1.0)
    return corrected


def _parts(by: Mapping[str, ArrayLike], records: int) -> Iterator[tuple[str, str, Flags]]:
    for kind, given in by.items():
        names: Array = np.asarray(given)
        if names.shape != (records,):
            raise InputError(
                f"{kind} must name a slice for each of {records} records, got {names.shape}"
            )
        for name in np.unique(names):
            yield kind, str(name), names == name


def _measured(
    kept: list[tuple[str, str, tuple[Floats, Floats]]], level: float
) -> tuple[Slice, ...]:
    if not kept:
        return ()
    p_values = [_p_value(*sides) for _, _, sides in kept]
    simultaneous_level = 1 - (1 - level) / len(kept)
    return tuple(
        Slice(
            by=kind,
            name=name,
            members=len(sides[0]),
            others=len(sides[1]),
            auc=auc(*sides, confidence=simultaneous_level),
            p_value=p_value,
            corrected=float(corrected),
            leaks=bool(corrected <= 1 - level),
        )
        for (kind, name, sides), p_value, corrected in zip(
            kept, p_values, holm(p_values), strict=True
        )
    )


def _p_value(members: Floats, others: Floats) -> float:
    if np.ptp(np.concatenate([members, others])) == 0:  # the normal approximation has no variance
        return 1.0
    return float(stats.mannwhitneyu(members, others, alternative="greater").pvalue)
