"""Exact softmax heads on neighbouring data sets, many at once, from the full optimum.

N stays the public normaliser of the full fit: a record that leaves takes its term along and
nothing else. A head that the stacked passes do not bring to the accuracy is solved by Newton's
method in float64 until a certificate holds.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from reticent.arrays import ArrayLike, Floats, Floats32, Integers
from reticent.neighbours.differences import Differences, Norms
from reticent.neighbours.preconditioner import (
    Curved,
    OwnRecords,
    Preconditioner,
    StackedHeads,
    exact_pays,
    preconditioner_of,
)
from reticent.training.features import public_map
from reticent.training.optimum import certified_minimum
from reticent.training.records import indices_of
from reticent.training.softmax import SoftmaxObjective, zero_sum_basis
from reticent.training.softmax_head import SoftmaxHead
from reticent.validation import InputError, count, float_rows, integer_array, open_probability

HEADS = 64
"""Heads in one product; fixed, so that one thread and many give equal heads."""
KEPT = 2**29
"""Bytes of heads that are held at a time while pairs are compared."""
COPIED = 2**31
"""Bytes of rows that are held for groups that leave, each of which takes a copy of the others."""
POLISHED = 1e-6
"""The gradient left at the full optimum, in units of one record's."""


@dataclass(frozen=True, kw_only=True)
class _Ready:
    """The full optimum, polished, and what solves its neighbours."""

    point: Floats
    exact: bool
    stack: StackedHeads


