"""Optima of a softmax head on many parts of one data set at once.

All heads start from the optimum on all rows. Their steps share one preconditioner, made of the
Hessian there, and products over rows that several heads see; they are in float32, on differences
to that optimum. At the end the gradient of each head is computed in float64 with a bound on its
rounding, as ``SoftmaxHead.fit`` does. A head that misses its tolerance is fitted by
``SoftmaxHead`` from where it stands.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from reticent.arrays import Array, ArrayLike, Flags, Floats, Integers
from reticent.parallel import map_threads
from reticent.randomness import seeded
from reticent.training import difference_steps, linear_head
from reticent.training.optimum import Optimum, certified_minimum
from reticent.training.softmax import SoftmaxObjective, softmax_rows
from reticent.training.softmax_head import SoftmaxHead
from reticent.validation import InputError, count

GOAL = 0.6
"""Of the tolerance, for gradients in float32: what rounding adds must not spoil the certificate."""
SAMPLE = 1024
"""Rows on which the common starting point is sought first."""
NEAR = 0.02
"""The gradient left at the starting point, in units of one record's over √(rows)."""


def can_stack(head: object) -> bool:
    """Whether all parts give a record the same weight: "balanced" weights differ by part."""
    return isinstance(head, SoftmaxHead) and not isinstance(head.class_weight, str)


def fit_parts(
    head: SoftmaxHead,
    X: ArrayLike,
    y: ArrayLike,
    inside: Flags,
    *,
    threads: int = 1,
    on_done: Callable[[int], None] | None = None,
) -> list[SoftmaxHead]:
    """What ``clone(head).fit(X[rows], y[rows])`` gives, for each row of ``inside``.

    The optimum of each part within the same tolerance; ``optimum_gap_`` is the bound on the
    gradient that was reached. Classes are those of all records where the head names none. Such a
    head predicts, but cannot be released: ``certified`` wants a fit of its own.
    """
    if not can_stack(head):
        raise InputError("head must be a SoftmaxHead without 'balanced' weights to be stacked")
    models: list[SoftmaxHead] = []  # in the order in which groups end: they are counted

    def take(fitted: list[SoftmaxHead]) -> None:
        models.extend(fitted)
        if on_done is not None:
            on_done(len(models))

    with threadpool_limits(limits=1, user_api="blas"):
        problem = _Problem.of(head, np.asarray(X), np.asarray(y), inside)
        parts = map_threads(
            problem.fitted,
            difference_steps.groups(inside),
            jobs=count("threads", threads),
            on_row=take,
        )
    return [model for part in parts for model in part]


@dataclass(frozen=True, kw_only=True)
class _Problem:
    """The head, all records, and the parts; from where and how steps are made."""

    head: SoftmaxHead
    X: Array
    y: Array
    inside: Flags
    records: Integers
    """N of each part."""
    tolerances: Floats
    reference: difference_steps.Reference
    preconditioner: difference_steps.TwoLevel

    @classmethod
    def of(cls, head: SoftmaxHead, X: Array, y: Array, inside: Flags) -> "_Problem":
        twin = clone(head)
        objective = twin.loss_on(X, y)
        assert isinstance(objective, SoftmaxObjective)
        seen = inside.sum(axis=1)
        records = seen if head.records is None else np.full(len(inside), head.records)
        weights = objective.weights[objective.labels]
        with np.errstate(all="ignore"):
            data = difference_steps.Turned.of(objective.rows / objective.radius, weights)
            reference = _starting_point(objective, data, float(records.mean() / seen.mean()))
            preconditioner = reference.preconditioner(
                share=float(inside.mean()), records=float(records.mean())
            )
        twin.set_params(classes=twin.classes_.tolist())
        return cls(
            head=twin,
            X=X,
            y=y,
            inside=inside,
            records=records,
            tolerances=_tolerances(twin, records),
            reference=reference,
            preconditioner=preconditioner,
        )

    def fitted(self, group: slice) -> list[SoftmaxHead]:
        """The heads of some parts."""
        inside, records = self.inside[group], self.records[group]
        tolerances = self.tolerances[group]
        with np.errstate(all="ignore"):  # a head that runs away is fitted alone
            steps = difference_steps.DifferenceSteps(
                self.reference, inside, records.astype(np.float64)
            )
            solution, _ = steps.solve(self.preconditioner, GOAL * tolerances)
            points = np.stack([self.reference.coordinates(each) for each in solution])
            bounds = gradient_bounds(self.reference.objective, points, inside, records)
        return [
            self._placed(Optimum(point=point, gradient_bound=bound, steps=1), tolerance, rows)
            for point, bound, tolerance, rows in zip(
                points, bounds.tolist(), tolerances.tolist(), inside, strict=True
            )
        ]

    def _placed(self, optimum: Optimum, tolerance: float, rows: Flags) -> SoftmaxHead:
        model = clone(self.head)
        if not optimum.gradient_bound <= tolerance:
            start = optimum.point if np.isfinite(optimum.point).all() else None
            alone: SoftmaxHead = model.fit(self.X[rows], self.y[rows], start=start)
            return alone
        model.classes_ = self.head.classes_
        model.n_features_in_ = self.X.shape[1]
        placed: SoftmaxHead = model.set_solution(optimum, tolerance=tolerance)
        return placed


