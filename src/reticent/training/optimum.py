"""Minimising a strongly convex objective until a certificate holds.

The certificate: ‖computed gradient‖ + rounding ≤ τ at the very floats returned. With strong
convexity λ these are within τ/λ of the exact minimiser, whatever happened on the way.

The search is Newton's method with a line search on the objective. There is no cap on its steps; it
ends on every data set because each step provably lowers J by a fixed amount, or shrinks the
smallest gradient so far by a fixed factor (docs/theory.md D.2).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from reticent.arrays import Floats
from reticent.training.objective import BLOCK, ROOM, UNIT, Curvature, LinearObjective, gamma, norm

Preconditioner = Callable[[Floats], Floats]

_DAMPINGS = (2.0**-48, 2.0**-40, 2.0**-32)
"""Of the trace of a matrix: rounding leaves eigenvalues of that size below zero."""
LARGEST_MOMENT = 4096
"""Features up to which a second moment is formed and factored to speed up the search."""
LARGEST_HESSIAN = 2048
"""Coordinates up to which the whole Hessian is, where the second moment does not help enough."""
_PRODUCTS = 300
"""Conjugate gradients stop after this many products at the latest."""
_ATTEMPTS = 8
"""Directions that are tried, each damped more, before a gradient step is made."""
_SHRINK = 0.9
"""The factor by which a step must shrink the gradient to count without lowering J."""


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

    That the search ends is proven for tolerances of at least eight times the objective's
    ``worst_rounding`` and at most ROOM·N records (docs/theory.md D.2).
    Where the search starts decides how long it takes and nothing else.
    """
    objective.check_range(tolerance)
    search = _Search(objective, tolerance)
    here = objective.curvature(search.started(start))
    steps = 1
    while not search.ends(here):
        here = search.step(here)
        steps += 1
    return Optimum(point=here.point, gradient_bound=_gradient_bound(here), steps=steps)


def _gradient_bound(here: Curvature) -> float:
    """‖∇J‖ at most: as computed, and what rounding may have hidden."""
    room = 1 + 1e-9 + gamma(here.point.size)  # of the norm itself
    return norm(here.gradient) * room + here.objective.rounding(here.point)


class _Search:
    """What is remembered between steps: the smallest gradient, and which preconditioner helps."""

    def __init__(self, objective: LinearObjective, tolerance: float) -> None:
        self.objective = objective
        self.tolerance = tolerance
        self.solver = _Solver(objective)
        self.smallest = math.inf
        self.least_fall = tolerance / objective.smoothness() * tolerance / 128
        """θ: what a gradient step is proven to lower J by (docs/theory.md D.2)."""
        room = max(ROOM, len(objective.rows) / objective.records)
        steepest = room * objective.max_residual_norm * objective.radius
        self.largest_norm = 1.005 * steepest / objective.penalty

    def started(self, start: Floats | None) -> Floats:
        """The start if J is provably no larger there than at the centre, else the centre."""
        with np.errstate(all="ignore"):  # what is not finite proves nothing
            serves = start is not None and self._below_origin(start)
        return start if start is not None and serves else self.objective.origin.copy()

    def ends(self, here: Curvature) -> bool:
        """Whether the certificate holds at these floats."""
        return _gradient_bound(here) <= self.tolerance

    def step(self, here: Curvature) -> Curvature:
        """Newton's, if it is proven to help; else a gradient step, which is."""
        self.smallest = min(self.smallest, norm(here.gradient))
        with np.errstate(all="ignore"):  # what is not finite fails the tests of a step
            for _ in range(_ATTEMPTS):
                there = self._newton(here)
                if there is not None:
                    return there
        return self.objective.curvature(here.point - here.gradient / self.objective.smoothness())

    def _newton(self, here: Curvature) -> Curvature | None:
        """Along Newton's direction, to a point that serves; None if there is none."""
        direction = _solve(here, here.gradient, self.solver)
        decrement = float(np.sum(here.gradient * direction))
        if not 0 < decrement < math.inf:
            self.solver.adapt(curvature=self.objective.penalty + self.solver.damping, length=0.1)
            return None
        there = self.objective.curvature(here.point - direction)
        if self.ends(there):
            return there
        line = Line.of(here, direction)
        length, rate = line.search(decrement)
        if length != 1:
            there = self.objective.curvature(here.point - length * direction)
        inside = self._within_reach(there.point)
        falls = inside and line.fall(length, rate) >= self.least_fall
        serves = falls or self._shrinks(there)
        curvature = decrement / norm(direction) / norm(direction)
        self.solver.adapt(curvature=curvature, length=length if serves else length / 10)
        return there if serves else None

    def _shrinks(self, there: Curvature) -> bool:
        """Whether the search ends there, or the smallest gradient shrinks where J ≤ J(0)."""
        if self.ends(there):
            return True
        size = norm(there.gradient)
        return size <= _SHRINK * self.smallest and self._below_origin(there.point)

    def _below_origin(self, point: Floats) -> bool:
        """Whether J(V) ≤ J(centre) is proven and V is no further than gradient steps can go."""
        if not self._within_reach(point):
            return False
        origin = self.objective.origin
        line = Line.of(self.objective.curvature(origin), origin - point)
        return line.fall(1.0, line.rate(1.0)) >= 0

    def _within_reach(self, point: Floats) -> bool:
        return norm(point - self.objective.origin) <= self.largest_norm


