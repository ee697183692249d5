"""Which attack is the strongest, found out on models of the adversary's own.

Choosing an attack by what it found on the target would look at the records that are judged with it.
The shadows that online attacks train are targets as well: which records each of them saw is known.
"""

from collections.abc import Sequence

import numpy as np

from reticent.attacks.context import AttackContext
from reticent.attacks.registry import ATTACKS, build_attack
from reticent.audit import auc
from reticent.validation import InputError


def strengths(
    known: AttackContext, attacks: Sequence[str], *, targets: int = 4
) -> dict[str, float]:
    """The mean AUC of each attack over the first shadow of so many pairs, strongest first."""
    if len(known.online) < 2 * targets + 2:
        raise InputError(
            f"shadows must be at least {2 * targets + 2} for {targets} shadow targets, got"
            f" {len(known.online)}"
        )
    means = {name: float(np.mean(_found(known, name, targets))) for name in attacks}
    return dict(sorted(means.items(), key=lambda pair: -pair[1]))


def _found(known: AttackContext, name: str, targets: int) -> list[float]:
    found = []
    for place in range(0, 2 * targets, 2):
        facing, inside = known.before_shadow(place), known.online.inside[place]
        target = ATTACKS.named(name).attacked(facing)
        values = build_attack(name, facing).scores(target, known.records).values
        found.append(auc(values[inside], values[~inside]).value)
    return found
