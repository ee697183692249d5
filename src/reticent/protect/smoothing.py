"""Randomised smoothing: predictions with a radius within which they do not change.

Cohen, Rosenfeld & Kolter 2019, on quantised inputs with exactly rounded noise (docs/theory.md I.5).
It is about small changes of a query. It promises nothing about training records: no ε follows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from scipy import special

from reticent.arrays import Array, ArrayLike, Floats
from reticent.guarantee import Sensitivity
from reticent.mechanisms import Gaussian
from reticent.validation import InputError, count, float_rows, open_probability, positive

STEP: Final = 2.0**-12
NO_PRIVACY: Final = (
    "a certificate is about changes of the query; it promises nothing about training records"
)
_AT_A_TIME: Final = 2**22
_SLACK: Final = 1e-12
"""Relative, for the inverse functions; radii are rounded down by it."""


class Classifier(Protocol):
    """Whatever answers a class to each row."""

    def predict(self, X: Any) -> Any:
        """One class for each row."""


class Certified(NamedTuple):
    """The class of a query, None where the smoothed classifier abstains, and its radius in L2."""

    label: Any
    radius: float
    probability: float
    """The lower limit of the probability of the class."""


@dataclass(frozen=True, kw_only=True)
class SmoothedClassifier:
    """The class that a classifier answers most often to a query with Gaussian noise.

    Args:
        model: The base classifier; it should have been trained on noisy rows.
        sigma: The standard deviation of the noise on each entry.
        choose: Draws on which the class is chosen.
        draws: Separate draws by which its probability is bounded.
        alpha: The probability with which the certificate of one query may be false.
        step: Queries are rounded to multiples of it first, a power of two.

    >>> class Sign:
    ...     def predict(self, X):
    ...         return (X[:, 0] > 0).astype(int)
    >>> smooth = SmoothedClassifier(model=Sign(), sigma=0.5, draws=2000)
    >>> (found,) = smooth.certify([[1.0, 0.0]])
    >>> int(found.label), 0.5 < found.radius <= 1.0
    (1, True)
    """

    model: Classifier
    sigma: float
    choose: int = 100
    draws: int = 1_000
    alpha: float = 1e-3
    step: float = STEP

    def __post_init__(self) -> None:
        """Numbers in range, NaN refused."""
        positive("sigma", self.sigma)
        count("choose", self.choose)
        count("draws", self.draws)
        open_probability("alpha", self.alpha)
        if math.frexp(positive("step", self.step))[0] != 0.5:
            raise InputError(f"step must be a power of two, got {self.step}")
        if not self.step <= self.sigma / 8:
            raise InputError(f"step must be at most sigma/8 = {self.sigma / 8:g}, got {self.step}")

    def certify(self, X: ArrayLike) -> list[Certified]:
        """The class and radius of each query; each may be false with probability α."""
        return [self._certified(row) for row in self._rounded(X)]

    def predict(self, X: ArrayLike) -> Array:
        """The class that is answered most often in ``choose`` draws; nothing is certified."""
        return np.asarray([self._most_often(row) for row in self._rounded(X)])

    def radius(self, probability: float, features: int) -> float:
        """σ·Φ⁻¹(p) less √d·step: rounding moves both ends, each by half of that at most."""
        if not probability > 0.5:
            return 0.0
        distance = self.sigma * float(special.ndtri(probability)) * (1 - _SLACK)
        return max(distance - math.sqrt(features) * self.step * (1 + _SLACK), 0.0)

    def votes(self, row: Floats, classes: Array) -> Floats:
        """How often each class is answered in ``choose`` draws around one query."""
        (rounded,) = self._rounded(row[None, :])
        answers = self._answers(rounded, self.choose)
        return np.asarray([np.sum(answers == name) for name in classes], dtype=np.float64)

    def _certified(self, row: Floats) -> Certified:
        label = self._most_often(row)
        hits = int(np.sum(self._answers(row, self.draws) == label))
        lower = clopper_pearson_lower(hits, self.draws, self.alpha)
        radius = self.radius(lower, len(row))
        return Certified(label if radius > 0 else None, radius, lower)

    def _most_often(self, row: Floats) -> Any:
        classes, times = np.unique(self._answers(row, self.choose), return_counts=True)
        return classes[times.argmax()]

    def _answers(self, row: Floats, draws: int) -> Array:
        """What the model answers to so many noisy copies, exactly rounded to the grid."""
        noise = Gaussian(scale=self.sigma, sensitivity=Sensitivity(l2=1.0))
        at_a_time = max(1, _AT_A_TIME // max(len(row), 1))
        parts: list[Array] = []
        for start in range(0, draws, at_a_time):
            copies = np.tile(row, (min(at_a_time, draws - start), 1))
            parts.append(np.asarray(self.model.predict(noise.release(copies, grid=self.step))))
        return np.concatenate(parts)

    def _rounded(self, X: ArrayLike) -> Floats:
        rows = float_rows("X", X)
        return np.asarray(np.rint(rows / self.step) * self.step)


def clopper_pearson_lower(hits: int, draws: int, alpha: float) -> float:
    """Above the true probability with probability α at most; rounded down."""
    if not 0 <= hits <= draws:
        raise InputError(f"hits must be within 0 and {draws}, got {hits}")
    if hits == 0:
        return 0.0
    return float(special.betaincinv(hits, draws - hits + 1, alpha)) * (1 - _SLACK)


def certified_accuracy(certified: Sequence[Certified], truth: ArrayLike, radius: float) -> Array:
    """Which queries are answered rightly within this radius, with the stated confidence each."""
    labels = np.asarray(truth).tolist()
    if len(labels) != len(certified):
        raise InputError(f"truth must hold {len(certified)} labels, got {len(labels)}")
    return np.array(
        [
            one.label == label and one.radius >= radius
            for one, label in zip(certified, labels, strict=True)
        ]
    )
