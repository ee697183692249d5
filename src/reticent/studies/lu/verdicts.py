"""Every claim of Lu et al. with its verdict, and the case that decides it, computed.

Of probabilities of which some logits carry no noise the ratios are the exact ones:
log(p_u/p_w) = z_u − z_w whatever was added to the other logits, so whoever knows the logits with
and without a record reads off which of them answered (Lu et al., Algorithm 1, three classes and
more). Nothing is estimated.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import optimize, special

from reticent.arrays import ArrayLike, Floats, Integers
from reticent.bounds.published import lu
from reticent.protect.published.single_neuron import SingleNeuron
from reticent.results.table import Table
from reticent.studies.lu.tables import NETWORKS, PENALTY
from reticent.validation import InputError, float_array

CLOSE: Final = 1e-10
"""Far above the rounding of a softmax, far below what a record does to a logit."""


def exact_ratios(answers: ArrayLike, logits: ArrayLike) -> Integers:
    """Of each answer, how many pairs of classes have the very ratio that the logits say.

    >>> logits = np.array([2.0, 1.0, 0.0])
    >>> noisy = logits + [0.3, 0.0, 0.0]
    >>> exact_ratios(np.exp([logits, noisy]), logits)
    array([3, 1])
    """
    p, z = np.atleast_2d(float_array("answers", answers)), float_array("logits", logits)
    if z.ndim != 1 or p.ndim != 2 or p.shape[1] != len(z):
        raise InputError(f"answers must have a column for each of {z.shape} logits, got {p.shape}")
    with np.errstate(divide="ignore", invalid="ignore"):  # a probability may vanish
        left = np.log(p) - z
        one, other = np.triu_indices(len(z), 1)
        equal = np.abs(left[:, one] - left[:, other]) <= CLOSE
    return np.asarray(equal.sum(axis=1))


def likelier_logits(answers: ArrayLike, one: ArrayLike, other: ArrayLike) -> Integers:
    """−1 where the exact ratios are those of the first logits, 1 of the second, 0 of neither."""
    return np.asarray(np.sign(exact_ratios(answers, other) - exact_ratios(answers, one)))


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
        root = optimize.brentq(self._gradient, -1e3, 1e3, args=(odd,), xtol=1e-13)
        return float(root)

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
    shift = LogisticRegression(alpha=None, factor=0.01).change
    change = np.zeros(features)
    change[0] = shift
    return float(np.abs(change).max() / lu.weight_change(float(np.linalg.norm(change)), features))


def moved_activation() -> tuple[float, float]:
    """z = 10·tanh(w₁·1) when w₁ goes from 0 to .1, and what Corollary 1 allows."""
    shift = 0.1
    actual = 10 * math.tanh(shift)
    return actual, lu.neuron_change(shift, 1)


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


Row = tuple[str, str, str]


def verdicts() -> Table:
    """Every claim, true or false, with the figures of a deciding case.

    Every lemma, theorem and corollary: true or false, and the figures of a deciding case.
    """
    rows = (*_about_weights(), *_about_neurons(), *_about_privacy())
    return Table(
        title="Lu et al., claim by claim",
        columns=("claim", "verdict", "why"),
        rows=rows,
        notes=(
            "Grade published: what follows from these claims is no guarantee for the networks that "
            "the paper trains. Figures are computed by this command.",
            "Theorem 4's cases: logistic regression with one weight, 9,999 records x = 1 of one "
            "class, and one of the other that is removed; ρ = 1 exactly, the loss convex in w. "
            "Averaged, it moves "
            f"{theorem_4(None, 0.01, own_regulariser=False):.2f} times the bound.",
        ),
    )


def _about_weights() -> tuple[Row, ...]:
    steep, lemma = steep_gradient()
    return (
        ("Lemma 1: 2λ‖W‖² is λ-strongly convex", "true, loose", "it is 4λ-strongly convex"),
        (
            "Theorem 4: Δ₂W ≤ 2ρ/(λn), averaged loss",
            "true",
            "at the exact minimiser: λ‖ΔW‖ ≤ ‖mean of other gradients − own‖/n ≤ 2ρ/n",
        ),
        ("Theorem 4 for the loss of Eq. 23", "false", _risk_averting()),
        (
            "Eq. 18: Δω = Δ₂W/√|W|",
            "false",
            f"100 features, one active: {single_weight():.0f} times as much",
        ),
        (
            "Lemma 5, Proposition 1: ρ",
            "false",
            f"C = 3, two inputs: a gradient of {steep:.3f}, ρ “≤” {lemma:.3f}",
        ),
        ("Theorem 5: the loss of Eq. 22 is convex", "false for networks", _saddle()),
    )


def _about_neurons() -> tuple[Row, ...]:
    shift, allowed = moved_activation()
    neuron = NETWORKS["US Adult"].calculated().neuron
    return (
        (
            "Corollary 1: Δz = a·|V|·Δω",
            "false",
            f"activations move too: z = 10·tanh(w₁), Δw₁ = .1: {shift:.3f}, “≤” {allowed:.1f}",
        ),
        (
            "Corollary 2: Δp ≤ min(e^2Δz − 1, 1)",
            "true, loose",
            f"tight is tanh(Δz/2): at Adult's Δz = {neuron:.4f} "
            f"{probability_moves(neuron):.4f} for {lu.probability_change(neuron):.4f}",
        ),
    )


def _about_privacy() -> tuple[Row, ...]:
    hit, false = told_apart()
    return (
        (
            "Theorem 6, C = 2: (2C+1)ε′-DP",
            "true, given a valid Δz",
            f"one difference is released: a claim of ε = 1 is {two_classes(1.0):.1f}",
        ),
        (
            "Theorem 6, C ≥ 3",
            "false at any ε",
            "two logits carry no noise, so log(p_u/p_w) is exact: at a claim of ε = .01 "
            f"TPR {hit:g}, FPR {false:g}",
        ),
        (
            "Theorem 6: Δq in its proof",
            "inconsistent",
            f"exp(Δp) there ({math.e:.3f} at Δp = 1), Δp in Algorithm 1; ours is Algorithm 1's",
        ),
        (
            "Corollary 3: noise makes OARO stable",
            "proof invalid",
            "subtracts a c > 0 that it never shows to exist; measured by reproduce lu oaro",
        ),
        (
            "TPR − FPR ≤ e^ε − 1 under ε-DP",
            "true, loose",
            f"tight is tanh(ε/2): {lu.tight_leakage_bound(1.0):.3f} for 1 at ε = 1",
        ),
    )


def _risk_averting() -> str:
    """By how much, with either regulariser."""
    ratios = []
    for name, penalty, own in (
        ("(λ/2)w², λ = .01", 0.01, False),
        ("2λw², λ = .01", 0.01, True),
        ("2λw², λ = 5e-4", PENALTY, True),
    ):
        one, ten = (theorem_4(alpha, penalty, own_regulariser=own) for alpha in (1.0, 10.0))
        ratios.append(f"{name}: {one:.3g} and {ten:.3g}")
    return f"times the bound at α = 1 and 10: {'; '.join(ratios)}"


def _saddle() -> str:
    lowest = np.linalg.eigvalsh(Saddle(alpha=1.0).hessian(PENALTY)).min()
    above = [Saddle(alpha=alpha).above_the_chord() for alpha in (1.0, 10.0, 100.0)]
    return (
        "L(W) = L(−W) without an output bias; at 0 the Hessian has an eigenvalue "
        f"{lowest:.3f} at every α, and L(0) is above the chord by "
        f"{', '.join(f'{value:.2f}' for value in above)} at α = 1, 10, 100"
    )
