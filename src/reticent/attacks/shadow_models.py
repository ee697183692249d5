"""Shadow models that are made as the target was, as far as the target tells.

Of a head of ours the recipe is known, of a scikit-learn estimator too: shadows are copies of it. A
release was noised besides, so its shadows are noised alike. Whatever shows answers alone is
mimicked by a small network, or by what the adversary prefers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from reticent.arrays import Flags
from reticent.attacks.noisy_shadow import NoisyShadow
from reticent.attacks.records import Records
from reticent.attacks.released_weights import convex_head_of, noise_of
from reticent.attacks.shadow_training import OnDone, memberships, train_shadows
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import ModelTarget, Target
from reticent.protect import Release
from reticent.protect.recipes.weights import COORDINATES
from reticent.randomness import seeded
from reticent.training import MLPHead, SoftmaxHead
from reticent.validation import InputError, float_rows

PENALTY: Final = 1e-4
"""Of a softmax shadow where the target's is not known."""


@dataclass(frozen=True, kw_only=True)
class ShadowPlan:
    """How shadows are trained; ``kind`` is one of ``KINDS``, None for the target's own."""

    kind: str | None = None
    count: int = 32
    seed: int = 0
    jobs: int = 1


def shadows_like(
    target: Target, pool: Records, plan: ShadowPlan, *, on_done: OnDone | None = None
) -> Shadows:
    """Each on a random half of the pool; copies of a record go together.

    Else hardly a shadow would lack a record that stands in the pool several times.
    """
    model = target.model if isinstance(target, ModelTarget) else None
    shadows = train_shadows(
        shadow_head(model, pool, kind=plan.kind, classes=target.classes.tolist()),
        pool,
        inside=_halves(pool, plan),
        seed=plan.seed,
        jobs=plan.jobs,
        on_done=on_done,
    )
    if plan.kind is None and isinstance(model, Release) and is_convex(model):
        return _noised(shadows, model, plan.seed)
    return shadows


def _halves(pool: Records, plan: ShadowPlan) -> Flags:
    """Which shadow sees which record: drawn for each content once."""
    first: dict[bytes, int] = {}
    place = [first.setdefault(key, len(first)) for key in pool.keys]
    return memberships(len(first), plan.count, seed=plan.seed)[:, place]


def shadow_head(model: Any, pool: Records, *, kind: str | None, classes: list[Any]) -> Any:
    """A head to be fitted: of the kind that is asked for, else of the model's own."""
    if kind is None:
        own = _like(model, classes)
        return _mlp(pool, classes) if own is None else own
    if kind not in KINDS:
        raise InputError(f"shadow model must be one of {', '.join(KINDS)}, got {kind!r}")
    return KINDS[kind](pool, classes)


def _like(model: Any, classes: list[Any]) -> Any | None:
    """The model before its fit; its normaliser and tolerance were for its own records."""
    if is_convex(model) or isinstance(model, SoftmaxHead):
        head = convex_head_of(model) if is_convex(model) else clone(model)
        return head.set_params(classes=classes, records=None, tolerance=None)
    if isinstance(model, MLPHead):
        return clone(model).set_params(classes=classes)
    if isinstance(model, Release):
        return NoisyShadow(released=model)
    if hasattr(model, "get_params") and is_classifier(model):
        return clone(model)
    return None


def is_convex(model: Any) -> bool:
    """Whether a model is the noised optimum of a softmax head: its shadows are fitted together."""
    if not isinstance(model, Release):
        return False
    return model.recipe.convex_head(model.tensors, model.classes_) is not None


def _softmax(pool: Records, classes: list[Any]) -> Any:
    longest = float(np.linalg.norm(float_rows("inputs", pool.inputs), axis=1).max())
    return SoftmaxHead(penalty=PENALTY, bound=longest or 1.0, classes=classes)


def _mlp(pool: Records, classes: list[Any]) -> Any:  # noqa: ARG001 - as all kinds
    return MLPHead(layers=2, classes=classes)


def _logistic(pool: Records, classes: list[Any]) -> Any:  # noqa: ARG001 - as all kinds
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


KINDS: Final[dict[str, Callable[[Records, list[Any]], Any]]] = {
    "softmax": _softmax,
    "mlp": _mlp,
    "logistic": _logistic,
}


def _noised(shadows: Shadows, released: Release, seed: int) -> Shadows:
    """Released as the target was; plain floats will do, for nothing is protected by this noise."""
    noise, models = noise_of(released), []
    for place, shadow in enumerate(shadows.models):
        assert isinstance(shadow, ModelTarget)
        source = noise.with_float_noise(seeded("noise of a shadow", seed, place))
        noisy = source.release(shadow.model.coordinates_)
        tensors = {**released.tensors, COORDINATES: noisy}
        models.append(ModelTarget(replace(released, tensors=tensors)))
    return replace(shadows, models=models)
