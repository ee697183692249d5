"""One attack, measured: every figure with its interval, and a verdict that can be wrong.

- Where the attack leaves its threshold open (``Scores.decides_at`` is None), half of the records,
  drawn by a seed, choose the threshold that maximises ½(TPR + TNR), and the rates are measured on
  the other half. The best threshold on the measured records themselves would find a leak in noise.
- Intervals hold one by one. The verdict looks at several of them, so it takes each at a confidence
  of 1 − (1 − confidence)/m for m of them (Bonferroni): with probability ``confidence`` at least, it
  does not find a leak where there is none. DeLong's variance is too small where one side has few
  records (5 of them: a limit of 99.9 % fails in 2 % of all cases), so an AUC counts where Mann and
  Whitney's test finds it too, which knows its variance under "no leak".
- Where it finds none, it says what so many records would have shown with power .95.

``write_scores`` writes scores of single records as a table, CSV or parquet. Such a file says who
may have been a member: it can be read by its owner alone.
"""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from reticent.arrays import ArrayLike, Flags, Floats
from reticent.attacks import Scores, Threat, metric
from reticent.audit.intervals import smallest_auc, smallest_leakage
from reticent.audit.metrics import Measured, auc, balanced, leakage, precision, tpr_at_fpr
from reticent.data.cells import no_formula
from reticent.files import write_atomic
from reticent.randomness import seeded
from reticent.validation import InputError, count, open_probability

FPRS = (0.01, 0.001)
"""False positive rates at which the TPR is asked for."""
POWER = 0.95
"""The chance with which an effect named beside "no leak found" would have been found."""


@dataclass(frozen=True, kw_only=True)
class AttackReport:
    """What an attack finds out, with confidence intervals."""

    attack: str
    threat: Threat
    notes: tuple[str, ...]
    members: int
    others: int
    confidence: float
    auc: Measured
    threshold: float
    """Above it a record is called a member in the next three figures."""
    balanced_accuracy: Measured
    leakage: Measured
    """TPR − FPR."""
    precision: Measured | None
    """At this ratio of members to others; None where nobody is called a member."""
    tpr_at_fpr: dict[float, Measured]
    """By the FPR; those that so few non-members do not allow are in ``refused``."""
    refused: tuple[str, ...]
    found: tuple[str, ...]
    """Limits that guessing would not reach, corrected for looking at several figures."""
    smallest_auc: float
    smallest_leakage: float

    @property
    def leaks(self) -> bool:
        """Whether any figure is not that of guessing."""
        return bool(self.found)

    @property
    def outcome(self) -> str:
        """Whether a leak was found, in words."""
        return "leak found" if self.leaks else "no leak found"

    @property
    def verdict(self) -> str:
        """One line; where nothing was found, with what would have been."""
        if self.leaks:
            return f"{self.outcome} by {self.attack}: {', '.join(self.found)}"
        return (
            f"{self.outcome} by {self.attack}: AUC {self.auc}; {self.members:,} members and"
            f" {self.others:,} others would have shown {self._smallest()} with power {POWER:g}"
        )

    def row(self) -> dict[str, str]:
        """The figures by the names of their columns, as one row of a table."""
        cells = {
            "attack": self.attack,
            "threat": str(self.threat),
            "AUC": str(self.auc),
            "balanced accuracy": str(self.balanced_accuracy),
            "TPR − FPR": str(self.leakage),
            "precision": "–" if self.precision is None else str(self.precision),
        }
        rates = {rate_name(fpr): str(rate) for fpr, rate in self.tpr_at_fpr.items()}
        return cells | rates | {"verdict": self.verdict}

    def __str__(self) -> str:
        """One line: name, threat, figures, outcome."""
        left = ("attack", "threat", "verdict")
        figures = [f"{name} {cell}" for name, cell in self.row().items() if name not in left]
        return f"{self.attack} ({self.threat}): {', '.join(figures)}; {self.outcome}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a JSON file."""
        plain = {name: _plain(value) for name, value in vars(self).items() if name != "tpr_at_fpr"}
        rates = {f"{fpr:g}": rate.to_dict() for fpr, rate in self.tpr_at_fpr.items()}
        return plain | {"tpr_at_fpr": rates, "leaks": self.leaks, "verdict": self.verdict}

    def _smallest(self) -> str:
        sizes = {"an AUC": self.smallest_auc, "a TPR − FPR": self.smallest_leakage}
        shown = [f"{name} of {size:.3f}" for name, size in sizes.items() if size < math.inf]
        return " or ".join(shown) or "nothing at all, being too few,"


