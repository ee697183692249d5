"""The demonstration's stronger adversaries: shadow models, and everything but one record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reticent.attacks.records import Records
from reticent.attacks.released_weights import ReleasedWeightsAttack
from reticent.audit import ceiling
from reticent.audit.attack_report import rate_name
from reticent.guarantee import Guarantee
from reticent.guarantee.rounding import upper_text
from reticent.pipeline.attack_recipes import Stage
from reticent.pipeline.attacking import Attacked, AttackPlan, attack_model
from reticent.pipeline.table import Table
from reticent.protect import ReleasedHead

ALARMS = 0.01
"""The false positive rate at which powers are compared."""
UNPROTECTED = "unprotected"
BLACK_BOX, EXACT = ("loss", "lira-online"), "released-weights"


@dataclass(frozen=True, kw_only=True)
class Power:
    """The chance that the exact attack finds a record at ``ALARMS``, computed and not measured."""

    mean: float
    largest: float
    allowed: float
    """By the guarantee, for any record and any attack."""


@dataclass(frozen=True, kw_only=True)
class Stronger:
    """Both models under the same black-box attacks, and the release under the exact one."""

    unprotected: Attacked
    released: Attacked
    guarantee: Guarantee
    power: Power

    @property
    def models(self) -> dict[str, Attacked]:
        """What each is called."""
        released = f"ε ≤ {upper_text(self.guarantee.epsilon)} ({self.guarantee.grade})"
        return {UNPROTECTED: self.unprotected, released: self.released}

    def table(self, title: str) -> Table:
        """A row for each model and attack."""
        rate = rate_name(ALARMS)
        return Table(
            title=title,
            columns=("model", "attack", "AUC", rate),
            rows=tuple(
                (model, name, str(report.auc), report.row().get(rate, "–"))
                for model, found in self.models.items()
                for name, report in found.reports.items()
            ),
            notes=(
                "Intervals: 95 % for all attacks on a model together.",
                *(f"{name}: {found.threat}." for name, found in self.released.reports.items()),
                self.foretold,
            ),
        )

    @property
    def foretold(self) -> str:
        """What the exact attack will find, from how far each record moves the weights."""
        return (
            f"At {100 * ALARMS:g} % false alarms the exact attack finds a record with probability"
            f" {self.power.mean:.3f} on average and {self.power.largest:.3f} at most; the guarantee"
            f" allows {self.power.allowed:.3f}."
        )

    @property
    def verdict(self) -> tuple[str, ...]:
        """One line for each model."""
        return tuple(f"The head, {model}: {found.verdict}." for model, found in self.models.items())


def stronger(  # noqa: PLR0913 - two models, two sides, and how they are attacked
    unprotected: Any,
    released: ReleasedHead,
    members: Records,
    others: Records,
    *,
    shadows: int,
    seed: int,
    stage: Stage,
) -> Stronger:
    """LiRA on both models; on the release also the attack that knows all records but one."""

    def attacked(model: Any, called: str, names: tuple[str, ...]) -> Attacked:
        plan = AttackPlan(attacks=names, shadow_count=shadows, seed=seed, jobs=-1)
        return attack_model(
            model, members, others, plan=plan, stage=lambda what, *n: stage(f"{what}: {called}", *n)
        )

    moved = ReleasedWeightsAttack(known=members).influence(released, members)
    powers = moved.power(ALARMS)
    claim = released.guarantee
    return Stronger(
        unprotected=attacked(unprotected, UNPROTECTED, BLACK_BOX),
        released=attacked(released, "released", (*BLACK_BOX, EXACT)),
        guarantee=claim,
        power=Power(
            mean=float(np.mean(powers)),
            largest=float(np.max(powers)),
            allowed=float(ceiling(ALARMS, epsilon=claim.epsilon, delta=claim.delta)),
        ),
    )
