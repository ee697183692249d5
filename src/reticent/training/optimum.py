"""Minimising a strongly convex objective until a certificate holds.

The certificate: ‖computed gradient‖ + rounding ≤ τ at the very floats returned. With strong
convexity λ these are within τ/λ of the exact minimiser, whatever happened on the way. There is no
cap on the steps: on every data set the search ends, because a gradient step of length 1/L shrinks
the distance to the minimiser by 1 − λ/L.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from reticent.training.objective import Curvature, Floats, LinearObjective

_LENGTHS = tuple(2.0**-k for k in range(11))
_DAMPING = 2.0**-40
"""Of the trace of a second moment: rounding leaves eigenvalues of that size below zero."""
LARGEST_MOMENT = 4096
"""Features up to which a second moment is formed and factored to speed up the search."""


@dataclass(frozen=True, kw_only=True)
class Optimum:
    """The floats, a proven bound on the gradient there, and the number of gradients taken."""

    point: Floats
    gradient_bound: float
    steps: int


def certified_minimum(
    objective: LinearObjective, *, tolerance: float, start: Floats | None = None
) -> Optimum:
    """A point whose gradient is proven to be at most ``tolerance`` in norm.

    Where the search starts decides how long it takes and nothing else.
    """
    point = np.zeros(objective.shape) if start is None else start
    moment = objective.second_moment() if objective.shape[1] <= LARGEST_MOMENT else None
    steps = 0
    while True:
        gradient = objective.gradient(point)
        steps += 1
        bound = _gradient_bound(objective, point, gradient)
        if bound <= tolerance:
            return Optimum(point=point, gradient_bound=bound, steps=steps)
        point = _newton(objective, point, gradient, moment)


def _gradient_bound(objective: LinearObjective, point: Floats, gradient: Floats) -> float:
    return float(np.linalg.norm(gradient)) * (1 + 1e-9) + objective.rounding(point)


def _newton(
    objective: LinearObjective, point: Floats, gradient: Floats, moment: Floats | None
) -> Floats:
    """A Newton step if it shrinks the gradient, else a gradient step, which always helps."""
    curvature = objective.curvature(point)
    direction = _solve(curvature, gradient, _preconditioner(curvature, moment))
    before = float(np.linalg.norm(gradient))
    for length in _LENGTHS:
        candidate = point - length * direction
        shrunk = float(np.linalg.norm(objective.gradient(candidate)))
        if shrunk < (1 - 0.3 * length) * before:  # a short step of Newton's shrinks by 1 − length
            return candidate
    return point - gradient / objective.smoothness()


def _preconditioner(curvature: Curvature, moment: Floats | None) -> Callable[[Floats], Floats]:
    """Divides each row of V by κ·(second moment) + λ, κ the mean spread of the probabilities.

    It decides how many steps are needed and nothing else.
    """
    penalty = curvature.objective.penalty
    if moment is None:
        return lambda rows: rows / penalty
    rough = curvature.mean_spread() * moment
    damped = rough + (penalty + _DAMPING * float(np.trace(rough))) * np.eye(len(moment))
    factor = linalg.cho_factor(damped, lower=True)
    return lambda rows: np.ascontiguousarray(linalg.cho_solve(factor, rows.T).T)


def _solve(
    curvature: Curvature, gradient: Floats, precondition: Callable[[Floats], Floats]
) -> Floats:
    """H·x = gradient up to 1 %, by preconditioned conjugate gradients."""
    solution, residual = np.zeros_like(gradient), gradient.copy()
    image = precondition(residual)
    direction = image.copy()
    size = float(np.sum(residual * image))
    enough = 1e-4 * size
    for _ in range(300):
        if not size > enough:
            break
        product = curvature.times(direction)
        length = size / float(np.sum(direction * product))
        solution += length * direction
        residual -= length * product
        image = precondition(residual)
        smaller = float(np.sum(residual * image))
        direction = image + smaller / size * direction
        size = smaller
    return solution
