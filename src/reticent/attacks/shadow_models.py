"""Shadow models that are made as the target was, as far as the target tells.

Of a head of ours the recipe is known, of a scikit-learn estimator too: shadows are copies of it. A
release was noised besides, so its shadows are noised alike. Whatever shows answers alone is
mimicked by a small network, or by what the adversary prefers.

Half of the shadows see a record and half do not (Carlini et al. 2022), so that one set serves
attacks that compare both.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from reticent.arrays import Array, ArrayLike, Flags, Floats
from reticent.attacks.function_shadow import FunctionShadow, TrainFunction
from reticent.attacks.records import Records
from reticent.attacks.released_weights import convex_head_of, noise_of
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import ModelTarget, Target
from reticent.mechanisms import AdditiveMechanism
from reticent.parallel import map_tasks, workers
from reticent.protect import Release, noise_scales, recipe
from reticent.protect.recipes.weights import COORDINATES
from reticent.randomness import seeded
from reticent.training import MLPHead, SoftmaxHead, mlp_head, stacked_convex
from reticent.training.records import indices_of
from reticent.validation import InputError, float_rows, open_probability
from reticent.validation import count as whole


class NoisyShadow(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The learner of a release, trained by an adversary: nothing is protected by its noise.

    Args:
        released: What was released; its certificate tells the learner and all public numbers.
        random_state: Of the noise, which is plain floats.
    """

    def __init__(self, released: Release, random_state: int = 0) -> None:
        self.released = released
        self.random_state = random_state

    @property
    def classes(self) -> Array:
        """All of them, in the order that was declared; a part of the records may lack one."""
        return self.released.classes_

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """The learner's own way through its sums."""
        generator = seeded("noise of a shadow", self.random_state)

        def answer(noise: AdditiveMechanism, value: Floats) -> Floats:
            return np.asarray(noise.with_float_noise(generator).release(value))

        released = self.released
        self.classes_ = released.classes_
        plan = noise_scales.with_scales(released.recipe, released.scales, released.terms)
        labels = indices_of(np.asarray(y), released.classes_)
        numbers = recipe.replay(released.recipe, plan, float_rows("X", X), labels)(answer)
        self.model_ = replace(released, tensors=recipe.tensors_of(released.recipe, numbers))
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Scores of the fitted shadow, as the release gives them."""
        return self.model_.decision_function(X)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities of the fitted shadow, a column per class."""
        return self.model_.predict_proba(X)

    def predict(self, X: ArrayLike) -> Array:
        """The labels that the fitted shadow predicts."""
        return self.model_.predict(X)


OnDone = Callable[[int], None]


def train_shadows(  # noqa: PLR0913 - one argument for each thing an adversary chooses
    head: Any,
    pool: Records,
    *,
    count: int = 64,
    share: float = 0.5,
    seed: int = 0,
    inside: ArrayLike | None = None,
    jobs: int = 1,
    stacked: bool = True,
    on_done: OnDone | None = None,
) -> Shadows:
    """Fit ``count`` copies of ``head``, each on its own part of the pool.

    A shadow is what ``head`` becomes when it is fitted on these rows alone. Where training is
    random (``random_state``, or the ``seed`` of an MLPHead), each shadow has its own seed: the
    adversary does not know the target's. Our heads are trained many at once: a SoftmaxHead to the
    same tolerance, an MLPHead to the same weights up to rounding.

    Args:
        head: A SoftmaxHead, an MLPHead, or any classifier in the manner of scikit-learn; it is
            copied and stays as it is.
        pool: The adversary's records; with those that it will score among them for online attacks.
        count: How many shadows.
        share: The part of the pool that a shadow sees, see ``memberships``.
        seed: Of the choice of records and of the shadows' training.
        inside: Which shadow sees which record (shadows × records), instead of count and share.
        jobs: How many are fitted at a time; -1 takes every core.
        stacked: False for one after the other, whatever the head.
        on_done: Called with the number of shadows that are ready.

    >>> from sklearn.datasets import load_iris
    >>> pool = Records(*load_iris(return_X_y=True))
    >>> shadows = train_shadows(SoftmaxHead(bound=9.0), pool, count=4)
    >>> shadows.inside.sum(axis=0).tolist() == [2] * 150
    True
    """
    plan = _Plan.of(head, pool, seed)
    chosen = (
        _given(inside, pool) if inside is not None else memberships(len(pool), count, share, seed)
    )
    models = plan.fit_all(chosen, stacked=stacked, jobs=jobs, on_done=on_done)
    _same_classes(models, plan)
    return Shadows(pool=pool, inside=chosen, models=[ModelTarget(model) for model in models])


def memberships(records: int, count: int, share: float = 0.5, seed: int = 0) -> Flags:
    """Which shadow sees which record, count × records.

    With a share of ½ shadows come in pairs that divide the pool: each record is inside exactly
    one of two. With another share, and for the last of an odd number, each shadow has a random
    part of that size, independently of the others.

    >>> memberships(6, 4).sum(axis=0).tolist()
    [2, 2, 2, 2, 2, 2]
    """
    whole("count", count)
    size = round(open_probability("share", share) * whole("records", records, at_least=2))
    if not 0 < size < records:
        raise InputError(f"share must leave records on both sides of {records}, got {share}")
    inside = np.zeros((count, records), dtype=bool)
    for shadow in range(count):
        if share == 0.5 and shadow % 2:
            inside[shadow] = ~inside[shadow - 1]
        else:
            order = seeded("members of a shadow", seed, shadow).permutation(records)
            inside[shadow, order[:size]] = True
    return inside


