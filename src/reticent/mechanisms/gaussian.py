"""The Gaussian mechanism, analytic (Balle & Wang 2018) and as the textbooks calibrate it."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from reticent import validation
from reticent.arrays import Floats, Floats32
from reticent.guarantee import GaussianEvent, Grade, Guarantee, Sensitivity, rounding, weakest
from reticent.guarantee.guarantee import ONE_RECORD
from reticent.mechanisms.additive import AdditiveMechanism, Norm
from reticent.mechanisms.profiles import gaussian


@dataclass(frozen=True, kw_only=True)
class Gaussian(AdditiveMechanism):
    """value + N(0, scale²), μ = Δ₂/scale.

    >>> from reticent import Sensitivity
    >>> head = Gaussian.calibrate(Sensitivity(l2=0.013842), epsilon=1.0, delta=1e-5)
    >>> round(head.std, 4)
    0.0516
    """

    norm: ClassVar[Norm] = "l2"
    needs_delta: ClassVar[bool] = True
    name = "gaussian"
    curve = "exact"

    def __post_init__(self) -> None:
        """An L2 bound must be there."""
        super().__post_init__()
        self.sensitivity.require_l2(self.name)

    @classmethod
    def _least_scale(cls, sensitivity: Sensitivity, epsilon: float, delta: float) -> float:
        if delta == 0:
            raise validation.InputError(
                f"delta must be > 0 for {cls.name} noise, got 0; use a pure mechanism"
            )
        return sensitivity.require_l2(cls.name) / gaussian.shift(epsilon, delta)

    @property
    def std(self) -> float:
        """The standard deviation of the noise: the scale itself."""
        return self.scale

    def gdp(self) -> float:
        """μ = Δ₂/scale of Gaussian DP, exact."""
        return self.sensitivity.require_l2(self.name) / self.scale

    def epsilon(self, *, delta: float) -> float:
        """The smallest ε at this δ, exact."""
        return gaussian.epsilon(self.gdp(), validation.probability("delta", delta))

    def delta(self, *, epsilon: float) -> float:
        """The smallest δ at this ε, exact."""
        return gaussian.delta(self.gdp(), validation.non_negative("epsilon", epsilon))

    def rdp(self, *, order: float) -> float:
        """The Rényi divergence α·μ²/2 at this order."""
        return gaussian.rdp(self.gdp(), validation.renyi_order("order", order))

    def zcdp(self) -> float:
        """ρ = μ²/2 of zero-concentrated DP."""
        return gaussian.zcdp(self.gdp())

    def event(self) -> GaussianEvent:
        """One release, as an accountant sees it."""
        bound = self.sensitivity.require_l2(self.name)
        return GaussianEvent(noise_multiplier=rounding.quotient_down(self.scale, bound))

    def release_over_float32(self, value: Floats32) -> Floats32:
        """value + N(0, scale²) in float32, from secure bits and without the exact sampler."""
        from reticent.mechanisms.float32_noise import add_gaussian

        add_gaussian(value, self.scale)
        return value

    def _rounded(self, value: Floats, grid: float | None) -> Floats:
        from reticent.mechanisms.rounded import rounded_gaussian

        return rounded_gaussian(value, scale=self.scale, grid=grid)

    def _log_density(self, noise: Floats) -> Floats:
        constant = math.log(self.scale) + 0.5 * math.log(2 * math.pi)
        density: Floats = -((noise / self.scale) ** 2) / 2 - constant
        return np.asarray(density.sum(axis=-1))

    def _float_noise(self, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        return np.asarray(generator.normal(scale=self.scale, size=shape))


@dataclass(frozen=True, kw_only=True)
class ClassicalGaussian(Gaussian):
    """Gaussian noise with σ = Δ₂·√(2·ln(1.25/δ))/ε, as the papers publish it.

    The theorem behind that σ ends at ε < 1. From there on the claim is graded *published*; what
    the noise really gives stands in ``epsilon`` and ``delta``, as for every Gaussian.
    """

    name = "classical gaussian"
    claimed_epsilon: float
    claimed_delta: float

    @classmethod
    def calibrate(cls, sensitivity: Sensitivity, *, epsilon: float, delta: float) -> Self:
        """The textbook's σ = Δ₂·√(2 ln(1.25/δ))/ε."""
        epsilon = validation.positive("epsilon", epsilon)
        delta = validation.open_probability("delta", delta)
        bound = sensitivity.require_l2(cls.name)
        return cls(
            scale=gaussian.classical_scale(bound, epsilon, delta),
            sensitivity=sensitivity,
            claimed_epsilon=epsilon,
            claimed_delta=delta,
        )

    def published_guarantee(self, *, unit: str = ONE_RECORD) -> Guarantee:
        """The claim of the formula: declared below ε = 1, published from there on."""
        grade = Grade.DECLARED if self.claimed_epsilon < 1 else Grade.PUBLISHED
        return replace(
            self.guarantee(delta=self.claimed_delta, unit=unit),
            epsilon=self.claimed_epsilon,
            grade=weakest((grade, self.sensitivity.grade)),
        )
