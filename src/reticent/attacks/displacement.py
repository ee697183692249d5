"""White box without the data (Leino & Fredrikson 2020, "stolen memories").

The adversary has the model and records of its own. Proxies trained on those show what the weights
owe to the population; what is left, the displacement D = Ŵ − W̃, they owe to the training records:
score(x, y) = ⟨D_y, h⟩ + b_y. Of a deeper network the upper layers are displaced: proxies of them
are trained on what the target's own lower layers give, and the class logit is linearised at h. The
linear function has there the value of the logit itself, so with its offset the score is a
difference of two class logits, and gradient times activation says which features carry it.

Adding a vector to all rows of W changes no answer of a softmax, and training never moves it: logits
are taken relative to their mean over the classes.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from reticent.arrays import Array, ArrayLike, Floats
from reticent.attacks import gradients, released_weights, targets
from reticent.attacks.attack import Attack, AttackBuilder, Need, Scores
from reticent.attacks.records import Records
from reticent.attacks.shadows import Shadows
from reticent.protect import Release
from reticent.randomness import seeded
from reticent.training import MLPHead
from reticent.validation import InputError, count, float_array, open_probability


@dataclass(frozen=True, kw_only=True, eq=False)
class Displacement:
    """The upper layers of a target beside those of its proxies."""

    target: gradients.DenseLayers
    proxies: list[gradients.DenseLayers]
    activation: str
    classes: Array

    def logits(self, h: Floats) -> Floats:
        """The target's minus the proxies' average, relative to the mean over the classes."""
        ours = self._logits(self.target, h)
        moved = ours - np.mean([self._logits(layers, h) for layers in self.proxies], axis=0)
        return np.asarray(moved - moved.mean(axis=1, keepdims=True))

    def weights(self, h: Floats) -> Floats:
        """D at each of these activations, records × classes × width: the derivative of ``logits``.

        Where only the last layer is displaced it is Ŵ − W̃ for all of them.
        """
        ours = self._jacobian(self.target, h)
        moved = ours - np.mean([self._jacobian(layers, h) for layers in self.proxies], axis=0)
        return np.asarray(moved - moved.mean(axis=1, keepdims=True))

    def _logits(self, layers: gradients.DenseLayers, h: Floats) -> Floats:
        return gradients.forward(self._model(layers, h))[1][-1]

    def _jacobian(self, layers: gradients.DenseLayers, h: Floats) -> Floats:
        _, outputs = gradients.forward(self._model(layers, h))
        moved = np.broadcast_to(layers[-1][0], (len(h), *layers[-1][0].shape))
        for place in range(len(layers) - 1, 0, -1):
            moved = moved * gradients.slopes(outputs[place - 1], self.activation)[:, None, :]
            moved = moved @ layers[place - 1][0]
        return np.asarray(moved)

    def _model(self, layers: gradients.DenseLayers, h: Floats) -> gradients.DenseModel:
        return gradients.DenseModel(
            rows=h, layers=layers, activation=self.activation, classes=self.classes
        )


class DisplacementAttack(Attack[Any]):
    """⟨D_y, h⟩ + b_y of each record, for SoftmaxHead, MLPHead and released softmax heads.

    Args:
        own: The adversary's records, about twice as many as the target's; none of the target's.
        shadows: Heads of the target's kind whose members the adversary chose, from a pool that
            shares no record with ``own``: on them the threshold is set. Without them there is none.
        precision: The share of members among those that it calls members, where both are equally
            many; the threshold is the lowest that has it on the shadows.
        last: How many layers, from the output on, are displaced.
        proxies: How many heads are averaged; each is trained on a random half of ``own``.
        seed: Of the halves, and of the proxies' training.
    """

    name = "displacement"

    def __init__(
        self,
        *,
        own: Records,
        shadows: Shadows | None = None,
        precision: float = 0.9,
        last: int = 1,
        proxies: int = 4,
        seed: int = 0,
    ) -> None:
        if not isinstance(own, Records) or len(own) < 2:
            raise InputError("own must be records, at least two, got fewer")
        if shadows is not None and set(own.keys) & set(shadows.pool.keys):
            raise InputError("own must share no record with the shadows' pool, got common ones")
        self.own, self._shadows = own, shadows
        self._precision = open_probability("precision", precision)
        self._last, self._proxies = count("last", last), count("proxies", proxies)
        self._seed = count("seed", seed, at_least=0)
        knows = ("records of its own",) if shadows is None else ("records of its own", "shadows")
        self.threat = targets.Threat(access=targets.Access.WEIGHTS, knows=knows)

    def scores(self, target: Any, records: Records) -> Scores:
        """The displaced logit of each record's class; minus the threshold where there is one."""
        values = self._values(target, records)
        if self._shadows is None:
            return Scores(attack=self.name, threat=self.threat, values=values)
        threshold, precision_reached = self._calibrated
        missed = f"precision {self._precision} was not reached on the shadows: nobody is named"
        return Scores(
            attack=self.name,
            threat=self.threat,
            values=values - threshold,
            decides_at=0.0,
            notes=() if precision_reached else (missed,),
        )

    def displacement(self, target: Any) -> Displacement:
        """D of this target: its proxies are trained here."""
        model = target.model if isinstance(target, targets.ModelTarget) else target
        dense = gradients.dense_model(model, self.own)
        if self._last > len(dense.layers):
            raise InputError(
                f"last must be at most the target's {len(dense.layers)} layers, got {self._last}"
            )
        inputs = self.own.inputs if self._last == len(dense.layers) else self._below(dense)
        return Displacement(
            target=dense.layers[-self._last :],
            proxies=[self._proxy(model, inputs, place) for place in range(self._proxies)],
            activation=dense.activation,
            classes=dense.classes,
        )

    def _values(self, target: Any, records: Records) -> Floats:
        displacement = self.displacement(target)
        dense = gradients.dense_model(target, records)
        moved = displacement.logits(self._below(dense))
        return np.asarray(moved[np.arange(len(records)), records.among(dense.classes)])

    def _below(self, dense: gradients.DenseModel) -> Floats:
        """h: what goes into the first displaced layer."""
        below = dense.layers[: len(dense.layers) - self._last]
        if not below:
            return dense.rows
        return gradients.activated(
            gradients.forward(replace(dense, layers=below))[1][-1], dense.activation
        )

    def _proxy(self, model: Any, inputs: Array, place: int) -> gradients.DenseLayers:
        """Layers like the displaced ones, trained on a random half of the adversary's records."""
        order = seeded("records of a proxy", self._seed, place).permutation(len(self.own))
        rows = order[: (len(order) + 1) // 2]
        head = self._untrained(model)
        if isinstance(head, MLPHead):
            head.set_params(seed=int(seeded("a proxy", self._seed, place).integers(2**31)))
        head.fit(inputs[rows], self.own.labels[rows])
        return list(head.weights_) if isinstance(head, MLPHead) else [(head.weights_, None)]

    def _untrained(self, model: Any) -> Any:
        """The target's recipe for its displaced layers; a proxy's normaliser is its own size."""
        if isinstance(model, MLPHead):
            upper = clone(model).set_params(classes=model.classes_.tolist(), layers=self._last)
            return upper if self._last == len(model.weights_) else upper.set_params(bound=None)
        head = (
            released_weights.convex_head_of(model) if isinstance(model, Release) else clone(model)
        )
        return head.set_params(classes=model.classes_.tolist(), records=None, tolerance=None)

    @cached_property
    def _calibrated(self) -> tuple[float, bool]:
        """The threshold, and whether the precision was reached."""
        assert self._shadows is not None
        values = np.stack([self._values(m, self._shadows.pool) for m in self._shadows.models])
        inside = self._shadows.inside
        return threshold_at(values[inside], values[~inside], precision=self._precision)


def threshold_at(members: ArrayLike, others: ArrayLike, *, precision: float) -> tuple[float, bool]:
    """The lowest threshold above which TPR/(TPR + FPR) reaches the precision, and whether one does.

    Where none does it is the highest score: nothing lies above it.

    >>> threshold_at([1.0, 2.0, 3.0, 4.0], [0.0, 0.5, 1.5, 2.5], precision=0.7)
    (1.5, True)
    """
    inside, outside = (
        np.sort(float_array("members", members)),
        np.sort(float_array("others", others)),
    )
    levels = np.unique(np.concatenate([inside, outside]))
    tpr = 1 - np.searchsorted(inside, levels, side="right") / len(inside)
    fpr = 1 - np.searchsorted(outside, levels, side="right") / len(outside)
    with np.errstate(invalid="ignore"):
        good = tpr / (tpr + fpr) >= precision
    return (float(levels[np.argmax(good)]), True) if good.any() else (float(levels[-1]), False)


DISPLACEMENT = AttackBuilder(
    needs=(Need.HEAD, Need.SHADOW),
    build=lambda known: DisplacementAttack(own=known.own, seed=known.seed),
)
