"""Metric attacks: one number of a target's answer, larger for members.

Correctness is the gap attack of Yeom et al. (2018), who also proposed the loss; confidence and
entropy are Salem et al.'s (2019), the modified entropy and a threshold for each class Song's and
Mittal's (2021). All are computed from logits by log-softmax, so that a probability next to 1 keeps
its distance from 1.

``best_threshold`` draws the line between members and others, on records that are not evaluated.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from scipy import special

from reticent.arrays import Array, ArrayLike, Flags, Floats, Integers
from reticent.attacks.attack import AttackBuilder, Need, ScoreAttack, with_shadows
from reticent.attacks.records import Records
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import Access, Target, Threat, target_of
from reticent.validation import InputError, describe, float_array


def best_threshold(members: ArrayLike, others: ArrayLike) -> float:
    """The threshold that maximises ½(TPR + TNR) when scores above it are called members.

    It lies halfway between two scores; of equally good thresholds the highest is taken, which
    calls the fewest records members.

    >>> best_threshold([3.0, 4.0, 5.0], [1.0, 2.0, 3.5])
    2.5
    """
    inside, outside = float_array("members", members), float_array("others", others)
    if inside.ndim != 1 or outside.ndim != 1:
        raise InputError("scores must be two lists of numbers, got arrays of other shapes")
    levels = np.unique(np.concatenate([inside, outside]))
    shares = [_share_above(inside, levels), _share_above(outside, levels)]
    advantages = shares[0] - shares[1]
    best = len(levels) - 1 - int(np.argmax(advantages[::-1]))
    if not advantages[best] > 0:
        return float(levels[-1])
    return _between(float(levels[best]), float(levels[best + 1]))


def _share_above(scores: Floats, levels: Floats) -> Floats:
    above = len(scores) - np.searchsorted(np.sort(scores), levels, side="right")
    return above / len(scores)


def _between(low: float, high: float) -> float:
    """Halfway; the lower one where no number lies between."""
    middle = low / 2 + high / 2
    return middle if low <= middle < high else low


Calibration: TypeAlias = Shadows | tuple[Any, Records, Records]
"""Shadow models, or one shadow model with the records that it saw and others that it did not."""

_LOWEST: Final = math.log(1e-30)
"""Logarithms of smaller probabilities count as this one (Song, Mittal 2021)."""


def correctness(logits: Floats, labels: Integers) -> Floats:
    """1 where the most probable class is the label, else 0."""
    return np.asarray(logits.argmax(axis=1) == labels, dtype=np.float64)


def log_likelihood(logits: Floats, labels: Integers) -> Floats:
    """log p(y | x), minus the loss."""
    return _of_label(_log_pairs(logits)[0], labels)


def confidence(logits: Floats, labels: Integers) -> Floats:  # noqa: ARG001 - as all metrics
    """The largest probability, as log(p/(1 − p)): the same order, and no ties next to 1."""
    logarithms, complements = _log_pairs(logits)
    return np.asarray((logarithms - complements).max(axis=1))


def negative_entropy(logits: Floats, labels: Integers) -> Floats:  # noqa: ARG001 - as all metrics
    """Σ p log p of each row: high where the model is certain."""
    logarithms = _log_pairs(logits)[0]
    return np.asarray((special.softmax(logits, axis=1) * logarithms).sum(axis=1))


def negative_modified_entropy(logits: Floats, labels: Integers) -> Floats:
    """(1 − p_y) log p_y + Σ_{j≠y} p_j log(1 − p_j): 0 for a sure and right answer."""
    logarithms, complements = _log_pairs(logits)
    terms = special.softmax(logits, axis=1) * complements
    label_terms = np.exp(complements) * logarithms
    np.put_along_axis(terms, labels[:, None], _of_label(label_terms, labels)[:, None], axis=1)
    return np.asarray(terms.sum(axis=1))


METRICS: Final[dict[str, Callable[[Floats, Integers], Floats]]] = {
    "correctness": correctness,
    "loss": log_likelihood,
    "confidence": confidence,
    "entropy": negative_entropy,
    "modified-entropy": negative_modified_entropy,
}
"""From logits (one row per record) and places of the labels to numbers, larger for members."""

_WITHOUT_LABELS: Final = ("confidence", "entropy")


@dataclass(frozen=True, eq=False)
class MetricAttack(ScoreAttack):
    """One of ``METRICS``; with ``shadow`` compared with a threshold for each class.

    With shadow data the score is the metric minus the threshold of the record's class, and above 0
    the attack says "member". A threshold maximises ½(TPR + TNR) on shadow data; records that are
    scored have no part in it. A class for which the shadows lack members or non-members has the
    threshold of all classes together, which the notes say.

    >>> from reticent.attacks.targets import AnsweredTarget
    >>> target = AnsweredTarget([[0.9, 0.1], [0.6, 0.4]], classes=["yes", "no"])
    >>> found = MetricAttack("loss").scores(target, Records([0, 1], ["yes", "no"]))
    >>> found.values.round(3).tolist()
    [-0.105, -0.916]
    """

    metric: str
    shadow: Calibration | None = None
    threat: Threat = field(init=False)

    def __post_init__(self) -> None:
        """A metric of the list, and shadows of one of the two kinds."""
        if self.metric not in METRICS:
            raise InputError(
                f"metric must be one of {', '.join(METRICS)}, got {describe(self.metric)}"
            )
        _check(self.shadow)
        labels = () if self.metric in _WITHOUT_LABELS and not self.shadow else ("labels",)
        shadows = () if self.shadow is None else ("shadow models with their records",)
        threat = Threat(access=Access.SCORES, knows=(*labels, *shadows))
        object.__setattr__(self, "threat", threat)

    @property
    def name(self) -> str:
        """The metric, and whether thresholds are per class."""
        return self.metric if self.shadow is None else f"{self.metric}, thresholds per class"

    @property
    def decides_at(self) -> float | None:
        """0 where thresholds were taken off."""
        return None if self.shadow is None else 0.0

    def _values(self, target: Target, records: Records) -> Floats:
        values = _measured(self.metric, target, records)
        return values if self._thresholds is None else values - self._thresholds.of(records.labels)

    def _notes(self, target: Target, records: Records) -> tuple[str, ...]:  # noqa: ARG002
        rest = [] if self._thresholds is None else self._thresholds.missing(records.labels)
        if not rest:
            return ()
        return (
            "classes without shadow members and non-members have the threshold of all classes: "
            + ", ".join(rest),
        )

    @cached_property
    def _thresholds(self) -> "ClassThresholds | None":
        if self.shadow is None:
            return None
        return ClassThresholds.fitted(*_shadow_values(self.metric, self.shadow))


@dataclass(frozen=True, kw_only=True)
class ClassThresholds:
    """Those of classes with shadows on both sides by name, and one for all other classes."""

    common: float
    of_class: dict[str, float]

    @classmethod
    def fitted(cls, values: Floats, labels: Array, inside: Flags) -> "ClassThresholds":
        """Each maximises ½(TPR + TNR) on the shadow records of its class."""
        names, of_class = labels.astype(np.str_), {}
        for name in np.unique(names):
            members, others = (values[(names == name) & side] for side in (inside, ~inside))
            if len(members) and len(others):
                of_class[str(name)] = best_threshold(members, others)
        return cls(common=best_threshold(values[inside], values[~inside]), of_class=of_class)

    def of(self, labels: Array) -> Floats:
        """The threshold of each record's class."""
        names = labels.astype(np.str_).tolist()
        return np.array([self.of_class.get(name, self.common) for name in names])

    def missing(self, labels: Array) -> list[str]:
        """Classes that have none of their own."""
        names = np.unique(labels.astype(np.str_)).tolist()
        return [name for name in names if name not in self.of_class]


