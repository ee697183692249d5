"""How a budget (ε, δ) is split: what adds up, and the noise for a share of it.

Gaussian noise adds μ², other noise adds ρ (zCDP) where δ > 0, and ε where δ = 0 or nothing better
is known. These currencies choose scales alone; the ε of a certificate is the accountants' word
(``noise_scales.composed_epsilon``).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping

from reticent.guarantee import Sensitivity
from reticent.mechanisms import AdditiveMechanism, Gaussian, additive, mechanism
from reticent.mechanisms.profiles import conversions, gaussian
from reticent.validation import InputError, positive, probability

_SLACK = 1 - 2.0**-40
"""Shares are cut a little smaller, so that their rounded-up sum stays within the whole."""
_SPLIT_SLACK = 1 - 1e-9
"""The same where several steps share a budget."""

Share = tuple[type[AdditiveMechanism], Sensitivity, float, int]
"""A step's noise, how far one unit moves it, its share of the budget, how often it is released."""


class Currency(ABC):
    """A measure of privacy loss that adds up."""

    @abstractmethod
    def total(self, epsilon: float, delta: float) -> float:
        """How much of it (ε, δ) buys."""

    @abstractmethod
    def scale(
        self, kind: type[AdditiveMechanism], sensitivity: Sensitivity, amount: float
    ) -> float:
        """The scale of the noise that spends ``amount``."""

    @abstractmethod
    def spent(self, noise: AdditiveMechanism) -> float:
        """What one release with this noise spends."""


class _SquaredMu(Currency):
    def total(self, epsilon: float, delta: float) -> float:
        return gaussian.shift(epsilon, delta) ** 2

    def scale(
        self, kind: type[AdditiveMechanism], sensitivity: Sensitivity, amount: float
    ) -> float:
        return sensitivity.require_l2(kind.name) / math.sqrt(amount)

    def spent(self, noise: AdditiveMechanism) -> float:
        return noise.gdp() ** 2


class _Rho(Currency):
    def total(self, epsilon: float, delta: float) -> float:
        return conversions.zcdp_for(epsilon, delta)

    def scale(
        self, kind: type[AdditiveMechanism], sensitivity: Sensitivity, amount: float
    ) -> float:
        assert issubclass(kind, additive.CoordinatewiseMechanism)
        return sensitivity.require_l2(kind.name) / kind.profile.shift_l2(amount)

    def spent(self, noise: AdditiveMechanism) -> float:
        return noise.zcdp()


class _Epsilon(Currency):
    def total(self, epsilon: float, delta: float) -> float:  # noqa: ARG002 - no δ is needed
        return epsilon

    def scale(
        self, kind: type[AdditiveMechanism], sensitivity: Sensitivity, amount: float
    ) -> float:
        return kind.calibrate(sensitivity, epsilon=amount, delta=0.0).scale

    def spent(self, noise: AdditiveMechanism) -> float:
        return noise.epsilon(delta=0.0)


def currencies_of(kind: type[AdditiveMechanism], delta: float) -> list[Currency]:
    """In what releases with this noise add up at this δ; the first is the usual one."""
    if issubclass(kind, Gaussian):
        return [_SquaredMu()]
    if issubclass(kind, additive.CoordinatewiseMechanism) and delta > 0:
        return [_Rho(), _Epsilon()]
    return [_Epsilon()]


def share_scales(shares: Mapping[str, Share], *, epsilon: float, delta: float) -> dict[str, float]:
    """The scale of each step's noise, so that all of them together spend (ε, δ).

    Steps with noise of several kinds add up in what all of them have, which is ε.
    """
    mixed = len({kind for kind, *_ in shares.values()}) > 1
    scales = {}
    for name, (kind, sensitivity, share, times) in shares.items():
        alone = len(shares) == 1 and times == 1
        scales[name] = noise_for_budget_share(
            kind,
            sensitivity,
            epsilon=epsilon,
            delta=0.0 if mixed else delta,
            share=1.0 if alone else share / times * _SPLIT_SLACK,
        ).scale
    return scales


def noise_for_budget_share(
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
    amount = currency.total(epsilon, delta) * share * _SLACK
    scale = currency.scale(kind, sensitivity, amount)
    return kind(scale=scale * (1 + mechanism.SCALE_SLACK), sensitivity=sensitivity)


def spent_share(noise: AdditiveMechanism, *, epsilon: float, delta: float) -> float:
    """The share of (ε, δ) that a release with this noise has spent; 1 or more leaves nothing."""
    currency = currencies_of(type(noise), probability("delta", delta))[0]
    whole = currency.total(positive("epsilon", epsilon), delta)
    return currency.spent(noise) / whole if whole > 0 else math.inf
