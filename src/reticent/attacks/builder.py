"""How an attack is built by name: what it needs, and the function that makes it.

Each attack's file ends with its builders; ``attacks.registry`` has a line for each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from reticent.attacks.attack import Attack

if TYPE_CHECKING:
    from reticent.attacks.context import AttackContext


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
        inside = {Need.WEIGHTS, Need.HEAD, Need.RELEASE, Need.MEANS} & set(self.needs)
        return known.model if inside else known.view(known.target)


def with_shadows(build: Callable[[AttackContext], Attack[Any]], *more: Need) -> AttackBuilder:
    """An attack that trains on shadow models of the adversary's own records."""
    return AttackBuilder(needs=(Need.SCORES, Need.FEATURES, Need.SHADOW, *more), build=build)


def with_online_shadows(
    build: Callable[[AttackContext], Attack[Any]], *more: Need
) -> AttackBuilder:
    """An attack whose shadow models see random halves of the scored records themselves."""
    return AttackBuilder(needs=(Need.SCORES, Need.FEATURES, *more), build=build, online=True)
