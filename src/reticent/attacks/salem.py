"""Three adversaries that know less and less (Salem et al. 2019).

1: one shadow model on data like the target's. 2: one on other data, perhaps with other classes. 3:
none at all. The first two see the three largest probabilities, sorted, and no label, so one network
serves all classes and any number of them.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

import numpy as np

from reticent.arrays import ArrayLike, Floats
from reticent.attacks import attack, lira, metric, shadow_network
from reticent.attacks.records import Records
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import Access, Target, Threat
from reticent.validation import InputError, count, real

Data = Literal["same", "other"]

SALEM: Final = shadow_network.NetworkRecipe()
TOP: Final = 3
_ADVERSARY: Final[dict[str, tuple[int, str]]] = {
    "same": (1, "a shadow model on data of the same kind"),
    "other": (2, "a shadow model on other data"),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class SalemAttack(attack.ScoreAttack):
    """Adversaries 1 and 2: a network on the three largest probabilities; above 0: member.

    Args:
        shadows: One model; with several, all their answers are learnt from.
        data: Whether the shadow's data are the "same" as the target's in kind (adversary 1) or
            "other" data (adversary 2), which may have other inputs and classes.
        recipe: Of the network.
        seed: Of the choice of rows and of the network's initial weights.
    """

    shadows: Shadows
    data: Data = "same"
    recipe: shadow_network.NetworkRecipe = SALEM
    seed: int = 0
    threat: Threat = field(init=False)

    def __post_init__(self) -> None:
        """Known words only; the threat follows."""
        lira.one_of("data", self.data, ("same", "other"))
        threat = Threat(access=Access.SCORES, knows=(_ADVERSARY[self.data][1],))
        object.__setattr__(self, "threat", threat)

    @property
    def name(self) -> str:
        """With the number of the adversary."""
        return f"Salem, adversary {_ADVERSARY[self.data][0]}"

    @property
    def decides_at(self) -> float:
        """Even odds: the attack network's output ½."""
        return 0.0

    def _values(self, target: Target, records: Records) -> Floats:
        return self._network.log_odds(largest(target.probabilities(records.inputs)))

    @cached_property
    def _network(self) -> shadow_network.MembershipNetwork:
        rows = shadow_network.shadow_rows(self.shadows, seed=self.seed)
        return shadow_network.trained_network(
            largest(rows.probabilities), rows.inside, recipe=self.recipe, seed=self.seed
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SalemThreshold(attack.ScoreAttack):
    """Adversary 3: the largest probability against those of random inputs; above 0: member.

    Both are compared as log(p/(1 − p)): the same order and the same decisions, without ties next
    to 1.

    Args:
        random_inputs: Inputs that nobody trained on, such as ``FeatureSpace.random`` draws.
        top: t, a percentage: the threshold is passed by t % of the random inputs.
    """

    random_inputs: ArrayLike
    top: float = 10.0
    name = "Salem, adversary 3"
    threat = Threat(access=Access.SCORES, knows=("the form of an input",))

    def __post_init__(self) -> None:
        """A percentage, and inputs to take it of."""
        if not 0 < real("top", self.top) < 100:
            raise InputError(f"top must be a percentage between 0 and 100, got {self.top}")
        count("number of random_inputs", len(np.asarray(self.random_inputs)))

    @property
    def decides_at(self) -> float:
        """The threshold is taken off the scores."""
        return 0.0

    def _values(self, target: Target, records: Records) -> Floats:
        threshold = np.percentile(_confidence(target, self.random_inputs), 100 - self.top)
        return np.asarray(_confidence(target, records.inputs) - threshold)


def largest(probabilities: Floats) -> Floats:
    """The three largest of each row, falling; 0 where there are fewer classes.

    >>> largest(np.array([[0.3, 0.7], [0.6, 0.4]])).tolist()
    [[0.7, 0.3, 0.0], [0.6, 0.4, 0.0]]
    """
    falling = -np.sort(-probabilities, axis=1)[:, :TOP]
    return np.pad(falling, ((0, 0), (0, TOP - falling.shape[1])))


def _confidence(target: Target, inputs: ArrayLike) -> Floats:
    logits = target.logits(inputs)
    return metric.METRICS["confidence"](logits, np.zeros(len(logits), dtype=np.int64))


SALEM_ATTACK = attack.with_shadows(
    lambda known: SalemAttack(shadows=known.network_shadows, seed=known.seed)
)
