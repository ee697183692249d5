"""Mechanisms that add noise to a vector; of some (coordinatewise) it is i.i.d. per entry."""

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol, Self

import numpy as np

from reticent import validation
from reticent.arrays import ArrayLike, Floats, Floats32
from reticent.guarantee import Guarantee, LaplaceEvent, LogisticEvent, Sensitivity, rounding
from reticent.guarantee.guarantee import checked_by
from reticent.mechanisms.mechanism import Mechanism
from reticent.mechanisms.profiles import conversions, pure

Norm = Literal["l1", "l2", "l21", "nuclear"]
"""Of a vector; L21 sums over the L2 norms of its blocks, the nuclear norm is that of a matrix."""

_PART = 2**18
"""Entries that are released at a time where a vector is written over."""

CORRECTLY_ROUNDED = (
    "each output is the grid point nearest to value + noise in exact real arithmetic, so no "
    "floating-point attack applies"
)

IDEAL_NOISE = (
    "the noise is taken for ideal: it is drawn from secure bits, but in float32, so floating-point "
    "attacks are not covered"
)


@dataclass(frozen=True, kw_only=True)
class AdditiveMechanism(Mechanism):
    """value + noise.

    A new mechanism says these facts of itself, so that budgets, recipes and audits need not ask
    for its type.
    """

    norm: ClassVar[Norm] = "l1"
    """The norm of the sensitivity that its noise is calibrated to."""
    structure: ClassVar[str] = ""
    """What its values must be, where not any vector will do: "matrix" or "blocks"."""
    needs_delta: ClassVar[bool] = False
    """Whether it has no pure ε."""
    is_joint: ClassVar[bool] = False
    """Whether the noise of a vector is drawn as one: each row of several is a query of its own."""

    _drawn_by = "_rounded"

    @property
    @abstractmethod
    def std(self) -> float:
        """The standard deviation of the noise on one entry."""

    def std_in(self, size: int) -> float:  # noqa: ARG002 - for noise that depends on it
        """The standard deviation of the noise on one of ``size`` entries."""
        return self.std

    def grid_in(self, size: int) -> float:  # noqa: ARG002 - as above
        """The step whose multiples ``size`` released entries are, unless another is asked for.

        A function of public numbers: whoever reads a release can see that its entries lie on it.
        """
        from reticent.mechanisms.rounded.grid import default_grid

        return default_grid(self.scale)

    def length(self, moved: Floats) -> Floats:
        """How far vectors moved, in the norm that the noise is calibrated to; the last axis."""
        return self.norms(moved)[self.norm]

    def norms(self, moved: Floats) -> dict[str, Floats]:
        """The lengths of vectors in the norms that the theorems use; the last axis is the vector.

        As fields of a ``Sensitivity``.
        """
        l1, l2 = np.abs(moved).sum(axis=-1), np.linalg.norm(moved, axis=-1)
        return {"l1": np.asarray(l1), "l2": np.asarray(l2)}

    @property
    def bound(self) -> float:
        """The sensitivity in that norm."""
        claimed = self.sensitivity
        return (claimed.require_l2 if self.norm == "l2" else claimed.require_l1)(self.name)

    def at_distance(self, **norms: float) -> Self:
        """The same noise for a function that one unit moves just so far, in some of the norms."""
        sensitivity = Sensitivity(
            **norms,  # type: ignore[arg-type]
            blocks=self.sensitivity.blocks if "l21" in norms else None,
            relation=self.sensitivity.relation,
            source="the distance of two worlds",
        )
        return replace(self, sensitivity=sensitivity)

    def log_ratio(self, noise: ArrayLike, other: ArrayLike) -> Floats:
        """ln of the density of ``other`` over that of ``noise``, as two worlds explain one answer.

        The last axis is the vector. Where no density is known, of a function of the answer.
        """
        return np.asarray(self.log_density(other) - self.log_density(noise))

    def release(self, value: ArrayLike, *, grid: float | None = None) -> Floats:
        """A noisy copy of a vector of any shape, without a floating-point leak.

        Outputs are multiples of the public step ``grid`` (a power of two; by default between
        std/2¹⁴ and std/2¹², roughly) and saturate at 2⁵² steps: values beyond 10¹¹ scales need a
        coarser grid. Each call is a release and composes.
        """
        return self._rounded(validation.float_array("value", value, copy=False), grid)

    def release_over(self, value: Floats) -> Floats:
        """``release`` of a vector, written over it: no exact entry stays behind.

        In parts where every entry has noise of its own: the same law, and no second array.
        """
        step = max(1, len(value)) if self.is_joint else _PART
        for start in range(0, len(value), step):
            value[start : start + step] = self.release(value[start : start + step])
        return value

    def release_over_float32(self, value: Floats32) -> Floats32:
        """The noisy copy of a flat float32 vector, written over it, as fast as the noise is had.

        For claims that state ``IDEAL_NOISE``: no exact sampler need stand behind it.
        """
        value[:] = self.release(value)
        return value

    def log_density(self, noise: ArrayLike) -> Floats:
        """The log density of noise vectors; the last axis is the vector."""
        return self._log_density(np.atleast_1d(validation.float_array("noise", noise)))

    def with_float_noise(self, generator: np.random.Generator) -> "FloatNoise":
        """The same noise from a seeded generator in plain floats: for studies, never to protect."""
        return FloatNoise(mechanism=self, generator=generator)

    @property
    def sampler(self) -> str:
        """How ``release`` draws its noise, in words for a guarantee."""
        return CORRECTLY_ROUNDED

    @abstractmethod
    def _rounded(self, value: Floats, grid: float | None) -> Floats:
        """The noisy copy; ``value`` may be the caller's own array, and is only read."""

    @abstractmethod
    def _log_density(self, noise: Floats) -> Floats: ...

    @abstractmethod
    def _float_noise(self, shape: tuple[int, ...], generator: np.random.Generator) -> Floats: ...


