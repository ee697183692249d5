"""Two rows of a comparison that no theorem of ours covers, for whoever asks for them by name.

Randomised smoothing says what a change of a query cannot do, and nothing about training records:
its row has no claim. Algorithm 5.2 is released by the constants as they were printed, and graded so
(``protect.published.functional``); rows are unit rows with a constant entry, scaled to norm 1.
"""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import special

from reticent.arrays import Array, Floats
from reticent.protect.published.functional import FunctionalMechanism
from reticent.protect.smoothing import SmoothedClassifier, certified_accuracy
from reticent.results import conversions
from reticent.results.protections import Certified, Protection
from reticent.training.features import scale_rows
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.run.protections import Bench

SMOOTHING, PRINTED = "smoothing", "algorithm-5.2"
SIGMA: Final = 0.25
"""Of the noise on a query; rows have norm 1."""
RADIUS: Final = 0.25
_QUERIES: Final = 500
"""That are predicted and certified: each takes 1,100 answers."""
_INTERCEPT: Final = 0.1


class SmoothedHead:
    """A head that answers with the shares of its answers to a query with noise."""

    def __init__(self, head: Any) -> None:
        self.classes_: Array = np.asarray(head.classes_)
        self.smoothed = SmoothedClassifier(model=head, sigma=SIGMA)

    def predict_proba(self, X: Floats) -> Floats:
        """A column per class; one draw is added to each, so that no logarithm is infinite."""
        answers = [self.smoothed.votes(row, self.classes_) for row in scale_rows(X, 1.0)]
        counts = np.asarray(answers) + 1.0
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def predict(self, X: Floats) -> Array:
        """The class that is answered most often."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


class PrintedHead:
    """The minimum of Algorithm 5.2 on two classes, as a linear model."""

    def __init__(self, bench: "Bench") -> None:
        self.classes_: Array = np.asarray(bench.private.classes)
        if len(self.classes_) != 2:
            raise InputError(f"classes must be 2 for {PRINTED}, got {len(self.classes_)}")
        rows = _longer(bench.private.features.astype(np.float64))
        mechanism = FunctionalMechanism(
            features=rows.shape[1], epsilon=bench.spec.epsilon, loss="logistic"
        )
        self.guarantee = mechanism.guarantee
        self.weights = mechanism.release(rows, 2.0 * np.asarray(bench.private.labels) - 1)

    def predict_proba(self, X: Floats) -> Floats:
        """Of both classes, by the logistic function."""
        second = special.expit(_longer(np.asarray(X, dtype=np.float64)) @ self.weights)
        return np.column_stack([1 - second, second])

    def predict(self, X: Floats) -> Array:
        """The class on whose side a row lies."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def _longer(rows: Floats) -> Floats:
    unit = scale_rows(rows, 1.0)
    return scale_rows(np.column_stack([unit, np.full(len(unit), _INTERCEPT)]), 1.0)


def smoothed(bench: "Bench") -> Protection:
    """The head without protection behind randomised smoothing, some queries certified."""
    began = time.perf_counter()
    model = SmoothedHead(bench.free_head)
    asked = bench.scored.take(np.arange(min(len(bench.scored), _QUERIES)))
    hits = [np.asarray(model.predict(asked.inputs) == asked.labels)]
    certified = model.smoothed.certify(scale_rows(np.asarray(asked.inputs, dtype=float), 1.0))
    sure = certified_accuracy(certified, asked.labels, RADIUS)
    return Protection(
        recipe=SMOOTHING,
        mechanism="gaussian",
        place="each query",
        claim=None,
        accuracy=conversions.accuracy_of(hits),
        draws=1,
        seconds=round(time.perf_counter() - began, 3),
        attacks=bench.attacks_on(model, few=_QUERIES),
        certified=Certified(
            accuracy=conversions.accuracy_of([sure]),
            radius=RADIUS,
            confidence=1 - model.smoothed.alpha,
        ),
    )


def printed(bench: "Bench") -> Protection:
    """Algorithm 5.2 as published, at δ = 0 and under replace-one, whatever was asked."""
    began = time.perf_counter()
    models = [PrintedHead(bench) for _ in range(bench.spec.draws)]
    seconds = (time.perf_counter() - began) / len(models)
    hits = [bench.hits(model) for model in models]
    return Protection(
        recipe=PRINTED,
        mechanism="laplace",
        place="coefficients of the loss",
        claim=conversions.claim_of(models[0].guarantee),
        accuracy=conversions.accuracy_of(hits),
        by_class=bench.by_class(hits),
        draws=bench.spec.draws,
        seconds=round(seconds, 3),
        attacks=bench.attacks_on(models[0]),
    )


ROWS: Final[Mapping[str, Callable[["Bench"], Protection]]] = {SMOOTHING: smoothed, PRINTED: printed}
