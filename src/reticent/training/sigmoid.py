"""The sum of C binary cross-entropies: several labels may be true of one record.

There is no zero-sum space here: all C·d weights are coordinates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reticent.arrays import Floats
from reticent.training.objective import EXP_ERROR, UNIT, LinearObjective, gamma


@dataclass(frozen=True, kw_only=True)
class SigmoidObjective(LinearObjective):
    """Σ_c BCE(σ((V h)_c), t_c), with targets t in {0, 1}: one row per record, one column each."""

    targets: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """(C, d): one row per label."""
        return self.targets.shape[1], self.rows.shape[1]

    @property
    def max_residual_norm(self) -> float:
        """√C, since every entry of σ − t is at most 1."""
        return math.sqrt(self.shape[0])

    @property
    def max_curvature(self) -> float:
        """σ(1 − σ) ≤ ¼, output by output."""
        return 0.25

    @property
    def loss_at_zero(self) -> float:
        """C·ln 2, the loss of a record at V = 0."""
        return self.shape[0] * math.log(2)

    def residual_error(self, reach: float) -> float:
        """Logits, through a ¼-Lipschitz sigmoid; then exp, sum, quotient and difference."""
        logits = reach * gamma(self.shape[1])
        return logits / 4 + math.sqrt(self.shape[0]) * (EXP_ERROR + 4 * UNIT)

    def answers(self, outputs: Floats) -> Floats:
        """The probabilities σ(V h) of each label."""
        with np.errstate(over="ignore"):  # exp(−z) = ∞ makes the 0 that σ then is
            answers: Floats = 1 / (1 + np.exp(-outputs))
        return answers

    def residual(self, block: slice, probabilities: Floats) -> Floats:
        """σ − t of each label: what a record's gradient is made of."""
        difference: Floats = probabilities - self.targets[block]
        return difference

    def curvature_product(self, block: slice, probabilities: Floats, change: Floats) -> Floats:  # noqa: ARG002
        """σ(1 − σ)·change, the curvature times a change of the logits."""
        moved: Floats = probabilities * (1 - probabilities) * change
        return moved

    def swing(self, changes: Floats) -> Floats:
        """The largest |change| of an output: σ″ = σ′·(1 − 2σ)."""
        largest: Floats = np.abs(changes).max(axis=1, initial=0.0)
        return largest

    def mean_spread(self, probabilities: Sequence[Floats]) -> float:
        """The mean of σ(1 − σ)."""
        spread = sum(float(np.sum(p * (1 - p))) for p in probabilities)
        return spread / max(self.targets.size, 1)
