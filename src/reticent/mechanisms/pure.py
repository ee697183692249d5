"""Mechanisms with a pure ε = Δ/scale.

- Laplace (Dwork, McSherry, Nissim, Smith 2006): value + Laplace(0, scale).
- Logistic (Yang, Gohari, Topcu 2022): value + Logistic(0, scale); the exact profile is derived in
  docs/theory.md, section A.
- L2-Laplace: density ∝ exp(−‖noise‖₂/scale) over the whole vector.
- ``PureMechanism``: of which no more is used than that it is ε-DP; bounds, not exact curves.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reticent.arrays import Floats
from reticent.guarantee import LaplaceEvent, LogisticEvent, PureEvent, Sensitivity
from reticent.mechanisms import additive, mechanism
from reticent.mechanisms.profiles import laplace, logistic, pure
from reticent.validation import InputError, count, non_negative, probability, renyi_order


@dataclass(frozen=True, kw_only=True)
class PureMechanism(mechanism.Mechanism):
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


@dataclass(frozen=True, kw_only=True)
class Laplace(additive.CoordinatewiseMechanism):
    """Pure ε = Δ₁/scale; ρ ≤ (Δ₂/scale)²/2 where only an L2 bound is known.

    >>> from reticent import Sensitivity
    >>> smokers = Laplace.calibrate(Sensitivity(l1=1.0), epsilon=0.1, delta=0.0)
    >>> round(smokers.scale, 6)
    10.0
    """

    name = "laplace"
    profile: ClassVar[additive.Profile] = laplace
    event_type = LaplaceEvent

    @property
    def std(self) -> float:
        """The standard deviation √2·scale of the noise."""
        return math.sqrt(2) * self.scale

    def _rounded(self, value: Floats, grid: float | None) -> Floats:
        from reticent.mechanisms.rounded import rounded_laplace

        return rounded_laplace(value, scale=self.scale, grid=grid)

    def _log_density(self, noise: Floats) -> Floats:
        density: Floats = -np.abs(noise) / self.scale - math.log(2 * self.scale)
        return np.asarray(density.sum(axis=-1))

    def _float_noise(self, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        return np.asarray(generator.laplace(scale=self.scale, size=shape))


@dataclass(frozen=True, kw_only=True)
class Logistic(additive.CoordinatewiseMechanism):
    """Pure ε = Δ₁/scale; ρ ≤ (Δ₂/scale)²/6 where only an L2 bound is known.

    >>> from reticent import Sensitivity
    >>> head = Logistic.calibrate(Sensitivity(l1=0.017492), epsilon=1.0, delta=0.0)
    >>> round(head.std, 4)
    0.0317
    """

    name = "logistic"
    profile: ClassVar[additive.Profile] = logistic
    event_type = LogisticEvent

    @property
    def std(self) -> float:
        """The standard deviation π/√3·scale of the noise."""
        return math.pi / math.sqrt(3) * self.scale

    def _rounded(self, value: Floats, grid: float | None) -> Floats:
        from reticent.mechanisms.rounded import rounded_logistic

        return rounded_logistic(value, scale=self.scale, grid=grid)

    def _log_density(self, noise: Floats) -> Floats:
        size = np.abs(noise) / self.scale
        density: Floats = -size - 2 * np.log1p(np.exp(-size)) - math.log(self.scale)
        return np.asarray(density.sum(axis=-1))

    def _float_noise(self, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        return np.asarray(generator.logistic(scale=self.scale, size=shape))


@dataclass(frozen=True, kw_only=True)
class L2Laplace(PureMechanism, additive.AdditiveMechanism):
    """Pure ε = Δ₂/scale; the norm is Gamma(dimension, scale), the direction uniform.

    ``dimension`` may stay None until a release; ``std`` needs it.

    >>> from reticent import Sensitivity
    >>> noise = L2Laplace.calibrate(Sensitivity(l2=1.0), epsilon=2.0, delta=0.0)
    >>> round(noise.in_dimension(99).std, 6)
    5.0
    """

    norm: ClassVar[additive.Norm] = "l2"
    is_joint: ClassVar[bool] = True
    name = "l2-laplace"
    dimension: int | None = None

    def __post_init__(self) -> None:
        """Check the dimension, where it is given, and that an L2 bound is there."""
        super().__post_init__()
        self._bound(self.sensitivity)
        if self.dimension is not None:
            object.__setattr__(self, "dimension", count("dimension", self.dimension))

    @classmethod
    def _bound(cls, sensitivity: Sensitivity) -> float:
        return sensitivity.require_l2(cls.name)

    def in_dimension(self, dimension: int) -> "L2Laplace":
        """The same noise for vectors of this length."""
        return L2Laplace(scale=self.scale, sensitivity=self.sensitivity, dimension=dimension)

    @property
    def std(self) -> float:
        """scale·√(dimension + 1), since E‖noise‖² = d(d+1)·scale²."""
        if self.dimension is None:
            raise InputError("dimension must be known for the std of l2-laplace noise, got None")
        return self.scale * math.sqrt(self.dimension + 1)

    def std_in(self, size: int) -> float:
        """The standard deviation scale·√(size + 1) on one of ``size`` entries."""
        return self.in_dimension(size).std

    def grid_in(self, size: int) -> float:
        """The grid of √size times the scale: so wide is the noise on one of ``size`` entries."""
        from reticent.mechanisms.rounded.l2_laplace import l2_laplace_grid

        return l2_laplace_grid(self.scale, size)

    def _rounded(self, value: Floats, grid: float | None) -> Floats:
        from reticent.mechanisms.rounded import rounded_l2_laplace

        self._check_size(value.size)
        return rounded_l2_laplace(value, scale=self.scale, grid=grid)

    def _log_density(self, noise: Floats) -> Floats:
        size = noise.shape[-1]
        self._check_size(size)
        log_sphere = math.log(2) + size / 2 * math.log(math.pi) - math.lgamma(size / 2)
        constant = log_sphere + math.lgamma(size) + size * math.log(self.scale)
        return np.asarray(-np.linalg.norm(noise, axis=-1) / self.scale - constant)

    def _float_noise(self, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        direction = generator.normal(size=shape)
        radius = generator.gamma(shape=direction.size, scale=self.scale)
        return np.asarray(radius * direction / np.linalg.norm(direction))

    def _check_size(self, size: int) -> None:
        if self.dimension is not None and size != self.dimension:
            raise InputError(f"value must have {self.dimension} entries, got {size}")