@dataclass(frozen=True)
class _Plan:
    """What all shadows have in common."""

    head: Any
    pool: Records
    seed: int

    @classmethod
    def of(cls, head: Any, pool: Records, seed: int) -> "_Plan":
        """An unfitted copy that knows all classes of the pool: a part of it may lack one."""
        whole("seed", seed, at_least=0)
        if not hasattr(head, "get_params") or not hasattr(head, "fit"):
            raise InputError(
                f"head must be an estimator with fit and get_params, got {type(head).__name__}"
            )
        copied = clone(head)
        if isinstance(head, (SoftmaxHead, MLPHead)) and head.classes is None:
            copied.set_params(classes=np.unique(pool.labels).tolist())
        return cls(copied, pool, seed)

    @property
    def classes(self) -> Array:
        """The classes of every shadow, in the order of its columns."""
        known = getattr(self.head, "classes", None)
        return np.unique(self.pool.labels) if known is None else np.asarray(known)

    def fit_all(
        self, inside: Flags, *, stacked: bool, jobs: int, on_done: OnDone | None
    ) -> list[Any]:
        """Many at once where the head allows it, else one by one."""
        data = self.pool.inputs, self.pool.labels, inside
        if stacked and stacked_convex.can_stack(self.head):
            fit = stacked_convex.fit_parts
            return list(fit(self.head, *data, threads=workers(jobs), on_done=on_done))
        if stacked and isinstance(self.head, MLPHead):
            seeds = [self.untrained(shadow).seed for shadow in range(len(inside))]
            fit_parts = mlp_head.trainer("dense").fit_parts
            return list(fit_parts(self.head, *data, seeds, threads=workers(jobs), on_done=on_done))
        return map_tasks(partial(_fitted, self), enumerate(inside), jobs=jobs, on_done=on_done)

    def untrained(self, shadow: int) -> Any:
        """The copy that becomes this shadow, with its own seed."""
        copied = clone(self.head)
        parameters = copied.get_params(deep=True)
        rng = seeded("training of a shadow", self.seed, shadow)
        seeds = {
            name: int(rng.integers(2**31))
            for name in sorted(parameters)
            if _is_seed(name, copied, parameters)
        }
        return copied.set_params(**seeds)

    def fitted(self, shadow: int, rows: Flags) -> Any:
        """This shadow, trained by its own ``fit``."""
        part = self.pool.take(rows)
        return self.untrained(shadow).fit(part.inputs, part.labels)


def _is_seed(name: str, head: Any, parameters: dict[str, Any]) -> bool:
    owner, _, last = name.rpartition("__")
    of = parameters[owner] if owner else head
    return last == "random_state" or (last == "seed" and isinstance(of, MLPHead))


def _fitted(plan: _Plan, task: tuple[int, Flags]) -> Any:
    return plan.fitted(*task)


def _given(inside: ArrayLike, pool: Records) -> Flags:
    flags = np.asarray(inside)
    if flags.dtype != np.bool_ or flags.ndim != 2 or flags.shape[1] != len(pool):
        raise InputError(
            f"inside must be true or false for shadows × {len(pool)} records,"
            f" got {flags.dtype} of shape {flags.shape}"
        )
    if len(flags) == 0 or not flags.any(axis=1).all():
        raise InputError("inside must give each shadow a record, got a shadow without any")
    return flags


def _same_classes(models: list[Any], plan: _Plan) -> None:
    """A class that a shadow never saw has no column in its answers."""
    for shadow, model in enumerate(models):
        if not np.array_equal(np.asarray(model.classes_), plan.classes):
            raise InputError(
                f"pool must give each shadow records of every class, shadow {shadow} saw"
                f" {len(model.classes_)} of {len(plan.classes)}: take more records or fewer classes"
            )


PENALTY: Final = 1e-4
"""Of a softmax shadow where the target's is not known."""


@dataclass(frozen=True, kw_only=True)
class ShadowPlan:
    """How shadows are trained.

    ``kind`` is one of ``KINDS``, a function (X, y, seed) → model, or None for the target's own.
    """

    kind: str | TrainFunction | None = None
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
        inside=random_halves(pool, plan),
        seed=plan.seed,
        jobs=1 if callable(plan.kind) else plan.jobs,  # other processes may not have its module
        on_done=on_done,
    )
    if plan.kind is None and isinstance(model, Release) and is_convex(model):
        return _noised(shadows, model, plan.seed)
    return shadows


def random_halves(pool: Records, plan: ShadowPlan) -> Flags:
    """Which shadow sees which record: drawn for each content once."""
    first: dict[bytes, int] = {}
    place = [first.setdefault(key, len(first)) for key in pool.keys]
    return memberships(len(first), plan.count, seed=plan.seed)[:, place]


def unlike_target(target: Target, plan: ShadowPlan) -> str | None:
    """Where shadows are not trained as the target was, what they are instead; else None."""
    if callable(plan.kind):
        return None
    if plan.kind is not None:
        return plan.kind
    model = target.model if isinstance(target, ModelTarget) else None
    return "small networks (mlp)" if _like(model, target.classes.tolist()) is None else None


def shadow_head(
    model: Any, pool: Records, *, kind: str | TrainFunction | None, classes: list[Any]
) -> Any:
    """A head to be fitted: of the kind that is asked for, else of the model's own."""
    if callable(kind):
        return FunctionShadow(train=kind, classes=classes)
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
