"""The models of such a run: without protection, released, and the shadows of either."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Final

import numpy as np
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import KFold

from reticent.arrays import Array, Floats
from reticent.attacks.replayed_shadow import ReplayedShadow
from reticent.data import Dataset
from reticent.protect import Release, ReleaseRequest, release_table, release_weights
from reticent.protect.recipes.weights import COORDINATES
from reticent.protect.table import kept_rows
from reticent.randomness import seeded
from reticent.run.spec import RunSpec
from reticent.training import SigmoidHead
from reticent.validation import InputError

ALPHAS: Final = tuple(10.0**power for power in range(-4, 4))
"""Of ridge regression without protection, which takes the best in cross-validation."""
FOLDS: Final = 3


class RidgeInRange:
    """Ridge regression whose answers are cut to the label's public range."""

    def __init__(self, model: Ridge, low: float, high: float) -> None:
        self.model, self.low, self.high = model, low, high

    def predict(self, rows: Floats) -> Floats:
        """The ridge regression's value for each row, clipped to the public range."""
        return np.asarray(np.clip(self.model.predict(rows), self.low, self.high))


@dataclass(frozen=True, kw_only=True)
class RidgeShadow:
    """Trains as the unprotected regression was trained."""

    alpha: float
    low: float
    high: float

    def __call__(self, rows: Floats, labels: Array, seed: int) -> RidgeInRange:
        """A regression with the same penalty: nothing of it is random."""
        del seed
        return RidgeInRange(Ridge(alpha=self.alpha).fit(rows, labels), self.low, self.high)


@dataclass(frozen=True, kw_only=True)
class SigmoidShadow:
    """Trains a sigmoid head with the same penalty for each record, and noises it where one was."""

    head: SigmoidHead
    released: Release | None = None

    def __call__(self, rows: Floats, labels: Array, seed: int) -> Any:
        """A fitted head, or the release with the noised coordinates of one."""
        head = SigmoidHead(**self.head.get_params() | {"records": len(rows), "tolerance": None})
        head.fit(rows, labels)
        if self.released is None:
            return head
        noise = self.released.noises[COORDINATES]
        noisy = noise.with_float_noise(seeded("noise of a shadow", seed)).release(head.coordinates_)
        tensors = {**self.released.tensors, COORDINATES: noisy}
        return replace(self.released, tensors=tensors)


def shadow_of(released: Release) -> Callable[[Floats, Array, int], Any]:
    """What trains as the release was made."""
    centre = released.tensors.get("centre")
    head = released.recipe.unfitted(released.classes_.tolist(), centre)
    if head is None:
        return ReplayedShadow(released=released)
    assert isinstance(head, SigmoidHead)
    return SigmoidShadow(head=head, released=released)


@dataclass(frozen=True, kw_only=True, eq=False)
class Unprotected:
    """A model without protection, and what trains shadows as it was trained."""

    name: str
    model: Any
    shadow: Callable[[Floats, Array, int], Any]


def unprotected_regression(
    data: Dataset, spec: RunSpec, target: tuple[float, float]
) -> Unprotected:
    """Ridge regression on the features as they are, its penalty the best without each record.

    ``target`` are the ends of the label's public range.
    """
    low, high = target
    rows, labels = kept_rows(data, spec.max_records_per_person)
    if len(rows) < FOLDS:
        raise InputError(f"private must have at least {FOLDS} records, got {len(rows)}")
    alpha = float(RidgeCV(alphas=ALPHAS).fit(rows, labels).alpha_)
    shadow = RidgeShadow(alpha=alpha, low=low, high=high)
    name = f"ridge regression, penalty {alpha:g}"
    return Unprotected(name=name, model=shadow(rows, labels, 0), shadow=shadow)


def unprotected_labels(data: Dataset, spec: RunSpec) -> Unprotected:
    """A sigmoid head whose penalty has the best accuracy in cross-validation."""
    rows, labels = kept_rows(data, spec.max_records_per_person)
    if len(rows) < FOLDS:
        raise InputError(f"private must have at least {FOLDS} records, got {len(rows)}")
    scores = {one: _validated(rows, labels, spec, one) for one in spec.penalties}
    best = max(scores, key=lambda penalty: scores[penalty])
    shadow = SigmoidShadow(head=_head(spec, best, data.classes))
    name = f"sigmoid head, penalty {best:g}"
    return Unprotected(name=name, model=shadow(rows, labels, 0), shadow=shadow)


def _validated(rows: Floats, labels: Array, spec: RunSpec, penalty: float) -> float:
    hits = []
    for kept, left in KFold(FOLDS, shuffle=True, random_state=spec.seed).split(rows):
        head = SigmoidShadow(head=_head(spec, penalty, range(labels.shape[1])))
        hits.append(head(rows[kept], labels[kept], 0).predict(rows[left]) == labels[left])
    return float(np.concatenate(hits).mean())


def _head(spec: RunSpec, penalty: float, classes: Any) -> SigmoidHead:
    return SigmoidHead(
        penalty=penalty,
        bound=spec.bound,
        classes=list(classes),
        records=spec.records,
        intercept=spec.intercept,
        norms=spec.norms,
    )


def drawing(data: Dataset, request: ReleaseRequest) -> Callable[..., Release]:
    """Makes one release of the table at each call; a sigmoid head is fitted once for all of them.

    Each draw is a release by itself: whoever publishes two has spent more than the printed ε.
    """
    request = request.for_rows_of(data).for_labels_of(data)
    recipe = request.planned(int(data.features.shape[1]), len(data.classes))
    head = recipe.unfitted(data.classes, None)
    if head is None or (recipe.row_map is not None and recipe.row_map.centred):
        return partial(release_table, data, request)

    @cache
    def fitted() -> Any:
        rows, labels = kept_rows(data, request.terms.max_records_per_person)
        return head.fit(rows, labels)

    return lambda **charged: release_weights(
        fitted(), **request.budget, schema=data.schema, **charged
    )
