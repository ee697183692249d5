"""Noisy gradient descent on a linear head: the noise is inside, and the optimum never computed.

Everything that touches private rows is a noisy sum over records (docs/theory.md E): their number,
their mean, their second moment, and T gradients with per-example gradient clipping.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from reticent import bounds
from reticent.arrays import Floats, Floats32, Integers
from reticent.guarantee import Sensitivity
from reticent.mechanisms.profiles import gaussian
from reticent.protect.recipe import Affine, Plan, PlannedStep, Step, Tensors
from reticent.protect.recipes import linear
from reticent.protect.recipes.exact_rows import on_grid, unit_rows
from reticent.protect.recipes.mean import exact_sum
from reticent.protect.recipes.preconditioner import (
    UNKNOWN_SPREAD,
    Preconditioner,
    edge,
    preconditioner,
)
from reticent.protect.recipes.statistics import with_intercept
from reticent.protect.terms import Terms
from reticent.training.features import MappedRows, Rows
from reticent.validation import positive

_BLOCK = 2048
_WORTH_IT = 0.06
"""The edge of the second moment's noise beyond which it is not worth its share; found on CIFAR-10
features, where it is the edge at n = 10,000."""
_TWO_CLASSES, _MORE_CLASSES = 0.05, 0.1
"""The intercept. Classes are seldom equally large, and centred rows cannot say which is larger: on
Adult this is worth 2 to 3 points, on three classes at 80/15/5 up to 2; where all are equally large
it gains and costs nothing."""
_MEAN_NOISE = 0.2
"""How long the noise on the mean may be; rows have norm 1. Found on training records of six data
sets: with a share of 1 % for every N, few records are centred by noise alone."""
_UNIT = 2.0**-53
_EXP_ERROR = 16 * _UNIT
_THEOREM = "bounds.sums.rounded_sum"

COUNT, MEAN, MOMENT, GRADIENT = "count", "mean", "second moment", "gradients"
SHARES = {COUNT: 0.001, MOMENT: 0.100}
SMALLEST_MEAN, LARGEST_MEAN = 0.01, 0.2
"""The share of the mean is between them."""
REACH = 2.0**13
"""The weights are kept within this norm: a public operation, and far beyond what they reach."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GradientRecipe(linear.LinearRecipe):
    """A linear softmax head by noisy full-batch gradients on whitened unit rows."""

    name: ClassVar[str] = "noisy-gradient"
    options: ClassVar[tuple[str, ...]] = ("longest_step",)
    stated: ClassVar[tuple[str, ...]] = (*linear.STATED, linear.EXP)

    steps_taken: int = 100
    clip: float = 0.1
    momentum: float = 0.8
    longest_step: float = 2.0
    """Longer ones learn faster where rows spread over many directions (docs/guide/train.md); the
    noise on a logit limits a step in any case."""
    logit_noise: float = 1.1
    preconditioned: bool = True
    mean_share: float = SMALLEST_MEAN
    intercept: float = 0.0
    """A constant entry beside unit rows, which are then scaled to norm 1 again; 0 for none."""

    def __post_init__(self) -> None:
        """The length of a step is public, and so is its refusal."""
        positive("longest_step", self.longest_step)

    @classmethod
    def _planned(cls, terms: Terms, numbers: dict[str, Any], options: dict[str, Any]) -> Self:
        """With the second moment where it pays, and a share for the mean that fits N."""
        records, features = numbers["records"], numbers["features"]
        constants = {
            "preconditioned": _moment_pays(terms, features, records),
            "mean_share": _mean_share(features, _shift(terms) * records),
            "intercept": intercept_of(numbers["classes"]),
        }
        return super(GradientRecipe, cls)._planned(terms, numbers, constants | options)

    def misfits(self, terms: Terms) -> list[str]:
        """Constants that differ from those that this recipe plans for the same public numbers.

        No intercept with more than two classes is an earlier plan: as private, and accepted.
        """
        earlier = self.intercept == 0 and self.classes > 2
        own = replace(self, intercept=intercept_of(self.classes)) if earlier else self
        return linear.other_constants(own, terms)

    @property
    def width(self) -> int:
        """The number of entries of a row that gradients are formed of."""
        return self.features + (1 if self.intercept else 0)

    def steps(self, terms: Terms) -> dict[str, Step]:
        """Count, mean, second moment where it pays, and the gradients with what is left."""
        d = self.width
        sums = {COUNT: (1.0, 1, 0.0), MEAN: (1.0, self.features, 0.0)}
        if self.preconditioned:
            sums[MOMENT] = (1.0, d * (d + 1) // 2, 0.0)
        shares = SHARES | {MEAN: self.mean_share}
        steps = {
            name: Step(
                sensitivity=self._moved(name, terms, *numbers),
                share=shares[name],
                theorem=_THEOREM,
            )
            for name, numbers in sums.items()
        }
        rest = 1 - sum(step.share for step in steps.values())
        clip = self.clip * (1 + 2.0**-40)
        gradients = self._moved(GRADIENT, terms, clip, d * self.classes, self._residual_error())
        descent = Step(sensitivity=gradients, share=rest, theorem=_THEOREM, times=self.steps_taken)
        return steps | {GRADIENT: descent}

    def learn(self, rows: Floats, labels: Integers, plan: Plan) -> Tensors:
        """Count, mean, second moment, then T noisy steps with momentum."""
        unit = MappedRows(rows, lambda block: unit_rows(block, np.zeros(rows.shape[1])))
        records = max(_released(plan, COUNT, float(len(rows))).item(), 10.0 * self.classes)
        mean = _released(plan, MEAN, exact_sum(unit, 1.0)) / records
        centred = MappedRows(
            unit, lambda block: with_intercept(unit_rows(block, mean), self.intercept)
        )
        white = _preconditioned(centred, self, plan, records)
        turned = on_grid(white.matrix, white.norm)
        weights = _descent(_turned(centred, turned), labels, self, plan, records, white.spread)
        # The rows' norms after whitening, on average: probabilities need a scale.
        entries = turned @ weights / math.sqrt(white.energy * (1 + self.intercept**2))
        # And those after centring.
        length = math.sqrt(max(1 - float(mean @ mean), 1e-3))
        layer: Floats = (entries[: self.features] / length).T
        offsets = self.intercept * entries[self.features :].sum(axis=0)
        return linear.layer_tensors(Affine(np.ascontiguousarray(layer), offsets - layer @ mean))

    def gathered(self, std: float, *, records: float, spread: float) -> float:
        """The noise on a logit after all steps, if each had length 1; at most."""
        return spread * math.sqrt(self.steps_taken) * std / (self.clip * records)

    def step_length(self, gathered: float) -> float:
        """As long as keeps the noise on a logit within the limit."""
        return min(self.longest_step, self.logit_noise / gathered)

    def _moved(
        self, name: str, terms: Terms, bound: float, size: int, term_error: float
    ) -> Sensitivity:
        return bounds.rounded_sum(
            name,
            bound=bound,
            size=size,
            records=self.records,
            relation=terms.relation,
            term_error=term_error,
            max_records_per_person=terms.records_touched,
        )

    def _residual_error(self) -> float:
        """‖computed residual − exact residual‖ of one record (docs/theory.md E.2).

        Logits are exact: whole multiples of public steps. What rounds is the subtraction of the
        largest one, exp and its sum, the difference from the label, and the clipping.
        """
        spread = 2 * (_EXP_ERROR + 2 * REACH * _UNIT) + (self.classes + 4) * _UNIT
        return spread + 2 * (self.classes + 8) * _UNIT


def intercept_of(classes: int) -> float:
    """A rule in a public number."""
    return _TWO_CLASSES if classes == 2 else _MORE_CLASSES


def _shift(terms: Terms) -> float:
    """The μ of Gaussian noise that (ε, δ) buys; 0 where δ = 0 buys none."""
    return gaussian.shift(terms.epsilon, terms.delta) if terms.delta > 0 else 0.0


def _moment_pays(terms: Terms, features: int, records: int) -> bool:
    """A rule in public numbers: is the second moment's noise small beside its trace?"""
    shift = _shift(terms)
    if not shift > 0:
        return False
    noise = 1 / (shift * math.sqrt(SHARES[MOMENT]))
    return edge(features=features, noise=noise, records=records) <= _WORTH_IT


def _mean_share(features: int, signal: float) -> float:
    """As much as keeps the noise on the mean, √d/(μ·√share·N), short beside unit rows."""
    wanted = features / (_MEAN_NOISE * signal) ** 2 if signal > 0 else LARGEST_MEAN
    return min(max(wanted, SMALLEST_MEAN), LARGEST_MEAN)


def _released(plan: Plan, name: str, value: Floats | float) -> Floats:
    return plan[name].release(np.atleast_1d(value))


def _preconditioned(
    rows: Rows, recipe: GradientRecipe, plan: Plan, records: float
) -> Preconditioner:
    width = recipe.width
    if not recipe.preconditioned:
        return Preconditioner(matrix=np.eye(width), norm=1.0, spread=UNKNOWN_SPREAD, energy=1.0)
    total = np.zeros((width, width))
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        total += block.T @ block
    return preconditioner(
        _symmetric_release(total, plan[MOMENT]),
        noise=plan[MOMENT].noise.std_in(width * (width + 1) // 2),
        records=records,
    )


def _symmetric_release(total: Floats, step: PlannedStep) -> Floats:
    """A symmetric matrix in an orthonormal basis: its diagonal, and √2 times what is above it."""
    above = np.triu_indices(len(total), 1)
    root = math.sqrt(2.0)
    released = step.release(np.concatenate([np.diag(total), root * total[above]]))
    matrix = np.zeros_like(total)
    matrix[above] = released[len(total) :] / root
    return matrix + matrix.T + np.diag(released[: len(total)])


def _turned(rows: Rows, matrix: Floats) -> Floats32:
    """Rows times the preconditioner, exactly, and brought to norm 1 again.

    Entries are multiples of 2⁻²⁰ up to 1: float32 holds them without error, in half the memory.
    """
    origin = np.zeros(len(matrix))
    turned = np.empty(rows.shape, dtype=np.float32)
    for start in range(0, len(rows), _BLOCK):
        block = slice(start, start + _BLOCK)
        turned[block] = unit_rows(rows[block] @ matrix, origin)
    return turned


def _descent(
    rows: Floats32,
    labels: Integers,
    recipe: GradientRecipe,
    plan: Plan,
    records: float,
    spread: float,
) -> Floats:
    """T steps with momentum; d × C weights."""
    std = plan[GRADIENT].noise.std_in(recipe.width * recipe.classes)
    gathered = recipe.gathered(std, records=records, spread=spread)
    length = recipe.step_length(gathered) * spread / recipe.clip
    weights = np.zeros((recipe.width, recipe.classes))
    momentum = np.zeros_like(weights)
    for _ in range(recipe.steps_taken):
        total = plan[GRADIENT].release(_gradient(rows, labels, weights, recipe.clip))
        momentum = recipe.momentum * momentum + (1 - recipe.momentum) * total / records
        weights = on_grid(_kept(weights - length * momentum), REACH)
    return weights


def _kept(weights: Floats) -> Floats:
    """Within the norm that the rounding bound counts on."""
    norm = float(np.linalg.norm(weights))
    return weights if norm <= REACH / 2 else weights * (REACH / 2 / norm)


def _gradient(rows: Floats | Floats32, labels: Integers, weights: Floats, clip: float) -> Floats:
    """Σ x rᵀ with ‖r‖ ≤ clip (and ‖x‖ ≤ 1), r = p − e_y scaled down where it is longer."""
    total, doubles = np.zeros_like(weights), np.empty((min(_BLOCK, len(rows)), rows.shape[1]))
    for start in range(0, len(rows), _BLOCK):
        block = doubles[: len(rows) - start]
        block[:] = rows[start : start + _BLOCK]
        residual = block @ weights
        residual -= residual.max(axis=1, keepdims=True)
        np.exp(residual, out=residual)
        residual /= residual.sum(axis=1, keepdims=True)
        residual[np.arange(len(block)), labels[start : start + _BLOCK]] -= 1.0
        norms = np.sqrt(np.einsum("ij,ij->i", residual, residual))[:, None]
        residual *= np.minimum(1.0, clip / np.maximum(norms, clip))
        total += block.T @ residual
    return total
