"""One interface: a target and records in, a score for each record out.

What the adversary knows beforehand (shadow models, a population, augmentations) is given to the
attack when it is built. No attack is ever told whether a record that it scores was a member.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from reticent.arrays import Floats
from reticent.attacks.records import Records
from reticent.attacks.targets import Target, target_of
from reticent.attacks.threat import Threat
from reticent.validation import InputError, finite, float_array

Attacked = TypeVar("Attacked")


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """The larger a score, the more its record looks like a member."""

    attack: str
    threat: Threat
    values: Floats
    decides_at: float | None = None
    """Above it the attack says "member"; None where it leaves the threshold to others."""
    notes: tuple[str, ...] = ()
    """What a reader of the scores must know: a selection, a fallback, a failure."""

    def __post_init__(self) -> None:
        """One finite number for each record."""
        values = float_array("scores", self.values)
        if values.ndim != 1:
            raise InputError(f"scores must be one number for each record, got {values.shape}")
        if self.decides_at is not None:
            finite("decides_at", self.decides_at)
        object.__setattr__(self, "values", values)

    def __len__(self) -> int:
        return len(self.values)


class Attack(ABC, Generic[Attacked]):
    """A way to tell members: its name, its threat model, and ``scores``."""

    threat: Threat

    @property
    @abstractmethod
    def name(self) -> str:
        """What stands in tables; most attacks set it once for the class."""

    @abstractmethod
    def scores(self, target: Attacked, records: Records) -> Scores:
        """A score for each record."""


class ScoreAttack(Attack[Any]):
    """An attack that asks the target for probabilities: any model will do (``target_of``)."""

    @property
    def decides_at(self) -> float | None:
        """Above it the attack says "member"; None where it leaves the threshold to others."""
        return None

    def scores(self, target: Any, records: Records) -> Scores:
        """A score for each record, from what the target answers."""
        found = target_of(target)
        return Scores(
            attack=self.name,
            threat=replace(self.threat, access=found.access),
            values=self._values(found, records),
            decides_at=self.decides_at,
            notes=self._notes(found, records),
        )

    @abstractmethod
    def _values(self, target: Target, records: Records) -> Floats:
        """The scores."""

    def _notes(self, target: Target, records: Records) -> tuple[str, ...]:  # noqa: ARG002
        return ()
