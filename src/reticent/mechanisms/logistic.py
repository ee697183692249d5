"""The additive logistic mechanism (Yang, Gohari, Topcu 2022): value + Logistic(0, scale).

Pure ε = Δ₁/scale. The exact profile used below is derived in docs/theory.md, section A.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reticent.arrays import Floats
from reticent.guarantee import LogisticEvent
from reticent.mechanisms.additive import CoordinatewiseMechanism, Profile
from reticent.mechanisms.profiles import logistic


@dataclass(frozen=True, kw_only=True)
class Logistic(CoordinatewiseMechanism):
    """Pure ε = Δ₁/scale; ρ ≤ (Δ₂/scale)²/6 where only an L2 bound is known.

    >>> from reticent import Sensitivity
    >>> head = Logistic.calibrate(Sensitivity(l1=0.017492), epsilon=1.0, delta=0.0)
    >>> round(head.std, 4)
    0.0317
    """

    name = "logistic"
    profile: ClassVar[Profile] = logistic
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