@dataclass(frozen=True, kw_only=True)
class FloatNoise:
    """Plain float noise from a seeded generator. Floating-point attacks are not covered."""

    mechanism: AdditiveMechanism
    generator: np.random.Generator

    def __post_init__(self) -> None:
        """Only a seeded numpy Generator: secure bits have no business here."""
        if not isinstance(self.generator, np.random.Generator):
            raise validation.InputError(
                f"generator must be a numpy Generator, got {validation.describe(self.generator)}"
            )

    def release(self, value: ArrayLike) -> Floats:
        """value + noise in floats."""
        array = validation.float_array("value", value)
        return array + self.mechanism._float_noise(array.shape, self.generator)

    def guarantee(self, *, delta: float) -> Guarantee:
        """The guarantee of ideal noise, saying that this sampler does not reach it."""
        ideal = self.mechanism.guarantee(delta=delta)
        warning = (
            "outputs are looked at for a study only: the noise is plain floats from a seed, and "
            "floating-point attacks are not covered"
        )
        return replace(ideal, checked=(), stated=(*ideal.stated, warning))


class Profile(Protocol):
    """The functions that a module of ``profiles`` offers for i.i.d. noise."""

    def delta(self, shift: float, epsilon: float) -> float:
        """δ(ε) under an L1 shift."""

    def epsilon(self, shift: float, delta: float) -> float:
        """ε(δ) under an L1 shift."""

    def shift(self, epsilon: float, delta: float) -> float:
        """The largest L1 shift at (ε, δ)."""

    def rdp(self, shift: float, order: float) -> float:
        """D_α under an L1 shift."""

    def zcdp(self, shift: float) -> float:
        """ρ under an L1 shift."""

    def zcdp_l2(self, shift: float) -> float:
        """ρ under an L2 shift."""

    def shift_l2(self, rho: float) -> float:
        """The L2 shift that spends ρ."""


