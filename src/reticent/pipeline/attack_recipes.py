"""Every attack by name: what it needs, and how it is built from what the adversary knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, Final

import numpy as np

from reticent.attacks.attack import Attack
from reticent.attacks.displacement import DisplacementAttack
from reticent.attacks.gradients import GradientNormAttack
from reticent.attacks.label_only import BoundaryAttack, GapAttack, NoiseAttack
from reticent.attacks.lira import Lira
from reticent.attacks.metric import MetricAttack
from reticent.attacks.records import Records
from reticent.attacks.reference import ReferenceAttack
from reticent.attacks.released_means import ReleasedMeansAttack
from reticent.attacks.released_weights import ReleasedWeightsAttack
from reticent.attacks.rmia import Rmia
from reticent.attacks.salem import SalemAttack
from reticent.attacks.shadow_network import AlmAttack, ShokriAttack
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import LabelTarget, ModelTarget, Target, TorchTarget
from reticent.pipeline.recorded_target import RecordedTarget
from reticent.pipeline.shadow_models import ShadowPlan, shadows_like
from reticent.protect import ClassMeansHead, ReleasedHead, ReleasedLinear
from reticent.training import MLPHead, SoftmaxHead
from reticent.validation import InputError

NETWORK_SHADOWS: Final = 4
"""Networks learn from the answers of so many shadows: more take minutes and teach them little."""

Stage = Callable[[str, int, int], object]
"""Told what is being done, how much of it is done, and how much there is."""
Alike = Callable[[Target], Target]
"""What an adversary sees of a model: all of it, or a part."""


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Knowledge:
    """What is there for an adversary; who was a member among ``records`` is not in here."""

    target: Target
    seen: Alike
    """What is shown of the target, and of shadow models alike."""
    whole: bool
    """Whether everything is shown, weights included."""
    records: Records
    known: Records
    """The training records, from which the strongest adversary has each but the one it asks for."""
    shadow: Records | None
    population: Records | None
    shadows: ShadowPlan
    tell: Stage

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

    @cached_property
    def offline(self) -> Shadows:
        """Shadows that saw records of the adversary's own alone."""
        assert self.shadow is not None
        return self._trained(self.shadow, "shadow models")

    @cached_property
    def few(self) -> Shadows:
        """The first of them, for attacks that train a network on their answers."""
        if "offline" in self.__dict__ or self.shadows.count <= NETWORK_SHADOWS:
            return self.offline.chosen(range(min(NETWORK_SHADOWS, len(self.offline))))
        first = replace(self, shadows=replace(self.shadows, count=NETWORK_SHADOWS))
        return first.offline

    @cached_property
    def online(self) -> Shadows:
        """Shadows on random halves of the scored records themselves, whoever was a member."""
        return self._trained(self.records, "shadow models, online")

    def before_shadow(self, place: int) -> Knowledge:
        """The same adversary before one of its own online shadows.

        The shadow that saw the other half of the records would give the answer away: both leave.
        """
        rest = [other for other in range(len(self.online)) if other // 2 != place // 2]
        known = replace(self, target=self.online.models[place])
        known.__dict__["online"] = self.online.chosen(rest)
        known.__dict__["_offline_attacks"] = self._offline_attacks
        return known

    @cached_property
    def _offline_attacks(self) -> dict[str, Attack[Any]]:
        return {}

    def attack(self, name: str) -> Attack[Any]:
        """The attack of this name; one that trains on offline shadows is built once for all."""
        recipe = recipe_of(name)
        if lacking := recipe.lacks(self):
            raise InputError(f"it needs {lacking}")
        if recipe.online:
            return recipe.build(self)
        if name not in self._offline_attacks:
            self._offline_attacks[name] = recipe.build(self)
        return self._offline_attacks[name]

    @property
    def others(self) -> Records:
        """Records of the population."""
        found = self.shadow if self.population is None else self.population
        assert found is not None
        return found

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
            self.tell(stage, ready, self.shadows.count)

        shadows = shadows_like(self.target, pool, self.shadows, on_done=on_done)
        return replace(shadows, models=[self.seen(model) for model in shadows.models])


_CHECKS: Final[dict[Need, Callable[[Knowledge], bool]]] = {
    Need.SCORES: lambda known: not isinstance(known.seen(known.target), LabelTarget),
    Need.FEATURES: lambda known: _are_rows(known.records),
    Need.QUERIES: lambda known: _are_rows(known.records) and not _is_recorded(known.target),
    Need.SHADOW: lambda known: known.shadow is not None,
    Need.POPULATION: lambda known: (known.population or known.shadow) is not None,
    Need.WEIGHTS: lambda known: known.whole and (_is_torch(known) or _is_head(known.model)),
    Need.HEAD: lambda known: known.whole and _is_head(known.model),
    Need.RELEASE: lambda known: known.whole and isinstance(known.model, ReleasedHead),
    Need.MEANS: lambda known: known.whole and _is_means(known.model),
}


def _are_rows(records: Records) -> bool:
    return records.inputs.ndim > 1 and records.inputs.dtype.kind in "biuf"


def _is_recorded(target: Target) -> bool:
    return isinstance(target, RecordedTarget)


def _is_torch(known: Knowledge) -> bool:
    return isinstance(known.target, TorchTarget)


def _is_head(model: Any) -> bool:
    return isinstance(model, (SoftmaxHead, MLPHead, ReleasedHead))


def _is_means(model: Any) -> bool:
    return isinstance(model, ReleasedLinear) and model.learner == ClassMeansHead.name


@dataclass(frozen=True, kw_only=True)
class AttackRecipe:
    """One attack by name."""

    build: Callable[[Knowledge], Attack[Any]]
    needs: tuple[Need, ...] = ()
    online: bool = False
    """Whether its shadows see the scored records, so that it is built anew for each target."""

    def lacks(self, known: Knowledge) -> str | None:
        """What is missing, in words; None where nothing is."""
        return next((need.value for need in self.needs if not known.has(need)), None)

    def attacked(self, known: Knowledge) -> Any:
        """The model itself for attacks that need it, or what is seen of it."""
        inside = {Need.WEIGHTS, Need.HEAD, Need.RELEASE, Need.MEANS} & set(self.needs)
        return known.model if inside else known.seen(known.target)


def recipe_of(name: str) -> AttackRecipe:
    """The recipe of this name."""
    if name not in RECIPES:
        raise InputError(f"attack must be all, or of {', '.join(RECIPES)}, got {name!r}")
    return RECIPES[name]


def _metric(name: str) -> AttackRecipe:
    return AttackRecipe(needs=(Need.SCORES,), build=lambda _: MetricAttack(name))


def _with_shadows(build: Callable[[Knowledge], Attack[Any]], *more: Need) -> AttackRecipe:
    return AttackRecipe(needs=(Need.SCORES, Need.FEATURES, Need.SHADOW, *more), build=build)


def _online(build: Callable[[Knowledge], Attack[Any]], *more: Need) -> AttackRecipe:
    return AttackRecipe(needs=(Need.SCORES, Need.FEATURES, *more), build=build, online=True)


def _gradient_network(known: Knowledge) -> Attack[Any]:
    try:
        from reticent.attacks.gradient_network import GradientAttack
    except ModuleNotFoundError:
        raise InputError(
            "torch must be installed for gradient-network: pip install 'reticent[torch]'"
        ) from None
    return GradientAttack(shadows=known.few, seed=known.seed)


RECIPES: Final[dict[str, AttackRecipe]] = {
    "gap": AttackRecipe(build=lambda _: GapAttack()),
    "loss": _metric("loss"),
    "confidence": _metric("confidence"),
    "entropy": _metric("entropy"),
    "modified-entropy": _metric("modified-entropy"),
    "modified-entropy-per-class": _with_shadows(
        lambda known: MetricAttack("modified-entropy", shadow=known.offline)
    ),
    "label-noise": AttackRecipe(
        needs=(Need.QUERIES,),
        build=lambda known: NoiseAttack(std=known.spread / 2, seed=known.seed),
    ),
    "label-boundary": AttackRecipe(
        needs=(Need.QUERIES,),
        build=lambda known: BoundaryAttack(
            farthest=known.spread * float(np.prod(known.records.inputs.shape[1:])) ** 0.5 * 4,
            directions=20,
            seed=known.seed,
        ),
    ),
    "shokri": _with_shadows(lambda known: ShokriAttack(shadows=known.few, seed=known.seed)),
    "alm": _with_shadows(lambda known: AlmAttack(shadows=known.few, seed=known.seed)),
    "salem": _with_shadows(lambda known: SalemAttack(shadows=known.few, seed=known.seed)),
    "reference": _with_shadows(lambda known: ReferenceAttack(shadows=known.offline)),
    "lira-offline": _with_shadows(lambda known: Lira(shadows=known.offline, mode="offline")),
    "lira-online": _online(lambda known: Lira(shadows=known.online)),
    "rmia-offline": _with_shadows(
        lambda known: Rmia(shadows=known.offline, population=known.others, mode="offline"),
        Need.QUERIES,
    ),
    "rmia-online": _online(
        lambda known: Rmia(shadows=known.online, population=known.others),
        Need.POPULATION,
        Need.QUERIES,
    ),
    "gradient-norm": AttackRecipe(needs=(Need.WEIGHTS,), build=lambda _: GradientNormAttack()),
    "gradient-network": AttackRecipe(
        needs=(Need.WEIGHTS, Need.FEATURES, Need.SHADOW), build=_gradient_network
    ),
    "displacement": AttackRecipe(
        needs=(Need.HEAD, Need.SHADOW),
        build=lambda known: DisplacementAttack(own=known.own, seed=known.seed),
    ),
    "released-means": AttackRecipe(
        needs=(Need.MEANS, Need.POPULATION),
        build=lambda known: ReleasedMeansAttack(population=known.others),
    ),
    # Each record's adversary has all training records but this one: it compares the head without
    # the record with the head that has it, whichever of the two was released.
    "released-weights": AttackRecipe(
        needs=(Need.RELEASE,), build=lambda known: ReleasedWeightsAttack(known=known.known)
    ),
}
"""Cheap ones first; those that need shadow models, then those that need weights."""
