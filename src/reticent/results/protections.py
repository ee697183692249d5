"""The document of one comparison: every place for noise on one data set, at one (ε, δ)."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from reticent.results.attack import Attack, Interval
from reticent.results.audit import Claim
from reticent.results.reading import read_value
from reticent.results.table import Table
from reticent.results.value import Value

PROTECTIONS: Final = "reticent-protections/1"


class Protection(Value):
    """One way to a protected model: what it promises, how useful it is, what was tried on it."""

    recipe: str
    mechanism: str
    place: str
    """Where the noise goes."""
    claim: Claim
    accuracy: Interval
    """Mean over the draws; records and draws both count for its limits."""
    draws: int
    seconds: float
    """Of one release."""
    attacks: tuple[Attack, ...]
    """On the first draw."""

    @property
    def strongest(self) -> Attack:
        """The attack that found most."""
        return max(self.attacks, key=lambda attack: attack.auc.value)


class Protections(Value):
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
    unprotected_attacks: tuple[Attack, ...]
    rows: tuple[Protection, ...]
    skipped: dict[str, str]
    """Those that could not be asked for these numbers, and why."""
    notes: tuple[str, ...]

    @property
    def by_accuracy(self) -> tuple[Protection, ...]:
        """The most useful first."""
        return tuple(sorted(self.rows, key=lambda row: -row.accuracy.value))

    def table(self) -> Table:
        """Rows as text, the most useful first."""
        before = max(self.unprotected_attacks, key=lambda attack: attack.auc.value)
        free = ("none", "", "", "", str(self.unprotected), str(before.auc))
        return Table(
            title=f"Protections on {self.name} at ε = {self.epsilon:g}: {self.private:,} private"
            f" records, {self.features:,} features",
            columns=("protection", "grade", "δ", "neighbours", "accuracy", "AUC"),
            rows=(free, *(_shown(row) for row in self.by_accuracy)),
            notes=(*self.notes, *(f"{name}: {why}" for name, why in self.skipped.items())),
        )


def _shown(row: Protection) -> tuple[str, ...]:
    return (
        row.recipe,
        str(row.claim.grade),
        f"{row.claim.delta:g}",
        str(row.claim.relation),
        str(row.accuracy),
        str(row.strongest.auc),
    )


def read_protections(path: Path) -> Protections:
    """The comparison of a file; grades that a file says are declared at most."""
    return read_value(Protections, path, "a comparison of protections")
