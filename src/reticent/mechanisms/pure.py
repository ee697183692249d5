"""Mechanisms of which no more is used than that they are ε-DP: bounds, not exact curves."""

import math
from abc import abstractmethod
from dataclasses import dataclass

from reticent.guarantee import PureEvent, Sensitivity
from reticent.mechanisms.base import Mechanism
from reticent.mechanisms.profiles import pure
from reticent.validation import non_negative, probability, renyi_order


@dataclass(frozen=True, kw_only=True)
class PureMechanism(Mechanism):
    """ε₀ = bound/scale; the rest is that of randomised response, the worst ε₀-DP release."""

    curve = "upper bound"

    @classmethod
    @abstractmethod
    def _bound(cls, sensitivity: Sensitivity) -> float:
        """The part of the sensitivity that the pure ε is proportional to."""

    @classmethod
    def _least_scale(cls, sensitivity: Sensitivity, epsilon: float, delta: float) -> float:
        return cls._bound(sensitivity) / pure.shift(epsilon, delta)

    @property
    def pure_epsilon(self) -> float:
        """ε₀, the ε at δ = 0."""
        return self._bound(self.sensitivity) / self.scale

    def epsilon(self, *, delta: float) -> float:
        """At most this, whatever the ε₀-DP mechanism."""
        return pure.epsilon(self.pure_epsilon, probability("delta", delta))

    def delta(self, *, epsilon: float) -> float:
        """At most this, whatever the ε₀-DP mechanism."""
        return pure.delta(self.pure_epsilon, non_negative("epsilon", epsilon))

    def rdp(self, *, order: float) -> float:
        """At most this, whatever the ε₀-DP mechanism."""
        return pure.rdp(self.pure_epsilon, renyi_order("order", order))

    def zcdp(self) -> float:
        """ρ of zero-concentrated DP that a pure ε₀ implies: at most ε₀·tanh(ε₀/2)."""
        return pure.zcdp(self.pure_epsilon)

    def gdp(self) -> float:
        """2·Φ⁻¹(e^{ε₀}/(1 + e^{ε₀})) at most."""
        return pure.gdp(self.pure_epsilon)

    def event(self) -> PureEvent:
        """One release, as an accountant sees it."""
        return PureEvent(epsilon=math.nextafter(self.pure_epsilon, math.inf))
