"""What a guarantee leaves to attacks that tell members from others: one rule for every reader."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import special

from reticent.guarantee import Relation
from reticent.guarantee.rounding import upper_text
from reticent.mechanisms.profiles import gaussian
from reticent.results.attack import Attack
from reticent.results.audit import Claim

_ONCE = "for one record added or removed"
_TWICE = "for one record in place of another"


class Attacked(Protocol):
    """A release with the attacks on it: a row of a document, or what single commands found."""

    @property
    def claim(self) -> Claim:
        """The (ε, δ) that the attacked release promises."""

    @property
    def mechanism(self) -> str:
        """The name of the noise in the attacked release."""

    @property
    def attacks(self) -> tuple[Attack, ...]:
        """Those on the release itself."""


def allowed_auc(release: Attacked, *, steps: int = 1) -> float:
    """The area under the best ROC curve that the guarantee leaves: Φ(μ/√2) for Gaussian noise.

    Else the area under the ceiling of (ε, δ), which is above every curve: lines from (0, δ) to
    (x, 1 − x) with x = (1 − δ)/(1 + e^ε), and on to (1 − δ, 1). ``steps`` of neighbours multiply μ
    and ε, and two of them δ by 1 + e^ε.
    """
    epsilon, delta = release.claim.epsilon, release.claim.delta
    if release.mechanism == "gaussian":
        return float(special.ndtr(steps * gaussian.shift(epsilon, delta) / math.sqrt(2)))
    if steps > 1 and delta > 0:
        delta = min(delta * (1 + math.exp(min(epsilon, 700.0))), 1.0)
    corner = (1 - delta) * float(special.expit(-steps * epsilon))
    corners = np.array([[0.0, delta], [corner, 1 - corner], [1 - delta, 1.0], [1.0, 1.0]])
    return float(np.trapezoid(corners[:, 1], corners[:, 0]))


@dataclass(frozen=True, kw_only=True)
class AttackAllowance:
    """The attack that shows most on a release, beside what the guarantee leaves it."""

    attack: Attack | None
    """The one whose AUC has the highest low end; None where there was none."""
    once: float
    """The largest AUC for neighbours of the guarantee's own relation."""
    most: float
    """The largest AUC of an attack on parts of fixed sizes; one above it contradicts the claim."""

    @property
    def needed(self) -> bool:
        """Whether the attack shows more than one step between neighbours allows."""
        return self.attack is not None and self.attack.auc.low > self.once

    @property
    def broken(self) -> bool:
        """Whether the attack contradicts the guarantee."""
        return self.attack is not None and self.attack.auc.low > self.most

    @property
    def limit(self) -> str:
        """The AUC that the attack is judged by, rounded up, and of what it is one."""
        twice = self.needed and self.most > self.once
        return f"{upper_text(self.most, 3)} {_TWICE}" if twice else upper_text(self.once, 3)

    @property
    def about(self) -> str:
        """What follows the AUC of one step, where that alone would contradict what is seen."""
        return f" {_ONCE}, and {self.limit}" if self.needed and self.most > self.once else ""

    @property
    def note(self) -> str | None:
        """What to think of an attack beyond one step and within two; None of any other."""
        if self.attack is None or self.broken or not self.needed:
            return None
        return (
            f"{self.attack.name} gets more out of the recommended release than its guarantee allows"
            f" {_ONCE} (AUC {self.attack.auc}, at most {upper_text(self.once, 3)}), but not more"
            f" than it allows {_TWICE} (at most {upper_text(self.most, 3)}), which is what an"
            " attack on members and others of fixed numbers tries. Members and others that are not"
            " drawn alike, such as with a class missing on one side, look like this, too."
        )


def attack_allowance(release: Attacked) -> AttackAllowance:
    """What the guarantee of a release leaves.

    Members and others are parts of fixed sizes: a member stands where one of the others might.
    That is one step for replace-one, and two for add-remove.
    """
    steps = 2 if release.claim.relation == Relation.ADD_REMOVE else 1
    return AttackAllowance(
        attack=max(release.attacks, key=lambda one: one.auc.low, default=None),
        once=allowed_auc(release),
        most=allowed_auc(release, steps=steps),
    )
