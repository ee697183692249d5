"""What is there for an adversary: the target, what is shown of it, shadow models, populations."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from reticent.attacks.attack import Attack, Need
from reticent.attacks.records import Records
from reticent.attacks.shadow_models import ShadowPlan, is_convex, shadows_like
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import LabelTarget, ModelTarget, RecordedTarget, Target, TorchTarget
from reticent.protect import Release
from reticent.training import MLPHead, SoftmaxHead

NETWORK_SHADOWS: Final = 4
"""Networks learn from the answers of so many shadows: more take minutes and teach them little."""

ProgressCallback = Callable[[str, int, int], object]
"""Told what is being done, how much of it is done, and how much there is."""
Alike = Callable[[Target], Target]
"""What an adversary sees of a model: all of it, or a part."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AttackContext:
    """What is there for an adversary; who was a member among ``records`` is not in here."""

    target: Target
    view: Alike
    """What is shown of the target, and of shadow models alike."""
    full_access: bool
    """Whether everything is shown, weights included."""
    records: Records
    known: Records
    """The training records, from which the strongest adversary has each but the one it asks for."""
    shadow: Records | None
    population: Records | None
    shadows: ShadowPlan
    progress: ProgressCallback

    @property
    def seed(self) -> int:
        """Of everything that an attack draws."""
        return self.shadows.seed

    @property
    def model(self) -> Any:
        """The model itself where it is seen, else None."""
        if isinstance(self.target, TorchTarget):
            return self.target
        return self.target.model if isinstance(self.target, ModelTarget) else None

    def has(self, need: Need) -> bool:
        """Whether an attack with this need is possible."""
        return _CHECKS[need](self)

    @property
    def has_shadows(self) -> bool:
        """Whether any attack had shadow models trained."""
        return bool({"offline", "network_shadows", "online"} & self.__dict__.keys())

    @cached_property
    def offline(self) -> Shadows:
        """Shadows that saw records of the adversary's own alone."""
        assert self.shadow is not None
        return self._trained(self.shadow, "shadow models")

    @cached_property
    def network_shadows(self) -> Shadows:
        """The first of them, for attacks that train a network on their answers."""
        if "offline" in self.__dict__ or self.shadows.count <= NETWORK_SHADOWS:
            return self.offline.chosen(range(min(NETWORK_SHADOWS, len(self.offline))))
        first = replace(self, shadows=replace(self.shadows, count=NETWORK_SHADOWS))
        return first.offline

    @cached_property
    def online(self) -> Shadows:
        """Shadows on random halves of the scored records themselves, whoever was a member."""
        return self._trained(self.records, "shadow models, online")

    def before_shadow(self, place: int) -> "AttackContext":
        """The same adversary before one of its own online shadows.

        The shadow that saw the other half of the records would give the answer away: both leave.
        """
        rest = [other for other in range(len(self.online)) if other // 2 != place // 2]
        known = replace(self, target=self.online.models[place])
        known.__dict__["online"] = self.online.chosen(rest)
        known.__dict__["offline_attacks"] = self.offline_attacks
        return known

    @cached_property
    def offline_attacks(self) -> dict[str, Attack[Any]]:
        """Attacks that were built on offline shadows: once for all targets."""
        return {}

    @property
    def others(self) -> Records:
        """Records of the population, or the adversary's own where none were given."""
        population = self.shadow if self.population is None else self.population
        assert population is not None
        return population

    @property
    def own(self) -> Records:
        """Records of the adversary's own."""
        assert self.shadow is not None
        return self.shadow

    @property
    def spread(self) -> float:
        """The root mean square of how far a feature lies from its mean."""
        return float(np.sqrt(np.var(self.records.inputs.astype(np.float64), axis=0).mean()))

    def _trained(self, pool: Records, stage: str) -> Shadows:
        def on_done(ready: int) -> None:
            self.progress(stage, ready, self.shadows.count)

        shadows = shadows_like(self.target, pool, self.shadows, on_done=on_done)
        return replace(shadows, models=[self.view(model) for model in shadows.models])


_CHECKS: Final[dict[Need, Callable[[AttackContext], bool]]] = {
    Need.SCORES: lambda known: not isinstance(known.view(known.target), LabelTarget),
    Need.FEATURES: lambda known: _are_rows(known.records),
    Need.QUERIES: lambda known: (
        _are_rows(known.records) and not isinstance(known.target, RecordedTarget)
    ),
    Need.SHADOW: lambda known: known.shadow is not None,
    Need.POPULATION: lambda known: (known.population or known.shadow) is not None,
    Need.WEIGHTS: lambda known: (
        known.full_access and (isinstance(known.target, TorchTarget) or _is_head(known.model))
    ),
    Need.HEAD: lambda known: known.full_access and _is_head(known.model),
    Need.RELEASE: lambda known: known.full_access and is_convex(known.model),
    Need.MEANS: lambda known: known.full_access and _is_means(known.model),
}


def _are_rows(records: Records) -> bool:
    return records.inputs.ndim > 1 and records.inputs.dtype.kind in "biuf"


def _is_head(model: Any) -> bool:
    return isinstance(model, (SoftmaxHead, MLPHead)) or is_convex(model)


def _is_means(model: Any) -> bool:
    means = model.recipe.released_means(model.tensors) if isinstance(model, Release) else None
    return means is not None and means.bound is None
