"""Lu et al., Algorithm 1: noise on one output neuron, and the whole softmax is released.

The exponential mechanism chooses a neuron by its probability, noise of scale Δz/ε′ is added to that
logit, and all probabilities are returned. Theorem 6 claims (2C+1)·ε′. For C = 2 that is true, given
a valid Δz: only the difference of both logits is released, and it is noised. From C = 3 on it is
false at any ε: log(p_u/p_w) = z_u − z_w of two other neurons is released as it is. What comes out
is graded *published*.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special, stats

from reticent import validation
from reticent.arrays import ArrayLike, Floats, Integers
from reticent.bounds.published import lu
from reticent.guarantee import Grade, Guarantee, Relation, Sensitivity
from reticent.mechanisms import AdditiveMechanism, Exponential, Gaussian, Laplace
from reticent.mechanisms.profiles import gaussian

Noise = Literal["laplace", "gaussian"]
Scores = Literal["algorithm", "proof"]

_QUANTILES = 1_000
_SOURCE = "Δz and Δp of Algorithm 1 (Lu et al.)"


@dataclass(frozen=True, kw_only=True)
class SingleNeuron:
    """A query's logits in, its probabilities out, with noise on one of the logits.

    Args:
        classes: C.
        budget: ε of Theorem 6 with Laplace noise, μ of Gaussian DP with Gaussian noise.
        neuron: Δz, how far one record moves a logit.
        noise: Which noise.
        scores: How far the scores of the choice are said to move: by Δp, as in Algorithm 1, or by
            exp(Δp), as in the proof of Theorem 6.

    >>> mechanism = SingleNeuron(classes=3, budget=1.0, neuron=0.01, noise="laplace")
    >>> print(mechanism.guarantee(delta=0.0))
    ε ≤ 1, δ ≤ 0 (published; neighbours: add-remove; unit: one record)
    >>> mechanism.release([0.5, 0.2, -0.7]).shape
    (3,)
    """

    classes: int
    budget: float
    neuron: float
    noise: Noise = "laplace"
    scores: Scores = "algorithm"

    def __post_init__(self) -> None:
        """Refuse NaN, and noise that the paper does not name."""
        validation.count("classes", self.classes, at_least=2)
        validation.positive("budget", self.budget)
        validation.positive("neuron", self.neuron)
        if self.noise not in ("laplace", "gaussian"):
            raise validation.InputError(f"noise must be laplace or gaussian, got {self.noise!r}")
        if self.scores not in ("algorithm", "proof"):
            raise validation.InputError(f"scores must be algorithm or proof, got {self.scores!r}")

    @property
    def step_budget(self) -> float:
        """ε_sampling = ε_neuron: ε/(2C+1), or μ/√(4C+1)."""
        split = lu.laplace_part if self.noise == "laplace" else lu.gaussian_part
        return split(self.budget, self.classes)

    @property
    def score_change(self) -> float:
        """Δq of the choice: Δp, or exp(Δp)."""
        change = lu.probability_change(self.neuron)
        return change if self.scores == "algorithm" else lu.score_change_of_proof(change)

    def guarantee(self, *, delta: float) -> Guarantee:
        """The claim of the paper at this δ."""
        validation.non_negative("delta", delta)
        claimed = self.budget if self.noise == "laplace" else gaussian.epsilon(self.budget, delta)
        return Guarantee(
            epsilon=claimed,
            delta=delta,
            grade=Grade.PUBLISHED,
            relation=Relation.ADD_REMOVE,
            stated=("Theorem 6 of Lu et al., which is false for three classes and more",),
        )

    def release(self, logits: ArrayLike) -> Floats:
        """The probabilities of one query, or of each row of queries; each is a release."""
        z = validation.float_array("logits", logits)
        if z.ndim not in (1, 2) or z.shape[-1] != self.classes:
            raise validation.InputError(
                f"logits must have {self.classes} columns, got shape {z.shape}"
            )
        rows = np.atleast_2d(z)
        chosen = self._choice().release(special.softmax(rows, axis=1))
        return np.asarray(special.softmax(self._noised(rows, chosen), axis=1).reshape(z.shape))

    def expected_loss(self, logits: ArrayLike, labels: ArrayLike) -> Floats:
        """E[−ln p_y] of each row's release, from the law of choice and noise; nothing is drawn.

        Softmax of one moved logit is a function of one number, so the mean over the noise is an
        average over its quantiles.
        """
        rows, places = (
            np.atleast_2d(validation.float_array("logits", logits)),
            validation.integer_array("labels", labels),
        )
        chances = special.softmax(
            special.softmax(rows, axis=1) * (self.step_budget / (2 * self.score_change)), axis=1
        )
        law = stats.laplace if self.noise == "laplace" else stats.norm
        noise = law.ppf((np.arange(_QUANTILES) + 0.5) / _QUANTILES) * (
            self.neuron / self.step_budget
        )
        own = rows[np.arange(len(rows)), places]
        expected = np.zeros(len(rows))
        for neuron in range(rows.shape[1]):
            rest = special.logsumexp(np.delete(rows, neuron, axis=1), axis=1)
            total = np.logaddexp(rest[:, None], rows[:, neuron, None] + noise).mean(axis=1)
            expected += chances[:, neuron] * (total - own)  # the noise has mean 0
        return expected

    def _noised(self, rows: Floats, chosen: Integers) -> Floats:
        """Softmax sees differences only, so logits are taken relative to a neuron without noise.

        The noisy number then lies on the mechanism's public grid. With the unchanged logit beside
        it, two classes would tell that logit's place between two points of the grid.
        """
        places = np.arange(len(rows))
        still = np.where(chosen == 0, 1, 0)
        relative = rows - rows[places, still][:, None]
        relative[places, chosen] = self._added().release(relative[places, chosen])
        return relative

    def _choice(self) -> Exponential:
        """Line 9: P(v) ∝ exp(ε_sampling·p_v/(2Δq))."""
        changed = Sensitivity(linf=self.score_change, grade=Grade.PUBLISHED, source=_SOURCE)
        return Exponential.calibrate(changed, epsilon=self.step_budget, delta=0.0)

    def _added(self) -> AdditiveMechanism:
        """Line 10: Dist(0, Δz/ε_neuron)."""
        kind = Laplace if self.noise == "laplace" else Gaussian
        sensitivity = Sensitivity(l1=self.neuron, grade=Grade.PUBLISHED, source=_SOURCE)
        return kind(scale=self.neuron / self.step_budget, sensitivity=sensitivity)
