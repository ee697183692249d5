"""The attacks of a run: which one is the strongest, and what all of them find on each model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from reticent.attacks import context, released_weights
from reticent.attacks.registry import ATTACKS
from reticent.audit import attack_plan, ceiling
from reticent.audit.attack_run import Attacked, adversary, attacked, checked_blindly, strengths
from reticent.parallel import map_tasks
from reticent.protect import Release
from reticent.results import Attack, Exposed, Exposure, conversions
from reticent.run.spec import RunData, RunSpec

CANDIDATES: Final = ("loss", "alm", "lira-online", "rmia-online")
"""All of them see probabilities alone."""
EXACT: Final = "released-weights"
ALARMS: Final = 0.01
Task = tuple[Any, tuple[str, ...]]
"""A release, and the names of attacks."""
_LISTED: Final = 20
_WARNING: Final = (
    "Computed from the private records without noise. Who is most exposed is itself private: to"
    " publish it would need a budget of its own."
)


def candidates() -> tuple[str, ...]:
    """The attacks of a run: those above, and plug-ins that look at answers alone."""
    return (*CANDIDATES, *(one for one in ATTACKS.others if not ATTACKS[one].looks_inside))


@dataclass(frozen=True, kw_only=True, eq=False)
class Adversaries:
    """Attacks on any model of the run, with the same records on both sides."""

    data: RunData
    spec: RunSpec
    progress: context.ProgressCallback

    def on_unprotected(
        self, model: Any, attacks: tuple[str, ...] | None = None
    ) -> tuple[Attacked, dict[str, float]]:
        """What black-box attacks find, and how strong each was on shadow targets."""
        made = candidates() if attacks is None else attacks
        plan = self._plan(made)
        known = self._adversary(model, plan)
        by_strength = strengths(known, made)
        return checked_blindly(attacked(known, plan, self._inside), seed=plan.seed), by_strength

    def on_releases(self, tasks: Sequence[Task]) -> list[tuple[Attack, ...]]:
        """What the attacks of each task find on its release."""
        quiet = replace(self, progress=_silent, spec=replace(self.spec, jobs=1))
        return map_tasks(
            quiet.on_release,
            tasks,
            jobs=self.spec.jobs,
            on_done=lambda ready: self.progress("attacks on releases", ready, len(tasks)),
        )

    def on_release(self, task: Task) -> tuple[Attack, ...]:
        """The attacks of one task: a release, and which attacks are made on it."""
        model, attacks = task
        plan = self._plan(attacks)
        if len(attacks) == 1:  # a point of a figure
            plan = replace(plan, shadow_count=max(plan.shadow_count // 2, 10))
        return conversions.attacks_of(attacked(self._adversary(model, plan), plan, self._inside))

    def exposure(self, model: Release, called: str) -> Exposure:
        """Which records the exact attack finds most easily; computed, not measured."""
        members = self.data.records("private")
        powers = (
            released_weights.ReleasedWeightsAttack(known=members)
            .influence(model, members)
            .power(ALARMS)
        )
        claim = model.guarantee
        most = np.argsort(-powers, kind="stable")[:_LISTED]
        stood = np.arange(len(powers)) if self.data.kept is None else self.data.kept
        return Exposure(
            release=called,
            fpr=ALARMS,
            allowed=float(ceiling(ALARMS, epsilon=claim.epsilon, delta=claim.delta)),
            powers=tuple(np.sort(powers).round(6).tolist()),
            most=tuple(
                Exposed(
                    row=int(stood[row]), label=str(members.labels[row]), power=float(powers[row])
                )
                for row in most
            ),
            warning=_WARNING,
        )

    @property
    def _inside(self) -> Any:
        members = len(self.data.private)
        return np.arange(members + len(self.data.others)) < members

    def _plan(self, attacks: tuple[str, ...]) -> attack_plan.AttackPlan:
        spec = self.spec
        return attack_plan.AttackPlan(
            attacks=attacks, shadow_count=spec.shadows, seed=spec.seed, jobs=spec.jobs
        )

    def _adversary(self, model: Any, plan: attack_plan.AttackPlan) -> context.AttackContext:
        return adversary(
            model,
            self.data.records("private"),
            self.data.records("others"),
            shadow=self.data.records("own"),
            plan=plan,
            stage=self.progress,
        )


def _silent(*_: object) -> None:
    pass
