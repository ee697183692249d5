"""The loss of objective perturbation, bounded point by point (docs/theory.md I.2).

With shift a = L/σ and curvature κ the loss of either direction is at most κ + (a²/2 + a·Z)₊ where
one fixed direction is known up to a factor in [0, 1] (``directions`` = 1), Z standard normal, and
at most κ + a²/2 + a·χ_m where the gradient may point anywhere in m of them. A bound L* ≥ 0 of the
loss is itself the loss of a pair: P as it is, and Q with a further mass of 1 − E e^{−L*} where P
has none. That pair dominates both directions.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from reticent.accounting.dominating import GaussianPair, PoissonPair
from reticent.arrays import Floats

CUT = 1e-290
"""What is charged to δ for noise beyond its bound, and for the tail that is not tabled."""
_STEP = 2e-3
_SLACK = 1 + 1e-9
"""On tabled masses: scipy's are accurate to 1e-12."""


@dataclass(frozen=True)
class ObjectiveBound:
    """a = ``shift``, κ = ``curvature`` and m = ``directions`` of a bound L* on the loss."""

    shift: float
    curvature: float
    directions: int

    def delta(self, epsilons: Floats) -> Floats:
        """E(1 − e^{ε − L*})₊ for ε ≥ 0."""
        values = self._signed(epsilons) if self.directions == 1 else self._tabled(epsilons)
        return np.minimum(values + CUT, 1.0)

    def reach(self, delta: float) -> float:
        """An ε from which on δ(ε) is at most ``delta``: Pr[χ_m > √m + t] ≤ e^{−t²/2}."""
        tail = math.sqrt(2 * math.log(2 / delta))
        return self.curvature + self.shift**2 / 2 + self.shift * (math.sqrt(self.directions) + tail)

    @property
    def atom(self) -> None:
        """None that a grid should hit."""

    @property
    def missing(self) -> float:
        """1 − E e^{−L*}: Q's mass where P has none; δ(0), since L* ≥ 0."""
        return float(self.delta(np.zeros(1))[0])

    def _signed(self, epsilons: Floats) -> Floats:
        """δ of Gaussian noise at ε − κ; below κ it is 1 − 2·e^{ε−κ}·Φ(−a/2)."""
        rest = epsilons - self.curvature
        below = 1 - 2 * np.exp(np.minimum(rest, 0.0)) * special.ndtr(-self.shift / 2)
        above = GaussianPair(self.shift).delta(np.maximum(rest, 0.0))
        return np.where(rest < 0, below, above)

    @cached_property
    def _table(self) -> tuple[Floats, Floats, Floats]:
        """Losses, rounded up to a grid, and from each on the sums of p and of p·e^{−loss}."""
        most = math.sqrt(self.directions) + 40.0
        points: Floats = _STEP * np.arange(1, math.ceil(most / _STEP) + 1, dtype=np.float64)
        squares = np.concatenate([[0.0], points]) ** 2
        lower, upper = (tail(self.directions, squares) for tail in (special.chdtr, special.chdtrc))
        between = np.where(lower[1:] < 0.5, np.diff(lower), -np.diff(upper))
        masses = np.maximum(between, 0.0) * _SLACK
        losses: Floats = self.curvature + self.shift**2 / 2 + self.shift * points
        return losses, _from_each_on(masses), _from_each_on(masses * np.exp(-losses))

    def _tabled(self, epsilons: Floats) -> Floats:
        losses, masses, damped = self._table
        first = np.searchsorted(losses, epsilons, side="right")
        with np.errstate(over="ignore", invalid="ignore"):
            values = masses[first] - np.exp(epsilons) * damped[first]
        return np.maximum(np.nan_to_num(values), 0.0) + 1e-13 * masses[first]


def _from_each_on(values: Floats) -> Floats:
    """Sums of all values from each place on, and 0 after the last."""
    return np.append(np.cumsum(values[::-1])[::-1], 0.0)


@dataclass(frozen=True)
class ObjectiveLoss(PoissonPair):
    """The pair that dominates both directions; its own reverse is not needed."""

    @property
    def symmetric(self) -> bool:
        """One direction is enough: it dominates both neighbours' orders."""
        return True

    def removed(self, epsilons: Floats) -> Floats:
        """E(1 − e^{ε − L*})₊."""
        return self.pair.delta(epsilons)

    def added(self, epsilons: Floats) -> Floats:
        """Of Q against P: Q's mass where P has none, whatever ε is."""
        assert isinstance(self.pair, ObjectiveBound)
        return np.full_like(epsilons, self.pair.missing)

    def reach_removed(self, delta: float) -> float:
        """Where ``removed`` is down to δ."""
        return self.pair.reach(delta)

    def reach_added(self, delta: float) -> float:  # noqa: ARG002 - constant
        """No loss is below 0."""
        return 0.0