@dataclass(frozen=True)
class Line:
    """J along V − t·D, from V h and D h alone: no product with the rows for another t."""

    here: Curvature
    direction: Floats
    outputs: Sequence[Floats]
    """V h of every record, a block at a time."""
    changes: Sequence[Floats]
    """D h of every record, a block at a time."""
    _slopes: dict[float, float] = field(default_factory=dict)

    @classmethod
    def of(cls, here: Curvature, direction: Floats) -> "Line":
        """The line from a point, against a direction."""
        return cls(here, direction, list(here.outputs), list(here.objective.products(direction)))

    def slope(self, t: float) -> float:
        """⟨∇J(V − tD), D⟩: how fast J falls at t."""
        if t not in self._slopes:
            self._slopes[t] = self._slope(t)
        return self._slopes[t]

    def _slope(self, t: float) -> float:
        objective = self.here.objective
        total = 0.0
        blocks = zip(objective.blocks(), self.outputs, self.changes, strict=True)
        for block, outputs, changes in blocks:
            probabilities = objective.answers(outputs - t * changes)
            total += float(np.sum(objective.residual(block, probabilities) * changes))
        pull = objective.pull(self.here.point - t * self.direction)
        return total / objective.records + float(np.sum(pull * self.direction))

    def damped(self) -> float:
        """ln(1 + β)/β: up to there J falls, if the direction is Newton's (docs/theory.md D.2)."""
        objective = self.here.objective
        beta = 0.0
        for block, changes in zip(objective.blocks(), self.changes, strict=True):
            swing = objective.swing(changes) * (objective.importance(block) > 0)
            beta = max(beta, float(swing.max(initial=0.0)))
        return math.log1p(beta) / beta if 0 < beta < math.inf else 1.0

    def rate(self, t: float, enough: float = math.inf) -> float:
        """J(V) − J(V − tD) is at least t times this, rounding apart.

        J is above its tangent at the end; with another one in the middle, if that is not enough.
        """
        end = self.slope(t)
        return end if end >= enough else (end + self.slope(t / 2)) / 2

    def search(self, decrement: float) -> tuple[float, float]:
        """A t near the minimum, and its rate: a tenth of the decrement at least.

        1 if it serves; the damped one serves always, in exact arithmetic (docs/theory.md D.2).
        """
        low, high, t = 0.0, 1.0, 1.0
        for _ in range(30):
            rate = self.rate(t, enough=decrement / 10)
            if not rate >= decrement / 10:
                high = t
            elif self.slope(t) > decrement / 2 and t < 1:
                low = t
            else:
                return t, rate
            low = low or self.damped()
            t = math.sqrt(low * high)
        return low, self.rate(low)

    def fall(self, t: float, rate: float) -> float:
        """A proven lower bound on J(V) − J(V⁺), V⁺ the floats of V − tD (docs/theory.md D.3)."""
        return t * rate - self._rounding(t)

    def _rounding(self, t: float) -> float:
        """Of t·slope, and of the floats of V − tD (docs/theory.md D.3)."""
        objective = self.here.objective
        (outputs, features), rows = objective.shape, len(objective.rows)
        length = norm(self.direction)
        size = norm(self.here.point) + t * length + 2 * objective.origin_norm
        share, change = self._moved()
        additions = gamma(min(BLOCK, rows) * outputs + rows // BLOCK + 8)
        residual = objective.residual_error(4 * objective.radius * size)
        product = objective.max_residual_norm * objective.radius * gamma(features) * length
        slope = (
            change * (residual + 1.07 * objective.max_residual_norm * additions) + share * product
        )
        slope += objective.penalty * size * length * gamma(outputs * features + 8)
        steepest = share * objective.max_residual_norm * objective.radius + objective.penalty * size
        return 1.1 * (t * slope + 2.1 * UNIT * steepest * size)

    def _moved(self) -> tuple[float, float]:
        """(1/N)·Σ v and at least (1/N)·Σ v‖D h‖, v the weight of a record over the largest."""
        objective = self.here.objective
        share = change = 0.0
        for block, changes in zip(objective.blocks(), self.changes, strict=True):
            weights = objective.importance(block) / objective.largest_weight
            share += float(np.sum(weights))
            change += float(np.sum(weights * np.abs(changes).sum(axis=1)))
        return share / objective.records, change / objective.records


class _Solver:
    """Preconditioners for H·x = gradient: they decide how many products it takes, nothing else."""

    def __init__(self, objective: LinearObjective) -> None:
        self.size = objective.shape[0] * objective.shape[1]
        small = objective.shape[1] <= LARGEST_MOMENT
        self.moment = objective.second_moment() if small else None
        self.whole = False
        self.stiffest = objective.smoothness()
        self.damping = 0.0
        """What is added to H, as Levenberg and Marquardt do: it shortens the direction where H is
        flat, so that steep directions do not wait for it."""

    def adapt(self, *, curvature: float, length: float) -> None:
        """After a short step, add what would have made it short; after a long one, take off."""
        if length >= 0.5:
            self.damping /= 10
        else:
            target = curvature / length if length > 0 else math.inf
            self.damping = target if target <= self.stiffest else self.stiffest

    @property
    def patience(self) -> int:
        """Products after which the whole Hessian is cheaper."""
        return min(max(self.size // 3, 60), _PRODUCTS)

    def rough(self, here: Curvature) -> Preconditioner:
        """Divides each row of V by κ·(second moment) + λ, κ the mean spread of probabilities."""
        penalty = here.objective.penalty + self.damping
        if self.moment is None:
            return lambda rows: rows / penalty
        factor = _factored(here.mean_spread() * self.moment, penalty)
        if factor is None:
            return lambda rows: rows / penalty
        return lambda rows: np.ascontiguousarray(_solved(factor, rows.T).T)

    def exact(self, here: Curvature) -> Preconditioner | None:
        """Divides by the whole Hessian as far as floats can; None if they cannot."""
        factor = _factored(here.matrix(), here.objective.penalty + self.damping)
        if factor is None:
            return None
        return lambda rows: _solved(factor, rows.ravel()).reshape(rows.shape)


def _factored(matrix: Floats, penalty: float) -> tuple[Floats, bool] | None:
    """Cholesky's factor of matrix + λ, damped as little as rounding needs."""
    if not np.isfinite(matrix).all():
        return None
    trace = float(np.trace(matrix))
    for damping in _DAMPINGS:
        try:
            damped = matrix + (penalty + damping * trace) * np.eye(len(matrix))
            factor: tuple[Floats, bool] = linalg.cho_factor(damped, lower=True)
        except linalg.LinAlgError:
            continue
        return factor
    return None


def _solved(factor: tuple[Floats, bool], rhs: Floats) -> Floats:
    """What is not finite stays so, and fails the tests of a step; it is no error here."""
    solution: Floats = linalg.cho_solve(factor, rhs, check_finite=False)
    return solution


def _solve(here: Curvature, gradient: Floats, solver: _Solver) -> Floats:
    """Newton's direction H⁻¹·gradient up to 1 %, or as near as conjugate gradients come.

    They start at 0, so that ⟨gradient, x⟩ = ⟨x, H·x⟩ wherever they stop (docs/theory.md D.2).
    """
    may_be_whole = solver.size <= LARGEST_HESSIAN
    if not solver.whole:
        products = solver.patience if may_be_whole else _PRODUCTS
        direction, enough = _conjugate_gradients(
            here, gradient, solver.rough(here), products, solver.damping
        )
        if enough or not may_be_whole:
            return direction
        solver.whole = True
    precondition = solver.exact(here) or solver.rough(here)
    return _conjugate_gradients(here, gradient, precondition, _PRODUCTS, solver.damping)[0]


def _conjugate_gradients(
    here: Curvature, gradient: Floats, precondition: Preconditioner, products: int, damping: float
) -> tuple[Floats, bool]:
    """The solution, and whether it is near: residuals of 1 % preconditioned and 10 % plainly."""
    solution, residual = np.zeros_like(gradient), gradient.copy()
    image = precondition(residual)
    direction = image.copy()
    size = float(np.sum(residual * image))
    enough, short = 1e-4 * size, 1e-2 * float(np.sum(gradient * gradient))
    for _ in range(products):
        if not (size > enough or float(np.sum(residual * residual)) > short):
            return solution, True
        product = here.times(direction) + damping * direction
        curvature = float(np.sum(direction * product))
        if not curvature > 0:
            break
        solution += size / curvature * direction
        residual -= size / curvature * product
        image = precondition(residual)
        smaller = float(np.sum(residual * image))
        if not smaller > 0:
            break
        direction = image + smaller / size * direction
        size = smaller
    return solution, False
