"""The public numbers of noisy gradient descent, and how far a record moves what it releases."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reticent import bounds
from reticent.guarantee import Relation, Sensitivity
from reticent.protect.learners.recipe import Recipe, Step
from reticent.protect.public_numbers import records_touched

_UNIT = 2.0**-53
_EXP_ERROR = 16 * _UNIT
_THEOREM = "bounds.sums.rounded_sum"

COUNT, MEAN, MOMENT, GRADIENT = "count", "mean", "second moment", "gradients"
SHARES = {COUNT: 0.001, MOMENT: 0.100}
SMALLEST_MEAN, LARGEST_MEAN = 0.01, 0.2
"""The share of the mean is between them."""
REACH = 2.0**13
"""The weights are kept within this norm: a public operation, and far beyond what they reach."""


@dataclass(frozen=True, kw_only=True)
class GradientRecipe(Recipe):
    """N, d, C and the constants of the descent; all of them are public."""

    steps_taken: int = 100
    clip: float = 0.1
    momentum: float = 0.8
    longest_step: float = 2.0
    logit_noise: float = 1.1
    preconditioned: bool = True
    mean_share: float = SMALLEST_MEAN
    intercept: float = 0.0
    """A constant entry beside unit rows, which are then scaled to norm 1 again; 0 for none."""

    @property
    def width(self) -> int:
        """The number of entries of a row that gradients are formed of."""
        return self.features + (1 if self.intercept else 0)

    def steps(self, relation: Relation) -> dict[str, Step]:
        """Count, mean, second moment where it pays, and the gradients with what is left."""
        d = self.width
        sums = {COUNT: (1.0, 1, 0.0), MEAN: (1.0, self.features, 0.0)}
        if self.preconditioned:
            sums[MOMENT] = (1.0, d * (d + 1) // 2, 0.0)
        shares = SHARES | {MEAN: self.mean_share}
        found = {
            name: Step(
                sensitivity=self._moved(name, relation, *numbers),
                share=shares[name],
                theorem=_THEOREM,
            )
            for name, numbers in sums.items()
        }
        rest = 1 - sum(step.share for step in found.values())
        clip = self.clip * (1 + 2.0**-40)
        gradients = self._moved(GRADIENT, relation, clip, d * self.classes, self._residual_error())
        descent = Step(sensitivity=gradients, share=rest, theorem=_THEOREM, times=self.steps_taken)
        return found | {GRADIENT: descent}

    def gathered(self, std: float, *, records: float, spread: float) -> float:
        """The noise on a logit after all steps, if each had length 1; at most."""
        return spread * math.sqrt(self.steps_taken) * std / (self.clip * records)

    def step_length(self, gathered: float) -> float:
        """As long as keeps the noise on a logit within the limit."""
        return min(self.longest_step, self.logit_noise / gathered)

    def _moved(
        self, name: str, relation: Relation, bound: float, size: int, term_error: float
    ) -> Sensitivity:
        return bounds.rounded_sum(
            name,
            bound=bound,
            size=size,
            records=self.records,
            relation=relation,
            term_error=term_error,
            records_each=records_touched(self.records_each),
        )

    def _residual_error(self) -> float:
        """‖computed residual − exact residual‖ of one record (docs/theory.md E.2).

        Logits are exact: whole multiples of public steps. What rounds is the subtraction of the
        largest one, exp and its sum, the difference from the label, and the clipping.
        """
        spread = 2 * (_EXP_ERROR + 2 * REACH * _UNIT) + (self.classes + 4) * _UNIT
        return spread + 2 * (self.classes + 8) * _UNIT