def measured_attack(
    scores: Scores,
    members: ArrayLike,
    *,
    fprs: Sequence[float] = FPRS,
    confidence: float = 0.95,
    seed: int = 0,
) -> AttackReport:
    """All figures of one attack.

    Args:
        scores: What the attack gave, without knowing the members.
        members: True for each scored record that was a member.
        fprs: False positive rates at which the TPR is asked for.
        confidence: Of every interval, and of the verdict.
        seed: Of the half that chooses the threshold, where the attack has none of its own.
    """
    inside = _mask(members, len(scores))
    open_probability("confidence", confidence)
    threshold, measured, notes = _threshold(scores, inside, seed)
    sides = _Sides.of(scores.values, inside)
    parts = _Sides.of(scores.values[measured], inside[measured])
    rates, refused = _allowed(sides, fprs, confidence)
    corrected = 1 - (1 - confidence) / (2 + len(rates))
    return AttackReport(
        attack=scores.attack,
        threat=scores.threat,
        notes=(*scores.notes, *notes),
        members=len(sides.members),
        others=len(sides.others),
        confidence=confidence,
        auc=auc(*sides, confidence=confidence),
        threshold=threshold,
        **_decided(parts, threshold, confidence),
        tpr_at_fpr=rates,
        refused=refused,
        found=_found(sides, parts, threshold, tuple(rates), corrected),
        smallest_auc=smallest_auc(*sides.sizes, confidence=corrected, power=POWER),
        smallest_leakage=smallest_leakage(*parts.sizes, confidence=corrected, power=POWER),
    )


def rate_name(fpr: float) -> str:
    """The name of a column."""
    return f"TPR at {100 * fpr:g} % FPR"


class _Sides(NamedTuple):
    """Scores of members and of others."""

    members: Floats
    others: Floats

    @classmethod
    def of(cls, values: Floats, inside: Flags) -> "_Sides":
        return cls(values[inside], values[~inside])

    @property
    def sizes(self) -> tuple[int, int]:
        return len(self.members), len(self.others)


def _mask(members: ArrayLike, records: int) -> Flags:
    mask = np.asarray(members)
    if mask.dtype != np.bool_ or mask.shape != (records,):
        raise InputError(
            f"members must be true or false for each of {records} scored records, got"
            f" {mask.dtype} of shape {mask.shape}"
        )
    if min(mask.sum(), (~mask).sum()) < 2:
        raise InputError(
            f"members and others must be at least 2 each, got {mask.sum()} and {(~mask).sum()}"
        )
    return mask


