"""Which attacks are made on a model, with what shadow models, and what is shown of its answers."""

from dataclasses import dataclass
from typing import Final, Literal

from reticent.attacks import function_shadow, registry, shadow_models
from reticent.attacks.targets import LabelTarget, RoundedTarget, Target, TopTarget
from reticent.validation import InputError, count, open_probability

ALL: Final = "all"


@dataclass(frozen=True, kw_only=True)
class View:
    """What is shown of each answer: everything, the largest probabilities, rounded ones, labels."""

    top: int | None = None
    decimals: int | None = None
    labels_only: bool = False

    def __post_init__(self) -> None:
        """At most one of them."""
        if sum((self.top is not None, self.decimals is not None, self.labels_only)) > 1:
            raise InputError("one of top, decimals and labels only must be said, got several")

    @property
    def whole(self) -> bool:
        """Whether nothing of an answer is hidden."""
        return self == View()

    def __call__(self, target: Target) -> Target:
        """The target as it is seen."""
        if self.top is not None:
            return TopTarget(target, shown=self.top)
        if self.decimals is not None:
            return RoundedTarget(target, decimals=self.decimals)
        return LabelTarget(target) if self.labels_only else target


@dataclass(frozen=True, kw_only=True)
class AttackPlan:
    """Which attacks are made, and with what.

    ``attacks`` is "all" (what is impossible is left out, with the reason) or names of ``ATTACKS``
    (what is impossible is an error). ``shadow_model`` is softmax, mlp or logistic, or a function
    (X, y, seed) → model that trains as the target was trained; by default shadows are made as the
    target was, as far as it tells, and else are small networks: a note says so.
    """

    attacks: tuple[str, ...] | Literal["all"] = ALL
    shadow_model: str | function_shadow.TrainFunction | None = None
    shadow_count: int = 32
    view: View = View()
    confidence: float = 0.95
    seed: int = 0
    jobs: int = 1

    def __post_init__(self) -> None:
        """Known names, each once, and numbers in range."""
        for name in self.names:
            registry.ATTACKS.named(name)
        if not self.names or len(set(self.names)) < len(self.names):
            raise InputError("attacks must be all, or names that differ, got none or one twice")
        count("shadow_count", self.shadow_count)
        count("seed", self.seed, at_least=0)
        open_probability("confidence", self.confidence)

    @property
    def names(self) -> tuple[str, ...]:
        """Those that are asked for."""
        return tuple(registry.ATTACKS) if self.attacks == ALL else tuple(self.attacks)

    @property
    def shadows(self) -> shadow_models.ShadowPlan:
        """Of what kind, and how many."""
        return shadow_models.ShadowPlan(
            kind=self.shadow_model, count=self.shadow_count, seed=self.seed, jobs=self.jobs
        )
