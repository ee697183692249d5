"""Small cases in which the claims of Lu et al. fail, each computed."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from reticent.arrays import Floats
from reticent.attacks.exact_ratios import likelier_logits
from reticent.bounds.published import lu
from reticent.protect.published.single_neuron import SingleNeuron

RECORDS = 10_000


@dataclass(frozen=True, kw_only=True)
class LogisticRegression:
    """One weight w, records x = 1 of one class and one x = 1 of the other; loss by Eq. 22.

    Args:
        alpha: Of the risk-averting loss; None for the averaged one.
        factor: The objective has (factor/2)·w².
    """

    alpha: float | None
    factor: float
    records: int = RECORDS

    def weight(self, odd: int) -> float:
        """The minimiser with so many records of the other class beside n − 1 of the first."""
        found = optimize.brentq(self._gradient, -1e3, 1e3, args=(odd,), xtol=1e-13)
        return float(found)

    @property
    def change(self) -> float:
        """What removing the odd record does to w."""
        return abs(self.weight(1) - self.weight(0))

    def over(self, penalty: float) -> float:
        """The change over Theorem 4's 2ρ/(λn), where ρ = ‖x‖ = 1 is exact."""
        return self.change / lu.weights_change(1.0, penalty, self.records)

    def _gradient(self, weight: float, odd: int) -> float:
        signs = np.array([1.0, -1.0])
        counts = np.array([self.records - 1.0, float(odd)])
        losses = np.logaddexp(0.0, -signs * weight)
        risk = 0.0 if self.alpha is None else self.alpha
        with np.errstate(divide="ignore"):  # no odd record
            shares = special.softmax(np.log(counts) + risk * losses)
        slopes = -signs * special.expit(-signs * weight)
        return float(shares @ slopes + self.factor * weight)


def theorem_4(alpha: float | None, penalty: float, *, own_regulariser: bool) -> float:
    """How many times the bound of Theorem 4 the weight moves.

    (λ/2)w², or with ``own_regulariser`` the 2λw² of Eq. 23, for which the paper claims the same.

    >>> round(theorem_4(10.0, 0.01, own_regulariser=False))
    126
    """
    factor = 4 * penalty if own_regulariser else penalty
    return LogisticRegression(alpha=alpha, factor=factor).over(penalty)


def single_weight(features: int = 100) -> float:
    """How many times Eq. 18's Δω a weight moves when one of the features is active.

    Weights of the others are 0 with and without a record, by the penalty alone.
    """
    moved = LogisticRegression(alpha=None, factor=0.01).change
    change = np.zeros(features)
    change[0] = moved
    return float(np.abs(change).max() / lu.weight_change(float(np.linalg.norm(change)), features))


def moved_activation() -> tuple[float, float]:
    """z = 10·tanh(w₁·1) when w₁ goes from 0 to .1, and what Corollary 1 allows."""
    moved = 0.1
    actual = 10 * math.tanh(moved)
    return actual, lu.neuron_change(moved, 1)


def steep_gradient() -> tuple[float, float]:
    """‖∇‖ of the cross-entropy at p → a wrong class, C = 3 and x = (1, 0); Lemma 5's constant."""
    x = np.array([1.0, 0.0])
    logits = np.array([60.0, 0.0, 0.0])
    gradient = np.outer(special.softmax(logits) - np.array([0.0, 1.0, 0.0]), x)
    published = lu.lipschitz_constant(3, (2,), largest=float(np.linalg.norm(x)) / math.sqrt(2))
    return float(np.linalg.norm(gradient)), published


def probability_moves(neuron: float) -> float:
    """How far a probability of two classes moves when both logits move by Δz, at worst."""
    low, high = special.expit([-neuron, neuron])
    return float(high - low)


@dataclass(frozen=True, kw_only=True)
class Saddle:
    """A tanh network without biases at W = 0, on two records x = 1 and −2 of two classes."""

    alpha: float

    def loss(self, first: float, second: float) -> float:
        """Eq. 22 of logits (w₂·tanh(w₁x), 0)."""
        x, signs = np.array([1.0, -2.0]), np.array([1.0, -1.0])
        losses = np.logaddexp(0.0, -signs * second * np.tanh(first * x))
        mean = special.logsumexp(self.alpha * losses) - math.log(len(x))
        return float(mean / self.alpha)

    def hessian(self, penalty: float = 0.0) -> Floats:
        """At 0, of the loss + 2λ‖W‖².

        Both gradients vanish at 0, so α drops out: ∂²/∂w₁∂w₂ = mean of (p − 1[y])·x = −¾, the rest
        is the regulariser's.
        """
        return np.array([[4 * penalty, -0.75], [-0.75, 4 * penalty]])

    def above_the_chord(self, weight: float = 1.0) -> float:
        """L(0) − ½(L(W) + L(−W)): at most 0 for a convex function (Definition 5)."""
        ends = self.loss(weight, weight) + self.loss(-weight, -weight)
        return self.loss(0.0, 0.0) - ends / 2


def told_apart(runs: int = 1_000) -> tuple[float, float]:
    """TPR and FPR of reading off exact ratios, three classes, a claim of ε = .01 for one answer."""
    absent, present = np.array([0.5, 0.2, -0.7]), np.array([0.501, 0.199, -0.7])
    mechanism = SingleNeuron(classes=3, budget=0.01, neuron=0.01)
    rates = [
        float(
            np.mean(likelier_logits(mechanism.release(np.tile(z, (runs, 1))), absent, present) > 0)
        )
        for z in (present, absent)
    ]
    return rates[0], rates[1]


def two_classes(epsilon: float) -> float:
    """ε of Algorithm 1 for C = 2: z₁ − z₀ moves by up to 2Δz under Laplace noise of Δz/ε′."""
    return 2 * lu.laplace_part(epsilon, 2)