def gradient_bounds(
    objective: SoftmaxObjective, points: Floats, inside: Flags, records: Integers
) -> Floats:
    """A proven bound on the norm of ∇J at each point, J over the rows that its head sees.

    Sums are over blocks of at most 2,048 rows and then over blocks, of which there are at most
    256 more than full ones: fewer additions in a row than docs/theory.md D.3 grants for up to
    three million rows.
    """
    patterns = difference_steps.RowPatterns.of(inside)
    totals = np.zeros_like(points)
    for block in patterns.blocks:
        places = patterns.order[block.rows]
        rows = objective.rows[places]
        residuals = _residuals(objective, places, rows @ _rows_of(points[block.heads]).T)
        totals[block.heads] += (residuals.T @ rows).reshape(-1, *objective.shape)
    bounds = []
    for total, point, part, n in zip(totals, points, inside, records.tolist(), strict=True):
        gradient = total / n + objective.penalty * point
        size = float(np.linalg.norm(point)) * 1.001
        rounding = replace(objective, records=n).rounding_bound(size=size, rows=int(part.sum()))
        bounds.append(float(np.linalg.norm(gradient)) * (1 + 1e-9) + rounding)
    return np.array(bounds)


def _tolerances(head: SoftmaxHead, records: Integers) -> Floats:
    """τ of each part, which depends on its N alone."""
    sizes, places = np.unique(records, return_inverse=True)
    plans = [clone(head).set_params(records=int(n)) for n in sizes]
    return np.array([plan.planned(head.n_features_in_).tolerance for plan in plans])[places]


def _residuals(objective: SoftmaxObjective, places: Integers, outputs: Floats) -> Floats:
    """w·Uᵀ(p − e_y) from V h, for several heads side by side."""
    others = objective.shape[0]
    answers = softmax_rows(outputs.reshape(-1, others) @ objective.basis.T)
    by_row = answers.reshape(len(places), -1, others + 1)
    by_row[np.arange(len(places)), :, objective.labels[places]] -= 1.0
    by_row *= objective.weights[objective.labels[places]][:, None, None]
    folded: Floats = answers @ objective.basis
    return folded.reshape(len(places), -1)


def _rows_of(points: Floats) -> Floats:
    return points.reshape(-1, points.shape[-1])


def _starting_point(
    objective: SoftmaxObjective, data: difference_steps.Turned, ratio: float
) -> difference_steps.Reference:
    """Near the optimum on all rows, with N = ratio·rows: from that on a sample of them."""
    rows = len(objective.rows)
    chosen = np.sort(seeded("sample of rows").permutation(rows)[:SAMPLE])
    sample = replace(
        objective,
        rows=objective.rows[chosen],
        labels=objective.labels[chosen],
        records=max(round(ratio * len(chosen)), 1),
    )
    enough = max(
        _near(sample), linear_head.least_tolerance(sample)
    )  # or no end is proven (theory D.2)
    optimum = certified_minimum(sample, tolerance=enough)
    reference = difference_steps.Reference.at(objective, data, optimum.point)
    if len(chosen) == rows:
        return reference
    records = ratio * rows
    steps = difference_steps.DifferenceSteps(
        reference, np.ones((1, rows), dtype=bool), np.array([records])
    )
    rough = reference.preconditioner(share=1.0, records=records, every=rows // SAMPLE)
    difference, size = steps.solve(rough, np.array([_near(objective)]))
    if not np.isfinite(size).all():
        return reference
    return difference_steps.Reference.at(objective, data, reference.coordinates(difference[0]))


def _near(objective: SoftmaxObjective) -> float:
    """What may be left of the gradient at a starting point."""
    return (
        NEAR * objective.max_residual_norm * objective.radius / float(np.sqrt(len(objective.rows)))
    )
