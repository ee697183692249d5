"""What every mechanism offers: calibration, exact privacy, an event, a guarantee."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

from reticent.arrays import Array, ArrayLike
from reticent.guarantee import Event, Grade, Guarantee, Sensitivity, rounding, weakest
from reticent.guarantee.guarantee import ONE_RECORD, checked_by
from reticent.validation import InputError, NotCoveredError, describe, positive, probability

SCALE_SLACK = 2.0**-43
"""Calibrated scales are this much larger than the formula says, so that float error in the
formula, and the slack by which ``guarantee`` rounds ε up, never cross the requested ε."""
FRESH_SECURE_NOISE = checked_by(
    "noise is drawn anew for each release, from the operating system's randomness expanded by "
    "AES-CTR (computational differential privacy)",
    "randomness.SecureBits.words",
)


@dataclass(frozen=True, kw_only=True)
class Mechanism(ABC):
    """Noise of one scale, for functions of one sensitivity."""

    name: ClassVar[str]
    curve: ClassVar[str]
    """How δ(ε) and the RDP curve of this mechanism are to be read: "exact" or "upper bound"."""

    _drawn_by: ClassVar[str] = "release"
    """The method that draws the noise."""

    scale: float
    sensitivity: Sensitivity

    def __post_init__(self) -> None:
        """Refuse NaN, zero and infinite scales."""
        object.__setattr__(self, "scale", positive("scale", self.scale))
        if not isinstance(self.sensitivity, Sensitivity):
            raise InputError(f"sensitivity must be a Sensitivity, got {describe(self.sensitivity)}")

    @classmethod
    def calibrate(cls, sensitivity: Sensitivity, *, epsilon: float, delta: float) -> Self:
        """The mechanism with the least noise that is (ε, δ)-DP; its scale is rounded up."""
        epsilon = positive("epsilon", epsilon)
        delta = probability("delta", delta)
        scale = cls._least_scale(sensitivity, epsilon, delta)
        return cls(scale=positive("scale", scale * (1 + SCALE_SLACK)), sensitivity=sensitivity)

    @classmethod
    @abstractmethod
    def _least_scale(cls, sensitivity: Sensitivity, epsilon: float, delta: float) -> float: ...

    @abstractmethod
    def epsilon(self, *, delta: float) -> float:
        """The smallest ε that the theorems give at this δ."""

    @abstractmethod
    def delta(self, *, epsilon: float) -> float:
        """The smallest δ that the theorems give at this ε."""

    @abstractmethod
    def rdp(self, *, order: float) -> float:
        """The Rényi divergence of this order between neighbours, at most."""

    @abstractmethod
    def zcdp(self) -> float:
        """The ρ of zero-concentrated differential privacy: the supremum of rdp(order)/order."""

    @abstractmethod
    def release(self, value: ArrayLike) -> Array:
        """The value with fresh noise from the system's randomness; each call composes."""

    @abstractmethod
    def event(self) -> Event:
        """What an accountant needs to know of one release."""

    @property
    @abstractmethod
    def sampler(self) -> str:
        """How ``release`` draws, as it stands among a guarantee's checked assumptions."""

    def derivation(self, *, delta: float) -> str:  # noqa: ARG002 - where the theorem depends on it
        """By which theorem ``epsilon`` answers at this δ, as it stands in a guarantee."""
        return checked_by(
            f"ε from the {self.curve} privacy curve of {self.name} noise", self._defined("epsilon")
        )

    @property
    def sampling(self) -> str:
        """The line about ``sampler`` in a guarantee."""
        return checked_by(f"{self.name} noise: {self.sampler}", self._defined(self._drawn_by))

    def _defined(self, method: str) -> str:
        """Where this mechanism's method is written, as a checked line names it."""
        kind = next(one for one in type(self).__mro__ if method in vars(one))
        return f"{kind.__module__.removeprefix('reticent.')}.{kind.__name__}.{method}"

    def gdp(self) -> float:
        """The μ of Gaussian differential privacy, where there is one."""
        raise NotCoveredError(f"{self.name} has no Gaussian-DP parameter under this sensitivity")

    def guarantee(
        self, *, delta: float, epsilon: float | None = None, unit: str = ONE_RECORD
    ) -> Guarantee:
        """What one ``release`` promises at this δ; with ``epsilon``, that claim, verified.

        At most *declared*: a proven sensitivity alone does not prove a release, because nothing
        here ties it to the value that is released (``reticent.protect`` does).
        """
        delta = probability("delta", delta)
        least_epsilon = rounding.up(self.epsilon(delta=delta))
        if epsilon is not None and not least_epsilon <= positive("epsilon", epsilon):
            raise InputError(
                f"epsilon must be >= {rounding.upper_text(least_epsilon)}, what this {self.name}"
                f" noise gives at delta = {delta}, got {epsilon}"
            )
        return Guarantee(
            epsilon=least_epsilon if epsilon is None else epsilon,
            delta=delta,
            grade=weakest((Grade.DECLARED, self.sensitivity.grade)),
            relation=self.sensitivity.relation,
            unit=unit,
            gamma=self.sensitivity.gamma,
            checked=(self.derivation(delta=delta), self.sampling, FRESH_SECURE_NOISE),
            stated=(f"the sensitivity: {self.sensitivity.source}",),
        )