def _threshold(scores: Scores, inside: Flags, seed: int) -> tuple[float, Flags, tuple[str, ...]]:
    """The threshold, the records to measure it on, and what to say about it."""
    if scores.decides_at is not None:
        return scores.decides_at, np.ones(len(inside), dtype=bool), ()
    rng = seeded("threshold half", count("seed", seed, at_least=0))
    chosen = np.zeros(len(inside), dtype=bool)
    for side in (inside, ~inside):
        rows = rng.permutation(np.flatnonzero(side))
        chosen[rows[: len(rows) // 2]] = True
    calibration = _Sides.of(scores.values[chosen], inside[chosen])
    note = (
        f"threshold from a random half of the records (seed {seed}); balanced accuracy, TPR − FPR"
        " and precision from the other half"
    )
    return metric.best_threshold(*calibration), ~chosen, (note,)


def _allowed(
    sides: _Sides, fprs: Sequence[float], confidence: float
) -> tuple[dict[float, Measured], tuple[str, ...]]:
    """TPR at each FPR that there are enough non-members for, and why not at the others."""
    rates, refused = {}, []
    for fpr in fprs:
        open_probability("fpr", fpr)
        try:
            rates[float(fpr)] = tpr_at_fpr(*sides, fpr=fpr, confidence=confidence)
        except InputError as error:
            refused.append(str(error))
    return rates, tuple(refused)


def _decided(sides: _Sides, threshold: float, confidence: float) -> dict[str, Any]:
    """The figures that take a threshold."""
    advantage = leakage(*sides, threshold=threshold, confidence=confidence)
    anyone = any((side > threshold).any() for side in sides)
    sure = precision(*sides, threshold=threshold, confidence=confidence) if anyone else None
    return {"balanced_accuracy": balanced(advantage), "leakage": advantage, "precision": sure}


def _found(
    sides: _Sides, parts: _Sides, threshold: float, fprs: tuple[float, ...], confidence: float
) -> tuple[str, ...]:
    """Limits beyond guessing, which hold together with the confidence of the report."""
    area = auc(*sides, confidence=confidence)
    sure = _p_value(sides) <= 1 - confidence
    limits = {
        "AUC": (area.low if sure else 0.0, 0.5),
        "TPR − FPR": (leakage(*parts, threshold=threshold, confidence=confidence).low, 0.0),
    }
    for fpr in fprs:
        measured = tpr_at_fpr(*sides, fpr=fpr, confidence=confidence)
        limits[rate_name(fpr)] = (measured.low, fpr)
    # Scores that point the wrong way round tell members from others all the same.
    wrong = sure and area.high < 0.5
    turned = [f"AUC ≤ {area.high:.3f}: higher scores mark non-members"] if wrong else []
    above = [f"{name} ≥ {low:.3f}" for name, (low, guess) in limits.items() if low > guess]
    return (*above, *turned)


def _p_value(sides: _Sides) -> float:
    """Two-sided, of an AUC so far from ½, were scores of members and others distributed alike."""
    if np.ptp(np.concatenate(sides)) == 0:  # no variance: nothing to tell by
        return 1.0
    return float(stats.mannwhitneyu(*sides).pvalue)


def _plain(value: object) -> object:
    if isinstance(value, Measured):
        return value.to_dict()
    if isinstance(value, Threat):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    return None if value == math.inf else value


def write_scores(
    path: str | Path,
    scores: Scores | Sequence[Scores],
    *,
    labels: ArrayLike | None = None,
    members: ArrayLike | None = None,
) -> None:
    """One row for each attack and record: attack, row, score; label and member if they are given.

    ``row`` is the number of the record, from 0. The ending of the name, .csv or .parquet, decides.
    """
    file = Path(path)
    writers = {".csv": _csv, ".parquet": _parquet}
    if file.suffix.lower() not in writers:
        raise InputError(f"path must end in .csv or .parquet, got {file.name!r}")
    table = _table([scores] if isinstance(scores, Scores) else list(scores), labels, members)
    write_atomic(file, writers[file.suffix.lower()](table), private=True)


def _table(
    scores: list[Scores], labels: ArrayLike | None, members: ArrayLike | None
) -> dict[str, list[Any]]:
    if not scores or len({len(attack_scores) for attack_scores in scores}) > 1:
        raise InputError("scores must be of one or more attacks on the same records")
    records, attacks = len(scores[0]), len(scores)
    table = {
        "attack": [attack_scores.attack for attack_scores in scores for _ in range(records)],
        "row": list(range(records)) * attacks,
        "score": np.concatenate([attack_scores.values for attack_scores in scores]).tolist(),
    }
    for name, given in (("label", labels), ("member", members)):
        if given is not None:
            table[name] = _column(name, given, records) * attacks
    return table


def _column(name: str, given: ArrayLike, records: int) -> list[Any]:
    values = np.asarray(given)
    if values.shape != (records,):
        raise InputError(f"{name}s must be one for each of {records} records, got {values.shape}")
    if name == "member" and values.dtype != np.bool_:
        raise InputError(f"members must be true or false, got an array of {values.dtype}")
    cells: list[Any] = values.tolist()
    return cells


def _csv(table: dict[str, list[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(no_formula, table))
    rows = zip(*table.values(), strict=True)
    writer.writerows(map(no_formula, row) for row in rows)  # floats by repr: nothing is rounded
    return text.getvalue().encode()


def _parquet(table: dict[str, list[Any]]) -> bytes:
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise InputError(
            "pyarrow must be installed to write parquet: pip install 'reticent[tables]'"
        ) from None
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(table), sink)
    return bytes(sink.getvalue().to_pybytes())