def _measured(metric: str, target: Target, records: Records) -> Floats:
    return METRICS[metric](target.logits(records.inputs), records.among(target.classes))


def _shadow_values(metric: str, shadow: Calibration) -> tuple[Floats, Array, Flags]:
    """The metric of each shadow's answers, the labels, and whether the shadow saw the records."""
    if isinstance(shadow, Shadows):
        pool, inside = shadow.pool, shadow.saw(shadow.pool)
        values = [_measured(metric, model, pool) for model in shadow.models]
        return np.concatenate(values), np.tile(pool.labels, len(shadow)), inside.ravel()
    model, members, others = shadow
    records = members.joined(others)
    flags = np.arange(len(records)) < len(members)
    return _measured(metric, target_of(model), records), records.labels, flags


def _check(shadow: object) -> None:
    if shadow is None:
        return
    if isinstance(shadow, Shadows):
        if not (shadow.inside.any() and not shadow.inside.all()):
            raise InputError("shadows must have members and non-members, got one side only")
        return
    if not (isinstance(shadow, tuple) and len(shadow) == 3 and _are_records(shadow[1:])):
        raise InputError(
            "shadow must be Shadows or (model, members, non-members), both Records that are not"
            f" empty, got {type(shadow).__name__}"
        )
    target_of(shadow[0])


def _are_records(values: tuple[object, ...]) -> bool:
    return all(isinstance(value, Records) and len(value) > 0 for value in values)


def _log_pairs(logits: Floats) -> tuple[Floats, Floats]:
    """log p and log(1 − p), clamped.

    Where the largest p of a row is above ½ both follow from the sum of the others, which keeps all
    digits of a p next to 1; every other p is at most ½, where log1p does. Equal p of at most ½ have
    equal logarithms whatever their column: a tie must not be broken by rounding.
    """
    logarithms = np.asarray(special.log_softmax(logits, axis=1))
    best = logits.argmax(axis=1)[:, None]
    own = np.take_along_axis(logarithms, best, axis=1)
    np.put_along_axis(logarithms, best, -np.inf, axis=1)
    rest = special.logsumexp(logarithms, axis=1, keepdims=True)
    above_half = rest < -np.log(2)
    own = np.where(above_half, np.log1p(-np.exp(rest)), own)
    np.put_along_axis(logarithms, best, own, axis=1)
    complements = np.log1p(-np.exp(np.minimum(logarithms, -np.log(2))))
    high = np.where(above_half, rest, np.take_along_axis(complements, best, axis=1))
    np.put_along_axis(complements, best, high, axis=1)
    return np.maximum(logarithms, _LOWEST), np.maximum(complements, _LOWEST)


def _of_label(rows: Floats, labels: Integers) -> Floats:
    return np.asarray(np.take_along_axis(rows, labels[:, None], axis=1)[:, 0])


def _builder(name: str) -> AttackBuilder:
    return AttackBuilder(needs=(Need.SCORES,), build=lambda _: MetricAttack(name))


LOSS = _builder("loss")
CONFIDENCE = _builder("confidence")
ENTROPY = _builder("entropy")
MODIFIED_ENTROPY = _builder("modified-entropy")
MODIFIED_ENTROPY_PER_CLASS = with_shadows(
    lambda known: MetricAttack("modified-entropy", shadow=known.offline)
)