class LeaveOneOut:
    """Neighbours of a fitted softmax head.

    Args:
        head: A fitted SoftmaxHead; weights of classes, if any, as a mapping.
        X: The rows it was fitted on.
        y: Their labels.
        accuracy: The error of a head's difference to the full head, in L2 and relative to it.
        threads: How many threads share the heads; all cores without it. BLAS takes one in each.
    """

    def __init__(
        self,
        head: SoftmaxHead,
        X: ArrayLike,
        y: ArrayLike,
        *,
        accuracy: float = 7e-5,
        threads: int | None = None,
    ) -> None:
        self.accuracy = open_probability("accuracy", accuracy)
        self.threads = count("threads", threads or os.cpu_count() or 1)
        self.head = head
        self.objective = objective_of(head, X, y)
        gradient = float(np.linalg.norm(self.objective.gradient(head.coordinates_)))
        if not gradient <= 2 * head.tolerance_:
            raise InputError("X and y must be the records that the head was fitted on, got others")
        self._solved = 0
        self._ready: _Ready | None = None

    @property
    def records(self) -> int:
        """n, the records of the full data set."""
        return len(self.objective.rows)

    @property
    def coordinates(self) -> Floats:
        """V at the full optimum, to many more digits than the head's tolerance asks for."""
        return self._prepared(1).point

    def without(self, indices: ArrayLike) -> Differences:
        """The heads without each of these records, minus the full one."""
        return _joined(list(self.each_without(indices)))

    def each_without(self, indices: ArrayLike) -> Iterator[Differences]:
        """The same, a few heads at a time."""
        chosen = integer_array("indices", indices).ravel()
        if chosen.min() < 0 or chosen.max() >= self.records:
            raise InputError(f"indices must be within 0 and {self.records - 1}, got others")
        rows, labels = self.objective.rows[chosen], self.objective.labels[chosen]
        yield from self._neighbours(rows, labels, removed=chosen)

    def with_each(self, X: ArrayLike, y: ArrayLike, *, copies: int = 1) -> Differences:
        """The heads with one of these records more each, or equal copies, minus the full one."""
        added = objective_of(self.head, X, y)
        times = count("copies", copies)
        added_heads = self._neighbours(added.rows, added.labels, removed=None, copies=times)
        return _joined(list(added_heads))

    def without_groups(self, groups: Sequence[ArrayLike]) -> Differences:
        """The heads without all records of each group, minus the full one: Newton's method each."""
        chosen = [self._checked_group(group) for group in groups]
        full = self._prepared(len(chosen)).point

        def solve(group: Integers) -> tuple[Floats32, float]:
            changed = _without(self.objective, group)
            return self._certified(changed, full, self._group_steps([group])[0])

        at_once = max(1, min(self.threads, COPIED // max(1, self.objective.rows.nbytes)))
        with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(at_once) as pool:
            solved = list(pool.map(solve, chosen))
        return Differences(
            relative=np.stack([relative for relative, _ in solved]),
            errors=np.array([error for _, error in solved]),
        )

    def group_influence(self, groups: Sequence[ArrayLike]) -> Floats:
        """First-order sizes ‖H⁻¹Σ∇loss‖ of what each group does to the head: a ranking, in L2."""
        chosen = [self._checked_group(group) for group in groups]
        self._prepared(len(chosen))
        parts = [chosen[start : start + HEADS] for start in range(0, len(chosen), HEADS)]
        return np.concatenate([Norms.of(self._group_steps(part)).l2 for part in parts])

    def distances(self, pairs: ArrayLike) -> Norms:
        """How far the heads without i and without j are from each other, for pairs (i, j).

        The heads of a group of pairs are held at a time, at most half a GiB.
        """
        both = integer_array("pairs", pairs)
        if both.ndim != 2 or both.shape[1] != 2:
            raise InputError(f"pairs must have two columns, got shape {both.shape}")
        size = max(1, KEPT // (8 * math.prod(self.objective.shape)))
        self._prepared(len(np.unique(both)))
        groups = [both[start : start + size] for start in range(0, len(both), size)]
        return Norms.joined([self._group_distances(group) for group in groups])

    def influence(self, X: ArrayLike, y: ArrayLike) -> Floats:
        """First-order sizes ‖H⁻¹∇loss‖ of what each record does to the head: a ranking, in L2."""
        records = objective_of(self.head, X, y)
        return self._influence(records.rows, records.labels)

    def removal_influence(self) -> Floats:
        """The same for each record of the data."""
        return self._influence(self.objective.rows, self.objective.labels)

    def _influence(self, rows: Floats, labels: Integers) -> Floats:
        ready = self._prepared(len(rows))
        own = _own(replace(self.objective, rows=rows, labels=labels), ready.point, sign=1.0)
        sizes = []
        for start in range(0, len(own), HEADS):
            part = own.of_records(slice(start, start + HEADS))
            sizes.append(Norms.of(_by_head(ready.stack.first_steps(part), self.objective.shape)).l2)
        return np.concatenate(sizes)

    def _checked_group(self, group: ArrayLike) -> Integers:
        rows = integer_array("group", group).ravel()
        distinct = np.unique(rows)
        if not 0 < len(distinct) == len(rows) or distinct[0] < 0 or distinct[-1] >= self.records:
            raise InputError(
                f"group must be different rows within 0 and {self.records - 1}, got others"
            )
        return rows

    def _group_steps(self, groups: list[Integers]) -> Floats32:
        """H⁻¹Σ∇loss: what leaving does to first order, heads × K × d."""
        ready = self._ready
        assert ready is not None
        own = _own(_taken(self.objective, np.concatenate(groups)), ready.point, sign=1.0)
        ends = np.cumsum([len(group) for group in groups])[:-1]
        parts = zip(np.split(own.rows, ends), np.split(own.residuals, ends), strict=True)
        gradients = [rows.T @ residuals for rows, residuals in parts]
        columns = np.stack(gradients, axis=-1).reshape(-1, len(groups))
        return _by_head(ready.stack.preconditioner.solve(columns), self.objective.shape)

    def _group_distances(self, pairs: Integers) -> Norms:
        needed, places = np.unique(pairs, return_inverse=True)
        heads = self.without(needed).relative
        left, right = places.reshape(pairs.shape).T
        parts = [
            Norms.of(heads[left[s : s + HEADS]] - heads[right[s : s + HEADS]])
            for s in range(0, len(pairs), HEADS)
        ]
        return Norms.joined(parts)

    def _neighbours(
        self, rows: Floats, labels: Integers, *, removed: Integers | None, copies: int = 1
    ) -> Iterator[Differences]:
        ready = self._prepared(len(rows))
        self._solved += len(rows)
        # Equal copies of a record are one record of so many times its weight.
        weights = copies * self.objective.weights
        records = replace(self.objective, rows=rows, labels=labels, weights=weights)
        own = _own(records, ready.point, sign=1.0 if removed is None else -1.0)
        chunks = [slice(s, s + HEADS) for s in range(0, len(rows), HEADS)]

        def solve(chunk: slice) -> Differences:
            solution, errors = ready.stack.solve(own.of_records(chunk), accuracy=self.accuracy)
            relative = _by_head(solution, self.objective.shape)
            for late in np.flatnonzero(~(errors <= self.accuracy)):
                place = chunk.start + late
                changed = _changed(self.objective, records, place, removed, copies)
                relative[late], errors[late] = self._certified(changed, ready.point, relative[late])
            return Differences(relative=relative, errors=errors)

        with (
            threadpool_limits(limits=1, user_api="blas"),
            ThreadPoolExecutor(min(self.threads, len(chunks))) as pool,
        ):
            yield from pool.map(solve, chunks)

    def _certified(
        self, changed: SoftmaxObjective, full: Floats, guess: Floats32
    ) -> tuple[Floats32, float]:
        """Newton's method in float64, to a gradient that bounds the error."""
        turn = _relative(len(full) + 1)
        start = full + np.linalg.solve(turn, guess) if np.isfinite(guess).all() else full
        one = changed.max_residual_norm * changed.radius / changed.records
        tolerance = max(POLISHED * one, 8 * changed.worst_rounding())
        optimum = certified_minimum(changed, tolerance=tolerance, start=start)
        change = optimum.point - full
        size = max(float(np.linalg.norm(change)), 1e-300)
        error = optimum.gradient_bound / changed.penalty / size
        return (turn @ change).astype(np.float32), min(error, 1.0)

    def _prepared(self, heads: int) -> _Ready:
        """Factor for this many heads more; a better factor replaces an earlier one if it pays."""
        ready = self._ready
        if ready is not None and (
            ready.exact or not exact_pays(ready.stack.data, heads=self._solved + heads)
        ):
            return ready
        point = self.head.coordinates_ if ready is None else ready.point
        curved = _curved(self.objective, point)
        preconditioner = preconditioner_of(curved, heads=heads)
        point = _polished(self.objective, point, preconditioner)
        curved = _curved(self.objective, point)
        exact = exact_pays(curved, heads=heads)
        self._ready = _Ready(point=point, exact=exact, stack=StackedHeads(curved, preconditioner))
        return self._ready


def objective_of(head: SoftmaxHead, X: ArrayLike, y: ArrayLike) -> SoftmaxObjective:
    """The head's loss over these records, with the N of its fit."""
    if not isinstance(head, SoftmaxHead):
        raise InputError(f"head must be a SoftmaxHead, got {type(head).__name__}")
    check_is_fitted(head, "coordinates_")
    weights = head.class_weight
    if weights is not None and not isinstance(weights, Mapping):
        raise InputError("class_weight must be a mapping or None here: 'balanced' changes with y")
    rows, labels = float_rows("X", X), np.asarray(y)
    if rows.shape[1:] != (head.n_features_in_,) or labels.shape != rows.shape[:1]:
        raise InputError(
            f"X must have the head's {head.n_features_in_} columns and y as many labels as rows, "
            f"got shapes {rows.shape} and {labels.shape}"
        )
    h = public_map(
        rows, bound=head.bound, intercept=head.intercept, centre=head.centre, norms=head.norms
    )
    named = {} if weights is None else weights
    return SoftmaxObjective(
        rows=h,
        labels=indices_of(labels, head.classes_),
        basis=zero_sum_basis(len(head.classes_)),
        penalty=head.penalty,
        records=head.certified().numbers.records,
        radius=head.radius,
        weights=np.array([named.get(name, 1.0) for name in head.classes_], dtype=float),
    )


def _relative(classes: int) -> Floats:
    """T: R = T V are the weights relative to the last class."""
    basis = zero_sum_basis(classes)
    return np.asarray(basis[:-1] - basis[-1:])


def _curved(objective: SoftmaxObjective, point: Floats) -> Curved:
    return Curved(
        rows=objective.rows.astype(np.float32),
        probabilities=np.ascontiguousarray(_probabilities(objective, point)[:, :-1], np.float32),
        weights=objective.weights[objective.labels].astype(np.float32),
        penalty=objective.penalty * objective.records,
    )


def _probabilities(objective: SoftmaxObjective, point: Floats) -> Floats:
    return np.concatenate([objective.probabilities(b, point) for b in objective.blocks()])


def _own(records: SoftmaxObjective, point: Floats, *, sign: float) -> OwnRecords:
    p = _probabilities(records, point)
    weights = records.weights[records.labels]
    residuals = p.copy()
    residuals[np.arange(len(p)), records.labels] -= 1
    return OwnRecords(
        rows=records.rows.astype(np.float32),
        probabilities=np.ascontiguousarray(p[:, :-1], np.float32),
        residuals=(residuals * weights[:, None])[:, :-1].astype(np.float32),
        weights=weights.astype(np.float32),
        signs=np.full(len(p), sign, np.float32),
    )


def _polished(objective: SoftmaxObjective, point: Floats, preconditioner: Preconditioner) -> Floats:
    """The full optimum to a gradient of a millionth of one record's; cheap steps as far as they go.

    What is left of the full gradient is in every difference.
    """
    turn = _relative(len(point) + 1)
    one = objective.max_residual_norm * objective.radius / objective.records
    gradient = objective.gradient(point)
    size = float(np.linalg.norm(gradient))
    while size > POLISHED * one / 2:
        scaled = np.linalg.solve(turn.T, gradient / size).T
        column = np.ascontiguousarray(scaled, np.float32).reshape(-1, 1)
        step = preconditioner.solve(column).astype(np.float64).reshape(scaled.shape).T
        trial = point - np.linalg.solve(turn, step) * (size * objective.records)
        gradient = objective.gradient(trial)
        if not float(np.linalg.norm(gradient)) < 0.7 * size:
            break
        point, size = trial, float(np.linalg.norm(gradient))
    tolerance = max(POLISHED * one, 8 * objective.worst_rounding())
    if size + objective.rounding(point) <= tolerance:
        return point
    return certified_minimum(objective, tolerance=tolerance, start=point).point


def _changed(
    full: SoftmaxObjective,
    records: SoftmaxObjective,
    place: int,
    removed: Integers | None,
    copies: int,
) -> SoftmaxObjective:
    """The objective of one neighbour."""
    if removed is not None:
        return _without(full, removed[place : place + 1])
    return replace(
        full,
        rows=np.vstack([full.rows, *[records.rows[place]] * copies]),
        labels=np.append(full.labels, [records.labels[place]] * copies),
    )


def _without(full: SoftmaxObjective, group: Integers) -> SoftmaxObjective:
    return _taken(full, np.delete(np.arange(len(full.rows)), group))


def _taken(full: SoftmaxObjective, rows: Integers) -> SoftmaxObjective:
    return replace(full, rows=full.rows[rows], labels=full.labels[rows])


def _by_head(columns: Floats32, shape: tuple[int, int]) -> Floats32:
    """Heads × K × d from unknowns × heads."""
    classes, features = shape
    return np.ascontiguousarray(columns.reshape(features, classes, -1).transpose(2, 1, 0))


def _joined(parts: list[Differences]) -> Differences:
    return Differences(
        relative=np.concatenate([part.relative for part in parts]),
        errors=np.concatenate([part.errors for part in parts]),
    )
