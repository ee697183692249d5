"""One interface: a target and records in, a score for each record out.

What the adversary knows beforehand (shadow models, a population, augmentations) is given to the
attack when it is built. No attack is ever told whether a record that it scores was a member.

``AttackBuilder`` makes an attack by name, and says what it needs. Each attack's file ends with its
builders; ``attacks.registry`` has a line for each of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from reticent.arrays import Floats
from reticent.attacks.records import Records
from reticent.attacks.targets import Target, Threat, target_of
from reticent.validation import InputError, finite, float_array

if TYPE_CHECKING:
    from reticent.attacks.context import AttackContext

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
        attacked = target_of(target)
        return Scores(
            attack=self.name,
            threat=replace(self.threat, access=attacked.access),
            values=self._values(attacked, records),
            decides_at=self.decides_at,
            notes=self._notes(attacked, records),
        )

    @abstractmethod
    def _values(self, target: Target, records: Records) -> Floats:
        """The scores."""

    def _notes(self, target: Target, records: Records) -> tuple[str, ...]:  # noqa: ARG002
        return ()


class Need(Enum):
    """What an attack cannot do without, beside labelled records."""

    SCORES = "probabilities, and labels alone are shown"
    FEATURES = "features of the records, to train shadow models on: rows of numbers"
    QUERIES = "answers to other inputs than the records', and only these were answered"
    SHADOW = "records of the adversary's own: give shadow data"
    POPULATION = "records of the population: give population or shadow data"
    WEIGHTS = "the weights of a softmax or MLP head, or of a torch module"
    HEAD = "the weights of a softmax or MLP head"
    RELEASE = "released weights of a softmax head"
    MEANS = "released class means"


@dataclass(frozen=True, kw_only=True)
class AttackBuilder:
    """One attack of the registry: what it needs, and the function that makes it."""

    build: Callable[[AttackContext], Attack[Any]]
    needs: tuple[Need, ...] = ()
    online: bool = False
    """Whether its shadows see the scored records, so that it is built anew for each target."""
    summary: str = ""
    """A line for help texts, where a plug-in has one; ours stand in the registry."""

    def lacks(self, known: AttackContext) -> str | None:
        """What is missing, in words; None where nothing is."""
        return next((need.value for need in self.needs if not known.has(need)), None)

    def attacked(self, known: AttackContext) -> Any:
        """The model itself for attacks that need it, or what is seen of it."""
        return known.model if self.looks_inside else known.view(known.target)

    @property
    def looks_inside(self) -> bool:
        """Whether it needs the model itself, and not only its answers."""
        inside = {Need.WEIGHTS, Need.HEAD, Need.RELEASE, Need.MEANS}
        return not inside.isdisjoint(self.needs)


def with_shadows(build: Callable[[AttackContext], Attack[Any]], *more: Need) -> AttackBuilder:
    """An attack that trains on shadow models of the adversary's own records."""
    return AttackBuilder(needs=(Need.SCORES, Need.FEATURES, Need.SHADOW, *more), build=build)


def with_online_shadows(
    build: Callable[[AttackContext], Attack[Any]], *more: Need
) -> AttackBuilder:
    """An attack whose shadow models see random halves of the scored records themselves."""
    return AttackBuilder(needs=(Need.SCORES, Need.FEATURES, *more), build=build, online=True)
