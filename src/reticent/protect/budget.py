"""What adds up when releases share one budget, and the noise for a part of it.

Gaussian noise adds μ², other noise adds ρ (zCDP) where δ > 0, and ε where δ = 0 or nothing better
is known. Each of the three composes adaptively: the second release may depend on the first.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from reticent.guarantee import Event, Sensitivity
from reticent.guarantee.rounding import sum_up, up
from reticent.mechanisms import AdditiveMechanism, Gaussian, L2Laplace, Laplace, Logistic
from reticent.mechanisms.additive import CoordinatewiseMechanism
from reticent.mechanisms.base import SCALE_SLACK
from reticent.mechanisms.profiles import conversions, gaussian
from reticent.validation import InputError, positive, probability

MECHANISMS: dict[str, type[AdditiveMechanism]] = {
    kind.name: kind for kind in (Gaussian, Logistic, Laplace, L2Laplace)
}
_PART = 1 - 2.0**-40
"""Parts are cut a little smaller, so that their rounded-up sum stays within the whole."""


def mechanism_of(name: str) -> type[AdditiveMechanism]:
    """The mechanism of that name."""
    if not isinstance(name, str) or name not in MECHANISMS:
        raise InputError(f"mechanism must be one of {', '.join(MECHANISMS)}, got {name!r}")
    return MECHANISMS[name]


class Currency(ABC):
    """A measure of privacy loss that adds up."""

    @abstractmethod
    def total(self, epsilon: float, delta: float) -> float:
        """How much of it (ε, δ) buys."""

    @abstractmethod
    def scale(self, kind: type[AdditiveMechanism], sensitivity: Sensitivity, part: float) -> float:
        """The scale of the noise that spends ``part``."""

    @abstractmethod
    def spent(self, noise: AdditiveMechanism) -> float:
        """What one release with this noise spends."""

    @abstractmethod
    def epsilon(self, amount: float, delta: float) -> float:
        """The ε at δ that ``amount`` is worth."""


class _SquaredMu(Currency):
    def total(self, epsilon: float, delta: float) -> float:
        return gaussian.shift(epsilon, delta) ** 2

    def scale(self, kind: type[AdditiveMechanism], sensitivity: Sensitivity, part: float) -> float:
        return sensitivity.require_l2(kind.name) / math.sqrt(part)

    def spent(self, noise: AdditiveMechanism) -> float:
        return noise.gdp() ** 2

    def epsilon(self, amount: float, delta: float) -> float:
        return gaussian.epsilon(math.sqrt(amount), delta)


class _Rho(Currency):
    def total(self, epsilon: float, delta: float) -> float:
        return conversions.zcdp_for(epsilon, delta)

    def scale(self, kind: type[AdditiveMechanism], sensitivity: Sensitivity, part: float) -> float:
        assert issubclass(kind, CoordinatewiseMechanism)
        return sensitivity.require_l2(kind.name) / kind.profile.shift_l2(part)

    def spent(self, noise: AdditiveMechanism) -> float:
        return noise.zcdp()

    def epsilon(self, amount: float, delta: float) -> float:
        return conversions.zcdp_to_epsilon(amount, delta)


class _Epsilon(Currency):
    def total(self, epsilon: float, delta: float) -> float:  # noqa: ARG002 - no δ is needed
        return epsilon

    def scale(self, kind: type[AdditiveMechanism], sensitivity: Sensitivity, part: float) -> float:
        return kind.calibrate(sensitivity, epsilon=part, delta=0.0).scale

    def spent(self, noise: AdditiveMechanism) -> float:
        return noise.epsilon(delta=0.0)

    def epsilon(self, amount: float, delta: float) -> float:  # noqa: ARG002 - as above
        return amount


def currencies_of(kind: type[AdditiveMechanism], delta: float) -> list[Currency]:
    """In what releases with this noise add up at this δ; each gives a bound of its own."""
    if issubclass(kind, Gaussian):
        return [_SquaredMu()]
    if issubclass(kind, CoordinatewiseMechanism) and delta > 0:
        return [_Rho(), _Epsilon()]
    return [_Epsilon()]


def calibrated(
    kind: type[AdditiveMechanism],
    sensitivity: Sensitivity,
    *,
    epsilon: float,
    delta: float,
    before: AdditiveMechanism | None = None,
) -> AdditiveMechanism:
    """The least noise with which this release, and the one ``before`` it, are (ε, δ)-DP."""
    if before is None:
        return kind.calibrate(sensitivity, epsilon=epsilon, delta=delta)
    epsilon, scales = positive("epsilon", epsilon), []
    for currency in currencies_of(kind, probability("delta", delta)):
        left = (currency.total(epsilon, delta) - currency.spent(before)) * _PART
        if left > 0:
            scales.append(currency.scale(kind, sensitivity, left))
    if not scales:
        raise InputError(
            f"epsilon must be more than the mean alone has spent, got {epsilon} at delta = {delta}"
        )
    return _rounded_up(kind, sensitivity, min(scales))


def part(
    kind: type[AdditiveMechanism],
    sensitivity: Sensitivity,
    *,
    epsilon: float,
    delta: float,
    share: float,
) -> AdditiveMechanism:
    """The noise that spends this share of (ε, δ), so that others can spend the rest."""
    if not 0 < positive("share", share) <= 1:
        raise InputError(f"share must be in (0, 1], got {share}")
    whole = kind.calibrate(sensitivity, epsilon=epsilon, delta=delta)
    if share == 1:
        return whole
    currency = currencies_of(kind, delta)[0]
    amount = currency.total(epsilon, delta) * share * _PART
    return _rounded_up(kind, sensitivity, currency.scale(kind, sensitivity, amount))


def event_of(noise: AdditiveMechanism, *, delta: float) -> Event:
    """One release as an accountant sees it, through the norm that gives the smaller ε at δ."""
    if not isinstance(noise, CoordinatewiseMechanism) or noise.shift is None:
        return noise.event()
    exact = noise.profile.epsilon(noise.shift, delta)
    return noise.event_l2() if noise.epsilon(delta=delta) < exact else noise.event()


def together(noises: list[AdditiveMechanism], *, delta: float) -> float:
    """The ε at δ of releases with these noises, of one kind, on the same data; rounded up."""
    if len(noises) == 1:
        return noises[0].epsilon(delta=delta)
    return min(
        up(currency.epsilon(sum_up(currency.spent(noise) for noise in noises), delta))
        for currency in currencies_of(type(noises[0]), delta)
    )


def _rounded_up(
    kind: type[AdditiveMechanism], sensitivity: Sensitivity, scale: float
) -> AdditiveMechanism:
    return kind(scale=scale * (1 + SCALE_SLACK), sensitivity=sensitivity)
