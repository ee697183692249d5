"""Training shadow models: which of them sees which record, and the fits themselves.

Half of the shadows see a record and half do not (Carlini et al. 2022), so that one set serves
attacks that compare both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from reticent.arrays import Array, Flags
from reticent.attacks.records import Records
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import ModelTarget
from reticent.parallel import map_tasks, workers
from reticent.randomness import seeded
from reticent.training import MLPHead, SoftmaxHead, stacked_convex
from reticent.training.mlp_head import trainer
from reticent.training.stacked_convex import can_stack
from reticent.validation import InputError, open_probability
from reticent.validation import count as whole

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
    def of(cls, head: Any, pool: Records, seed: int) -> _Plan:
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
        if stacked and can_stack(self.head):
            found = stacked_convex.fit_parts
            return list(found(self.head, *data, threads=workers(jobs), on_done=on_done))
        if stacked and isinstance(self.head, MLPHead):
            seeds = [self.untrained(shadow).seed for shadow in range(len(inside))]
            fit_parts = trainer("stacked_subsets").fit_parts
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
