"""The L2-Laplace mechanism: density ∝ exp(−‖noise‖₂/scale) over the whole vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from reticent.arrays import Floats
from reticent.guarantee import Sensitivity
from reticent.mechanisms.additive import AdditiveMechanism
from reticent.mechanisms.pure import PureMechanism
from reticent.validation import InputError, count


@dataclass(frozen=True, kw_only=True)
class L2Laplace(PureMechanism, AdditiveMechanism):
    """Pure ε = Δ₂/scale; the norm is Gamma(dimension, scale), the direction uniform.

    ``dimension`` may stay None until a release; ``std`` needs it.

    >>> from reticent import Sensitivity
    >>> noise = L2Laplace.calibrate(Sensitivity(l2=1.0), epsilon=2.0, delta=0.0)
    >>> round(noise.in_dimension(99).std, 6)
    5.0
    """

    norm: ClassVar[Literal["l1", "l2"]] = "l2"
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

    def in_dimension(self, dimension: int) -> L2Laplace:
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
