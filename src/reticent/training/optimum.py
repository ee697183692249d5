"""Minimising a strongly convex objective until a certificate holds.

The certificate: ‖computed gradient‖ + rounding ≤ τ at the very floats returned. With strong
convexity λ these are within τ/λ of the exact minimiser, whatever happened on the way. There is no
cap on the steps: on every data set the search ends, because a gradient step of length 1/L shrinks
the distance to the minimiser by 1 − λ/L.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reticent.training.objective import Floats, SoftmaxObjective


@dataclass(frozen=True, kw_only=True)
class Optimum:
    """The floats, a proven bound on the gradient there, and the number of gradients taken."""

    point: Floats
    gradient_bound: float
    steps: int


def certified_minimum(objective: SoftmaxObjective, *, tolerance: float) -> Optimum:
    """A point whose gradient is proven to be at most ``tolerance`` in norm."""
    point = np.zeros(objective.shape)
    steps = 0
    while True:
        _, gradient = objective.value_and_gradient(point)
        steps += 1
        bound = _gradient_bound(objective, point, gradient)
        if bound <= tolerance:
            return Optimum(point=point, gradient_bound=bound, steps=steps)
        point = _newton(objective, point, gradient)


def _gradient_bound(objective: SoftmaxObjective, point: Floats, gradient: Floats) -> float:
    return float(np.linalg.norm(gradient)) * (1 + 1e-9) + objective.rounding(point)


def _newton(objective: SoftmaxObjective, point: Floats, gradient: Floats) -> Floats:
    """A Newton step if it shrinks the gradient, else a gradient step, which always helps."""
    direction = _conjugate_gradients(objective, point, gradient)
    before = float(np.linalg.norm(gradient))
    for length in (1.0, 0.25, 0.0625):
        candidate = point - length * direction
        _, there = objective.value_and_gradient(candidate)
        if float(np.linalg.norm(there)) < 0.9 * before:
            return candidate
    return point - gradient / objective.smoothness()


def _conjugate_gradients(
    objective: SoftmaxObjective, point: Floats, gradient: Floats, *, accuracy: float = 0.01
) -> Floats:
    """An approximate solution of H·x = gradient."""
    curvature = objective.curvature(point)
    solution, residual = np.zeros_like(gradient), gradient.copy()
    direction = residual.copy()
    size = float(np.sum(residual * residual))
    enough = accuracy**2 * size
    for _ in range(300):
        if size <= enough:
            break
        image = curvature.times(direction)
        length = size / float(np.sum(direction * image))
        solution += length * direction
        residual -= length * image
        smaller = float(np.sum(residual * residual))
        direction = residual + smaller / size * direction
        size = smaller
    return solution
