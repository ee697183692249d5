"""Noisy gradient descent on a linear head: the noise is inside, and the optimum never computed.

Everything that touches private rows is a noisy sum over records (docs/theory.md E): their number,
their mean, their second moment, and T gradients with rows clipped.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from reticent.mechanisms.profiles import gaussian
from reticent.protect.learners.claim import EXP, STATED
from reticent.protect.learners.exact_rows import on_grid, unit_rows
from reticent.protect.learners.gradient_recipe import (
    COUNT,
    GRADIENT,
    LARGEST_MEAN,
    MEAN,
    MOMENT,
    REACH,
    SHARES,
    SMALLEST_MEAN,
    GradientRecipe,
)
from reticent.protect.learners.learner import Learner
from reticent.protect.learners.preconditioner import (
    UNKNOWN_SPREAD,
    Preconditioner,
    edge,
    preconditioner,
)
from reticent.protect.learners.recipe import Plan, Planned
from reticent.protect.learners.released_linear import Affine
from reticent.protect.learners.statistics import std_of
from reticent.protect.mean import exact_sum
from reticent.protect.public_numbers import checked_each
from reticent.validation import count

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

_BLOCK = 2048
_WORTH_IT = 0.06
"""The edge of the second moment's noise beyond which it is not worth its share; found on CIFAR-10
features, where it is the edge at n = 10,000."""
_INTERCEPT = 0.05
"""Two classes are seldom equally large, and centred rows cannot say which is larger: on Adult this
is worth 2 to 3 points. With more classes it gained nothing on average."""
_MEAN_NOISE = 0.2
"""How long the noise on the mean may be; rows have norm 1. Found on training records of six data
sets: with a share of 1 % for every N, few records are centred by noise alone."""


class NoisyGradientHead(Learner):
    """A linear softmax head by noisy full-batch gradients on whitened unit rows.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> head = NoisyGradientHead(
    ...     classes=range(10), records=1500, epsilon=4.0, delta=1e-5, relation="add-remove"
    ... ).fit(X[:1500], y[:1500])
    >>> print(head.guarantee_)
    ε ≤ 4, δ ≤ 1e-5 (proven; neighbours: add-remove; unit: one record)
    """

    name = "noisy gradient"
    stated = (*STATED, EXP)

    def _recipe(self, features: int, classes: int) -> GradientRecipe:
        return GradientRecipe(
            records=count("records", self.records),
            features=features,
            classes=classes,
            records_each=checked_each(self.records_each),
            preconditioned=self._moment_pays(features),
            mean_share=self._mean_share(features),
            intercept=_INTERCEPT if classes == 2 else 0.0,
        )

    def _moment_pays(self, features: int) -> bool:
        """A rule in public numbers: is the second moment's noise small beside its trace?"""
        if not self._shift > 0:
            return False
        noise = 1 / (self._shift * math.sqrt(SHARES[MOMENT]))
        return edge(features=features, noise=noise, records=self.records) <= _WORTH_IT

    def _mean_share(self, features: int) -> float:
        """As much as keeps the noise on the mean, √d/(μ·√share·N), short beside unit rows."""
        signal = _MEAN_NOISE * self._shift * self.records
        wanted = features / signal**2 if signal > 0 else LARGEST_MEAN
        return min(max(wanted, SMALLEST_MEAN), LARGEST_MEAN)

    @property
    def _shift(self) -> float:
        """The μ of Gaussian noise that (ε, δ) buys; 0 where δ = 0 buys none."""
        return gaussian.shift(self.epsilon, self.delta) if self.delta > 0 else 0.0

    def _learnt(self, rows: Floats, labels: Labels, recipe: GradientRecipe, plan: Plan) -> Affine:
        unit = unit_rows(rows, np.zeros(rows.shape[1]))
        records = max(_released(plan, COUNT, float(len(rows))).item(), 10.0 * recipe.classes)
        mean = _released(plan, MEAN, exact_sum(unit, 1.0)) / records
        centred = _with_intercept(unit_rows(unit, mean), recipe.intercept)
        white = _preconditioned(centred, recipe, plan, records)
        turned = on_grid(white.matrix, white.norm)
        weights = _descent(_turned(centred, turned), labels, recipe, plan, records, white.spread)
        # The rows' norms after whitening, on average: probabilities need a scale.
        entries = turned @ weights / math.sqrt(white.energy * (1 + recipe.intercept**2))
        # And those after centring.
        length = math.sqrt(max(1 - float(mean @ mean), 1e-3))
        layer: Floats = (entries[: recipe.features] / length).T
        offsets = recipe.intercept * entries[recipe.features :].sum(axis=0)
        return Affine(weights=np.ascontiguousarray(layer), offsets=offsets - layer @ mean)


def _with_intercept(rows: Floats, intercept: float) -> Floats:
    """A constant entry more, and norm 1 again: each row still depends on its record alone."""
    if not intercept:
        return rows
    longer = np.column_stack([rows, np.full(len(rows), intercept)])
    return unit_rows(longer, np.zeros(longer.shape[1]))


def _released(plan: Plan, name: str, value: Floats | float) -> Floats:
    return plan[name].release(np.atleast_1d(value))


def _preconditioned(
    rows: Floats, recipe: GradientRecipe, plan: Plan, records: float
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
        noise=std_of(plan[MOMENT].noise, width * (width + 1) // 2),
        records=records,
    )


def _symmetric_release(total: Floats, step: Planned) -> Floats:
    """A symmetric matrix in an orthonormal basis: its diagonal, and √2 times what is above it."""
    above = np.triu_indices(len(total), 1)
    root = math.sqrt(2.0)
    released = step.release(np.concatenate([np.diag(total), root * total[above]]))
    matrix = np.zeros_like(total)
    matrix[above] = released[len(total) :] / root
    return matrix + matrix.T + np.diag(released[: len(total)])


def _turned(rows: Floats, matrix: Floats) -> Floats:
    """Rows times the preconditioner, exactly, and brought to norm 1 again."""
    origin = np.zeros(len(matrix))
    turned = np.empty_like(rows)
    for start in range(0, len(rows), _BLOCK):
        block = slice(start, start + _BLOCK)
        turned[block] = unit_rows(rows[block] @ matrix, origin)
    return turned


def _descent(
    rows: Floats,
    labels: Labels,
    recipe: GradientRecipe,
    plan: Plan,
    records: float,
    spread: float,
) -> Floats:
    """T steps with momentum; d × C weights."""
    std = std_of(plan[GRADIENT].noise, recipe.width * recipe.classes)
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


def _gradient(rows: Floats, labels: Labels, weights: Floats, clip: float) -> Floats:
    """Σ x rᵀ with ‖r‖ ≤ clip (and ‖x‖ ≤ 1), r = p − e_y scaled down where it is longer."""
    total = np.zeros_like(weights)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        residual = block @ weights
        residual -= residual.max(axis=1, keepdims=True)
        np.exp(residual, out=residual)
        residual /= residual.sum(axis=1, keepdims=True)
        residual[np.arange(len(block)), labels[start : start + _BLOCK]] -= 1.0
        norms = np.sqrt(np.einsum("ij,ij->i", residual, residual))[:, None]
        residual *= np.minimum(1.0, clip / np.maximum(norms, clip))
        total += block.T @ residual
    return total