@dataclass(frozen=True, kw_only=True)
class CoordinatewiseMechanism(AdditiveMechanism):
    """Laplace and logistic noise: exact under an L1 bound, by zCDP under an L2 bound.

    Where both bounds are known the better one of the two theorems is used, question by question.
    """

    curve = "exact"
    profile: ClassVar[Profile]
    event_type: ClassVar[type[LaplaceEvent | LogisticEvent]]

    def __post_init__(self) -> None:
        """An L1 or L2 bound must be there."""
        super().__post_init__()
        self.sensitivity.require_l2(self.name)

    @classmethod
    def _least_scale(cls, sensitivity: Sensitivity, epsilon: float, delta: float) -> float:
        sensitivity.require_l2(cls.name)
        if delta == 0:
            return sensitivity.require_l1(cls.name) / cls.profile.shift(epsilon, 0.0)
        scales = []
        if sensitivity.l1 is not None:
            scales.append(sensitivity.l1 / cls.profile.shift(epsilon, delta))
        if sensitivity.l2 is not None:
            rho = conversions.zcdp_for(epsilon, delta)
            scales.append(sensitivity.l2 / cls.profile.shift_l2(rho))
        return min(scales)

    @property
    def shift(self) -> float | None:
        """a = Δ₁/scale, the pure ε; None when only an L2 bound is known."""
        return None if self.sensitivity.l1 is None else self.sensitivity.l1 / self.scale

    @property
    def shift_l2(self) -> float | None:
        """Δ₂/scale; None when only an L1 bound is known."""
        return None if self.sensitivity.l2 is None else self.sensitivity.l2 / self.scale

    def epsilon(self, *, delta: float) -> float:
        """ε(δ): exact under L1, by zCDP under L2, the smaller of the two."""
        delta = validation.probability("delta", delta)
        exact = math.inf if self.shift is None else self.profile.epsilon(self.shift, delta)
        return min(exact, conversions.zcdp_to_epsilon(self._rho_l2(), delta))

    def derivation(self, *, delta: float) -> str:
        """The exact curve under the L1 bound, or zCDP under the L2 bound."""
        if self.shift is not None and self.profile.epsilon(self.shift, delta) <= self.epsilon(
            delta=delta
        ):
            return super().derivation(delta=delta)
        return checked_by(
            f"ε by way of zCDP under the L2 bound, ρ ≤ {rounding.upper_text(self._rho_l2())}: no"
            " pure ε",
            self._defined("epsilon"),
        )

    def delta(self, *, epsilon: float) -> float:
        """δ(ε): exact under L1, by zCDP under L2, the smaller of the two."""
        epsilon = validation.non_negative("epsilon", epsilon)
        exact = 1.0 if self.shift is None else self.profile.delta(self.shift, epsilon)
        return min(exact, conversions.zcdp_to_delta(self._rho_l2(), epsilon))

    def rdp(self, *, order: float) -> float:
        """D_α: exact under L1, α·ρ under L2."""
        order = validation.renyi_order("order", order)
        exact = math.inf if self.shift is None else self.profile.rdp(self.shift, order)
        return min(exact, order * self._rho_l2())

    def zcdp(self) -> float:
        """ρ: exact under L1, quadratic in the shift under L2."""
        exact = math.inf if self.shift is None else self.profile.zcdp(self.shift)
        return min(exact, self._rho_l2())

    def event(self) -> LaplaceEvent | LogisticEvent:
        """One release, through the L1 bound where there is one (``event_l2`` for the other)."""
        if self.sensitivity.l1 is None:
            return self.event_l2()
        multiplier = rounding.quotient_down(self.scale, self.sensitivity.l1)
        return self.event_type(noise_multiplier=multiplier, norm="l1")

    def event_l2(self) -> LaplaceEvent | LogisticEvent:
        """One release through the L2 bound: many such releases compose better that way."""
        multiplier = rounding.quotient_down(self.scale, self.sensitivity.require_l2(self.name))
        return self.event_type(noise_multiplier=multiplier, norm="l2")

    def gdp(self) -> float:
        """μ of the pure ε (an upper bound)."""
        return super().gdp() if self.shift is None else pure.gdp(self.shift)

    def _rho_l2(self) -> float:
        return math.inf if self.shift_l2 is None else self.profile.zcdp_l2(self.shift_l2)
