"""The document of one comparison: every place for noise on one data set, at one (ε, δ)."""

from pathlib import Path
from typing import Final, Literal

from reticent.results import audit, reading, value
from reticent.results.attack import Attack, Interval
from reticent.results.by_class import ByClass, lost_classes
from reticent.results.table import Table

NO_CLAIM: Final = "none"
"""In the place of a grade: no ε follows from it."""
RECALLS: Final = ("balanced", "lowest recall")
"""Columns: the mean recall of the classes, and the class that is found least often."""


class Certified(value.Value):
    """Which queries keep their right class within a radius: nothing about training records."""

    accuracy: Interval
    """The share of queries that are right and certified so far."""
    radius: float
    confidence: float
    """With which the certificate of one query holds."""


class Protection(value.Value):
    """One way to a protected model: what it promises, how useful it is, what was tried on it."""

    recipe: str
    mechanism: str
    place: str
    """Where the noise goes."""
    claim: audit.Claim | None
    """None where nothing is promised about records."""
    accuracy: Interval
    """Mean over the draws; records and draws both count for its limits."""
    by_class: ByClass | None = None
    """Recalls over the draws, with what each class loses."""
    draws: int
    seconds: float
    """Of one release."""
    attacks: tuple[Attack, ...]
    """On the first draw."""
    certified: Certified | None = None

    @property
    def name(self) -> str:
        """The recipe, and that δ is 0 where it is."""
        pure = self.claim is not None and not self.claim.delta > 0
        return f"{self.recipe}, δ = 0" if pure else self.recipe

    @property
    def strongest(self) -> Attack:
        """The attack that found most."""
        return max(self.attacks, key=lambda attack: attack.auc.value)


class Protections(value.Value):
    """All of them, beside the head without protection."""

    version: Literal["reticent-protections/1"] = "reticent-protections/1"
    name: str
    private: int
    test: int
    features: int
    classes: int
    epsilon: float
    delta: float
    relation: str
    unprotected: Interval
    unprotected_by_class: ByClass | None = None
    unprotected_attacks: tuple[Attack, ...]
    rows: tuple[Protection, ...]
    skipped: dict[str, str]
    """Those that could not be asked for these numbers, and why."""
    notes: tuple[str, ...]

    @property
    def by_accuracy(self) -> tuple[Protection, ...]:
        """All rows, the one with the largest test accuracy first."""
        return tuple(sorted(self.rows, key=lambda row: -row.accuracy.value))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Of each protection that loses classes, which."""
        lost = {
            row.name: lost_classes(self.unprotected_by_class, row.by_class) for row in self.rows
        }
        return tuple(f"{name}: {text}" for name, text in lost.items() if text)

    def table(self) -> Table:
        """Rows as text, the most useful first."""
        before = max(self.unprotected_attacks, key=lambda attack: attack.auc.value)
        recalls = _recalls(self.unprotected_by_class)
        free = ("none", "", "", str(self.unprotected), *recalls, str(before.auc))
        return Table(
            title=f"Protections on {self.name} at ε = {self.epsilon:g}, δ = {self.delta:g}:"
            f" {self.private:,} private records, {self.features:,} features",
            columns=("protection", "grade", "neighbours", "accuracy", *RECALLS, "AUC"),
            rows=(free, *(_shown(row) for row in self.by_accuracy)),
            notes=(*self.notes, *(f"{name}: {why}" for name, why in self.skipped.items())),
        )


def _shown(row: Protection) -> tuple[str, ...]:
    claim, certified = row.claim, row.certified
    within = (
        ""
        if certified is None
        else (f"; certified within {certified.radius:g}: {certified.accuracy.value:.3f}")
    )
    return (
        row.name,
        NO_CLAIM if claim is None else str(claim.grade),
        "" if claim is None else str(claim.relation),
        f"{row.accuracy}{within}",
        *_recalls(row.by_class),
        str(row.strongest.auc),
    )


def _recalls(by_class: ByClass | None) -> tuple[str, str]:
    """Balanced accuracy, and the class that is found least often with its recall."""
    if by_class is None:
        return "–", "–"
    worst = by_class.lowest
    return f"{by_class.balanced_accuracy.value:.3f}", f"{worst.label}: {worst.recall.value:.3f}"


def read_protections(path: Path) -> Protections:
    """The comparison of a file; grades that a file says are declared at most."""
    return reading.read_value(Protections, path, "a comparison of protections")
