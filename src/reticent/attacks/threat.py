"""Who attacks: what the adversary sees of a model, and what else is known to it."""

from dataclasses import dataclass
from enum import Enum


class Access(Enum):
    """What is seen of the target."""

    SCORES = "black box: probabilities of all classes"
    TOP_SCORES = "black box: the largest probabilities only"
    ROUNDED_SCORES = "black box: rounded probabilities"
    LABELS = "black box: labels only"
    WEIGHTS = "white box: the trained weights"
    RELEASE = "white box: the released weights and the mechanism"
    STATISTICS = "released means"
    ENCODER = "the encoder's features of chosen inputs"
    GENERATOR = "black box: samples of a generative model"
    DISCRIMINATOR = "white box: the discriminator of a generative model"


@dataclass(frozen=True, kw_only=True)
class Threat:
    """Part of every attack, and printed with what it finds.

    >>> print(Threat(access=Access.SCORES, knows=("shadow data",)))
    black box: probabilities of all classes; knows: shadow data
    """

    access: Access
    knows: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The access, then the knowledge."""
        return f"{self.access.value}; knows: {', '.join(self.knows) or 'nothing else'}"
