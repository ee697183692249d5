"""The Laplace mechanism (Dwork, McSherry, Nissim, Smith 2006): value + Laplace(0, scale)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reticent.arrays import Floats
from reticent.guarantee import LaplaceEvent
from reticent.mechanisms.additive import CoordinatewiseMechanism, Profile
from reticent.mechanisms.profiles import laplace


@dataclass(frozen=True, kw_only=True)
class Laplace(CoordinatewiseMechanism):
    """Pure ε = Δ₁/scale; ρ ≤ (Δ₂/scale)²/2 where only an L2 bound is known.

    >>> from reticent import Sensitivity
    >>> smokers = Laplace.calibrate(Sensitivity(l1=1.0), epsilon=0.1, delta=0.0)
    >>> round(smokers.scale, 6)
    10.0
    """

    name = "laplace"
    profile: ClassVar[Profile] = laplace
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
