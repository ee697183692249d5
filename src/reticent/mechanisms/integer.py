"""Exact integer noise for integer-valued queries (Canonne, Kamath, Steinke 2020).

An independent way to the same guarantees: no floats touch the draw, so counts need no rounding.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from reticent import validation
from reticent.arrays import ArrayLike, Integers
from reticent.guarantee import Sensitivity, ZcdpEvent, rounding
from reticent.mechanisms import mechanism, pure
from reticent.mechanisms.profiles import conversions

_SCALE_BITS = 20
"""Calibrated scales keep this many bits, so that the exact samplers' integers stay small."""


@dataclass(frozen=True, kw_only=True)
class IntegerMechanism(mechanism.Mechanism):
    """integers + integer noise; the sensitivity is that of the integer-valued function."""

    _drawn_by = "_noise"

    @classmethod
    def calibrate(cls, sensitivity: Sensitivity, *, epsilon: float, delta: float) -> Self:
        """The least noise that is (ε, δ)-DP, its scale rounded up to 20 bits."""
        needed = super().calibrate(sensitivity, epsilon=epsilon, delta=delta).scale
        step = 2.0 ** (math.frexp(needed)[1] - _SCALE_BITS)
        return cls(
            scale=validation.positive("scale", math.ceil(needed / step) * step),
            sensitivity=sensitivity,
        )

    def release(self, value: ArrayLike) -> Integers:
        """A noisy copy of an integer array of any shape. Each call is a release and composes."""
        array = validation.integer_array("value", value)
        return array + self._noise(array.size).reshape(array.shape)

    @property
    def sampler(self) -> str:
        """How ``release`` draws its noise, in words for a guarantee."""
        return (
            "integers drawn by exact rejection, without floats, up to a total variation of e^-255"
        )

    @property
    def _fraction(self) -> Fraction:
        return Fraction(self.scale)

    @abstractmethod
    def _noise(self, size: int) -> Integers: ...


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplace(pure.PureMechanism, IntegerMechanism):
    """P(k) ∝ exp(−|k|/scale): pure ε = Δ₁/scale."""

    name = "discrete laplace"

    @classmethod
    def _bound(cls, sensitivity: Sensitivity) -> float:
        return sensitivity.require_l1(cls.name)

    def _noise(self, size: int) -> Integers:
        from reticent.mechanisms.integer_noise import discrete_laplace

        return discrete_laplace(size, scale=self._fraction)


@dataclass(frozen=True, kw_only=True)
class DiscreteLogistic(pure.PureMechanism, IntegerMechanism):
    """P(k) ∝ 1/cosh²(k/(2·scale)): neighbouring weights differ by less than e^{1/scale}."""

    name = "discrete logistic"

    @classmethod
    def _bound(cls, sensitivity: Sensitivity) -> float:
        return sensitivity.require_l1(cls.name)

    def _noise(self, size: int) -> Integers:
        from reticent.mechanisms.integer_noise import discrete_logistic

        return discrete_logistic(size, scale=self._fraction)


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian(IntegerMechanism):
    """P(k) ∝ exp(−k²/(2·scale²)): ρ = Δ₂²/(2·scale²); (ε, δ) by way of zCDP, an upper bound."""

    name = "discrete gaussian"
    curve = "upper bound"

    @classmethod
    def _least_scale(cls, sensitivity: Sensitivity, epsilon: float, delta: float) -> float:
        if delta == 0:
            raise validation.InputError(
                f"delta must be > 0 for {cls.name} noise, got 0; use a pure mechanism"
            )
        return sensitivity.require_l2(cls.name) / math.sqrt(
            2 * conversions.zcdp_for(epsilon, delta)
        )

    def zcdp(self) -> float:
        """Δ₂²/(2·scale²) (Canonne, Kamath & Steinke 2020, Theorem 4)."""
        return (self.sensitivity.require_l2(self.name) / self.scale) ** 2 / 2

    def epsilon(self, *, delta: float) -> float:
        """The ε at this δ that its ρ-zCDP gives."""
        return conversions.zcdp_to_epsilon(self.zcdp(), validation.probability("delta", delta))

    def delta(self, *, epsilon: float) -> float:
        """The δ at this ε that its ρ-zCDP gives."""
        return conversions.zcdp_to_delta(self.zcdp(), validation.non_negative("epsilon", epsilon))

    def rdp(self, *, order: float) -> float:
        """The Rényi divergence α·ρ at this order."""
        return validation.renyi_order("order", order) * self.zcdp()

    def event(self) -> ZcdpEvent:
        """One release, as an accountant sees it."""
        return ZcdpEvent(rho=rounding.up(self.zcdp()))

    def _noise(self, size: int) -> Integers:
        from reticent.mechanisms.integer_noise import discrete_gaussian

        return discrete_gaussian(size, variance=self._fraction**2)
