"""Mechanisms that choose one of several candidates by their scores."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import special

from reticent.arrays import ArrayLike, Floats, Integers
from reticent.guarantee import BoundedRangeEvent, Sensitivity, rounding
from reticent.mechanisms.mechanism import Mechanism
from reticent.mechanisms.profiles import logistic, pure
from reticent.mechanisms.pure import PureMechanism
from reticent.validation import InputError, float_array, non_negative, probability, renyi_order


@dataclass(frozen=True, kw_only=True)
class SelectionMechanism(Mechanism):
    """The index of a good candidate; scale = range of a record's influence on the scores / ε.

    The range max_c Δz_c − min_c Δz_c is at most L1, √2·L2 and 2·L∞ of the change of the scores.
    """

    _drawn_by = "_argmax"

    def release(self, value: ArrayLike) -> Integers:
        """The chosen index for scores of shape (candidates,), or one per row of (rows, candidates).

        The choice is a certified argmax of scores + noise in exact real arithmetic. Each row is
        a release of its own and composes.
        """
        return self._argmax(_score_rows(value))

    @abstractmethod
    def log_probabilities(self, scores: ArrayLike) -> Floats:
        """The log probability of each candidate; the last axis is the candidates."""

    @property
    def sampler(self) -> str:
        """How ``release`` draws its choice, in words for a guarantee."""
        return "the choice is a certified argmax of scores + noise in exact real arithmetic"

    @abstractmethod
    def _argmax(self, scores: Floats) -> Integers: ...


@dataclass(frozen=True, kw_only=True)
class Exponential(SelectionMechanism):
    """The exponential mechanism: P(c) ∝ exp(z_c/scale); ε-DP and ε-bounded-range, ρ ≤ ε²/8.

    >>> from reticent import Sensitivity
    >>> vote = Exponential.calibrate(Sensitivity(linf=1.0), epsilon=1.0, delta=0.0)
    >>> round(vote.scale, 6), round(vote.zcdp(), 6)
    (2.0, 0.125)
    """

    name = "exponential"
    curve = "upper bound"

    @classmethod
    def _least_scale(cls, sensitivity: Sensitivity, epsilon: float, delta: float) -> float:
        return sensitivity.range_bound / logistic.shift(epsilon, delta)

    @property
    def pure_epsilon(self) -> float:
        """The pure ε₀ = range/scale of one choice."""
        return self.sensitivity.range_bound / self.scale

    def epsilon(self, *, delta: float) -> float:
        """The worst of all ε₀-bounded-range releases."""
        return logistic.epsilon(self.pure_epsilon, probability("delta", delta))

    def delta(self, *, epsilon: float) -> float:
        """The worst of all ε₀-bounded-range releases."""
        return pure.bounded_range_delta(self.pure_epsilon, non_negative("epsilon", epsilon))

    def rdp(self, *, order: float) -> float:
        """At most α·ε₀²/8, and at most that of logistic noise with shift ε₀."""
        return pure.bounded_range_rdp(self.pure_epsilon, renyi_order("order", order))

    def zcdp(self) -> float:
        """ρ of one choice: at most ε₀²/8 by its bounded range."""
        return pure.bounded_range_zcdp(self.pure_epsilon)

    def gdp(self) -> float:
        """μ of the pure ε₀ (an upper bound)."""
        return pure.gdp(self.pure_epsilon)

    def event(self) -> BoundedRangeEvent:
        """One choice, as an accountant sees it."""
        return BoundedRangeEvent(epsilon=rounding.up(self.pure_epsilon))

    def log_probabilities(self, scores: ArrayLike) -> Floats:
        """log softmax(scores/scale): the chance of each candidate."""
        return np.asarray(special.log_softmax(_score_rows(scores) / self.scale, axis=-1))

    def _argmax(self, scores: Floats) -> Integers:
        from reticent.mechanisms.rounded import noisy_argmax_gumbel

        return noisy_argmax_gumbel(scores, scale=self.scale)


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(PureMechanism, SelectionMechanism):
    """Permute-and-flip (McKenna & Sheldon 2020): argmax of score + Exponential(scale).

    ε-DP, never worse than the exponential mechanism at equal ε, but not bounded-range: its ρ is
    that of a general ε-DP release.
    """

    name = "permute-and-flip"

    @classmethod
    def _bound(cls, sensitivity: Sensitivity) -> float:
        return sensitivity.range_bound

    def log_probabilities(self, scores: ArrayLike) -> Floats:
        """Exact: P(c) = ∫₀¹ Π_{j≠c} (1 − p_j·t) dt · p_c with p_j = exp((z_j − max z)/scale)."""
        array = _score_rows(scores)
        accept = np.exp((array - array.max(axis=-1, keepdims=True)) / self.scale)
        nodes, weights = np.polynomial.legendre.leggauss(array.shape[-1] // 2 + 1)
        points = (nodes + 1) / 2
        factors = 1 - accept[..., None, :] * points[:, None]
        others = factors.prod(axis=-1, keepdims=True) / factors
        integral = np.einsum("q,...qc->...c", weights / 2, others)
        return np.asarray(np.log(accept * integral))

    def _argmax(self, scores: Floats) -> Integers:
        from reticent.mechanisms.rounded import noisy_argmax_exponential

        return noisy_argmax_exponential(scores, scale=self.scale)


def _score_rows(scores: ArrayLike) -> Floats:
    array = float_array("scores", scores)
    if array.ndim not in (1, 2):
        raise InputError(
            f"scores must have shape (candidates,) or (rows, candidates), got {array.shape}"
        )
    return array
