"""The certified search ends on every data set (docs/theory.md D.2); so does what proves it hold."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy import linalg

from reticent.training import SoftmaxHead, optimum
from reticent.training.linear_head import _tolerance
from reticent.training.objective import UNIT, norm
from reticent.training.optimum import Line, certified_minimum
from reticent.training.sigmoid import SigmoidObjective
from reticent.training.softmax import SoftmaxObjective, zero_sum_basis
from reticent.validation import InputError

KINDS = ("normal", "duplicates", "separable", "near one point", "one direction", "scales", "sparse")
STUCK = (2, 147, 226, 288, 347, 412, 513, 684, 926, 979, 1172, 1218, 1311, 1353, 1389, 1479)
"""Seeds on which a step was once wanted to shrink the gradient: hours of gradient steps."""
PASSES = 3_000
"""Passes over the records after which a search counts as one that does not end."""


class _Counted:
    """Counts passes over the records, and stops a search that does not end by itself."""

    def residual(self, block, probabilities):
        self._pass()
        return super().residual(block, probabilities)

    def bent(self, block, probabilities, change):
        self._pass()
        return super().bent(block, probabilities, change)

    def _pass(self):
        passes = self.__dict__.get("passes", 0) + 1
        object.__setattr__(self, "passes", passes)
        assert passes <= PASSES, "the search does not end"


class CountedSoftmax(_Counted, SoftmaxObjective):
    pass


class CountedSigmoid(_Counted, SigmoidObjective):
    pass


def hard_rows(rng, kind, labels, features):
    """Rows of norm at most 1 that make the Hessian as ill-conditioned as it gets."""
    records = len(labels)
    rows = rng.normal(size=(records, features))
    if kind == "duplicates":
        rows = rows[: max(records // 5, 1)][rng.integers(0, max(records // 5, 1), records)]
    elif kind == "separable":
        rows = 3 * rng.normal(size=(50, features))[labels] + 10 ** rng.uniform(-4, 0) * rows
    elif kind == "near one point":
        rows = 1 + 10 ** rng.uniform(-12, 0) * rows
    elif kind == "one direction":
        rows = rows[:, :1] * rng.normal(size=features) + 10 ** rng.uniform(-10, -1) * rows
    elif kind == "scales":
        rows *= 10 ** rng.uniform(-6, 0, size=(records, 1)) * 10 ** rng.uniform(-3, 0, features)
    elif kind == "sparse":
        rows *= rng.random(size=(records, features)) < 0.1
        rows *= 10 ** rng.uniform(-5, 0, size=(records, 1))
    return rows / np.linalg.norm(rows, axis=1).max(initial=1e-300)


def hard_objective(seed):
    """Penalties down to 10⁻²⁰ of R², class weights that span 10⁶, no record to 300."""
    rng = np.random.default_rng(seed)
    classes, features = int(rng.choice([2, 3, 5, 10, 20])), int(rng.choice([1, 2, 3, 5, 10, 30]))
    share = [0.02, 0.03, 0.05, 0.1, 0.2, 0.2, 0.2, 0.2]
    records = int(rng.choice([0, 1, 2, 3, 10, 30, 100, 300], p=share))
    labels = rng.integers(0, classes, records)
    radius = 10 ** rng.choice([0.0, rng.uniform(-20, 20)])
    rows = radius * hard_rows(rng, rng.choice(KINDS), labels, features)
    n = max(int(records * rng.choice([0.5, 1, 2])), 1)
    public = {"records": n, "radius": radius * 1.0000001}
    penalty = 10 ** rng.uniform(-20, 0) * radius**2
    if rng.random() < 0.2:
        targets = (rng.random((records, classes)) < rng.choice([0.01, 0.5])).astype(float)
        return CountedSigmoid(rows=rows, targets=targets, penalty=penalty, **public)
    even = rng.random() < 0.2
    spans = rng.uniform(-1, 1, classes) if even else rng.choice([-3.0, 0.0, 3.0], classes)
    return CountedSoftmax(
        rows=rows, labels=labels, basis=zero_sum_basis(classes), weights=10**spans,
        penalty=penalty * 10 ** spans.max(), **public,
    )  # fmt: skip


def hard_search(seed):
    """An objective and its τ, as small as float64 can certify for every third."""
    objective = hard_objective(seed)
    return objective, _tolerance(objective, None) if seed % 3 else 4 * objective.worst_rounding()


def small(seed):
    """Few records and coordinates, for exact arithmetic."""
    objective, tolerance = hard_search(seed)
    rows, (outputs, features) = len(objective.rows), objective.shape
    if 0 < rows * outputs * features <= 400:
        return objective, tolerance
    return small(seed + 10_000)


class TestEveryDataSet:
    @pytest.mark.parametrize("seed", STUCK)
    def test_hard_records_take_few_passes(self, seed):
        objective, tolerance = hard_search(seed)
        found = certified_minimum(objective, tolerance=tolerance)
        assert found.gradient_bound <= tolerance
        assert found.steps < 80

    @pytest.mark.parametrize("first", [0, 25, 50, 75])
    def test_so_do_random_ones(self, first):
        for seed in range(first, first + 25):
            objective, tolerance = hard_search(seed)
            assert certified_minimum(objective, tolerance=tolerance).gradient_bound <= tolerance

    @pytest.mark.parametrize("seed", [1218, 288])
    def test_and_all_neighbours_of_one(self, seed):
        """A search that ends on one data set and not on its neighbour would tell them apart."""
        objective, tolerance = hard_search(seed)
        for record in range(len(objective.rows)):
            rows = np.delete(objective.rows, record, axis=0)
            neighbour = replace(objective, rows=rows, labels=np.delete(objective.labels, record))
            assert certified_minimum(neighbour, tolerance=tolerance).gradient_bound <= tolerance

    def test_weights_of_classes_that_span_a_million(self):
        rng = np.random.default_rng(0)
        labels = np.arange(90) % 3
        rows = np.eye(3)[labels] + 1e-3 * rng.normal(size=(90, 3))
        for penalty in (1e-1, 1e-4, 1e-8, 1e-12):
            head = SoftmaxHead(
                classes=range(3), records=90, penalty=penalty,
                class_weight={0: 1e-3, 1: 1.0, 2: 1e3},
            )  # fmt: skip
            assert head.fit(rows, labels).optimum_gap_ <= head.tolerance_
            assert head.n_iter_ < 40

    @pytest.mark.parametrize("seed", [2, 412, 1353, 1389])
    @pytest.mark.parametrize("moment", [0, 4096])
    def test_too_many_coordinates_for_a_hessian_do_not_stop_it(self, seed, moment, monkeypatch):
        monkeypatch.setattr(optimum, "LARGEST_HESSIAN", 0)
        monkeypatch.setattr(optimum, "LARGEST_MOMENT", moment)
        objective, tolerance = hard_search(seed)
        assert certified_minimum(objective, tolerance=tolerance).gradient_bound <= tolerance


class TestWhenNewtonsStepFails:
    @pytest.mark.parametrize("spoiled", [math.nan, math.inf, 0.0, -1.0, 1e300, 1e-300])
    def test_gradient_steps_end_at_the_same_optimum(self, spoiled, monkeypatch):
        rng = np.random.default_rng(1)
        head = SoftmaxHead(penalty=0.5, classes=range(3), records=30)
        objective = head.loss_on(rng.normal(size=(30, 4)), np.arange(30) % 3)
        expected = certified_minimum(objective, tolerance=1e-9)
        monkeypatch.setattr(optimum, "_solve", lambda _here, gradient, _solver: spoiled * gradient)
        found = certified_minimum(objective, tolerance=1e-9)
        assert found.gradient_bound <= 1e-9
        assert found.point == pytest.approx(expected.point, abs=1e-8)

    @pytest.mark.parametrize("seed", [12, 42, 78, 112])
    def test_steps_that_shrink_the_gradient_are_enough(self, seed, monkeypatch):
        """Where rounding hides whether J falls, the search still ends."""
        monkeypatch.setattr(Line, "fall", lambda _line, _t, _rate: 0.0)  # J(0) aside
        objective, tolerance = hard_search(seed)
        assert certified_minimum(objective, tolerance=tolerance).gradient_bound <= tolerance

    @pytest.mark.parametrize("seed", range(20))
    def test_a_gradient_step_lowers_j_by_the_amount_of_the_proof(self, seed):
        """As far from the optimum as J ≤ J(0) allows, at the smallest τ; exactly."""
        objective, _ = small(seed)
        tolerance = 4 * objective.worst_rounding()
        search = optimum._Search(objective, tolerance)
        here = objective.curvature(np.zeros(objective.shape))
        for _ in range(4):
            if search.ends(here):
                return
            there = here.point - here.gradient / objective.smoothness()
            assert exact(objective, here.point) - exact(objective, there) >= search.least_fall
            here = search.step(here)

    @pytest.mark.parametrize("seed", range(60))
    def test_the_rounding_of_a_point_is_within_that_of_its_gradient(self, seed):
        """L·υ‖V‖ ≤ η/1.09, which the proof for gradient steps uses."""
        objective = hard_objective(seed)
        for size in (0.0, 1e-3, 1.0, 1e6):
            v = np.full(objective.shape, size / objective.radius)
            assert objective.rounding(v) >= 1.09 * objective.smoothness() * UNIT * norm(v)


class TestStart:
    def test_one_that_is_worse_than_zero_is_not_used(self):
        objective, tolerance = hard_search(1218)
        from_zero = certified_minimum(objective, tolerance=tolerance)
        far = -1e6 * from_zero.point
        for start in (far, np.full(objective.shape, math.inf), np.full(objective.shape, math.nan)):
            found = certified_minimum(objective, tolerance=tolerance, start=start)
            assert np.array_equal(found.point, from_zero.point)

    def test_the_optimum_is(self):
        objective, tolerance = hard_search(1218)
        start = certified_minimum(objective, tolerance=tolerance).point
        assert certified_minimum(objective, tolerance=tolerance, start=start).steps == 1


class TestLine:
    @pytest.mark.parametrize("seed", range(24))
    def test_the_swing_bounds_the_third_derivative(self, seed):
        """Generalised self-concordance: |φ‴| ≤ β·φ″ along every line, for each record."""
        objective, _ = small(seed)
        rng = np.random.default_rng(seed)
        record = int(rng.integers(len(objective.rows)))
        v, direction = rng.normal(size=(2, *objective.shape)) * 5 / objective.radius
        alone = one_record(objective, record)
        beta = float(alone.swing(alone.rows @ direction.T)[0])
        for t in (0.0, 0.5):

            def loss(s, at=v - t * direction):
                return exact(alone, at, direction, s, penalty=0)

            second, third = mpmath.diff(loss, 0, 2), mpmath.diff(loss, 0, 3)
            assert abs(third) <= beta * second * (1 + mpmath.mpf("1e-9"))

    def test_it_is_nearly_reached(self):
        alone = SigmoidObjective(
            rows=np.ones((1, 1)), targets=np.zeros((1, 1)), penalty=1.0, records=1, radius=1.0
        )
        v, direction = np.full((1, 1), -9.0), np.ones((1, 1))
        second, third = (
            mpmath.diff(lambda s: exact(alone, v, direction, s, penalty=0), 0, k) for k in (2, 3)
        )
        assert abs(third) > 0.999 * second * alone.swing(direction)[0]

    @pytest.mark.parametrize("seed", range(0, 200, 4))
    def test_j_falls_all_the_way_along_a_damped_step(self, seed):
        objective, tolerance = hard_search(seed)
        search = optimum._Search(objective, tolerance)
        here = objective.curvature(np.zeros(objective.shape))
        for _ in range(3):
            direction = optimum._solve(here, here.gradient, search.solver)
            decrement = float(np.sum(here.gradient * direction))
            line = Line.of(here, direction)
            rounding = line._rounding(1.0)
            assert line.slope(line.damped()) >= -1e-6 * decrement - rounding
            assert line.slope(line.damped() / 2) >= 0.499 * decrement - rounding
            if search.ends(here):
                break
            here = search.step(here)

    @pytest.mark.parametrize("seed", range(16))
    def test_the_fall_is_never_more_than_the_exact_one(self, seed):
        objective, tolerance = small(seed)
        rng = np.random.default_rng(seed)
        search = optimum._Search(objective, tolerance)
        here = objective.curvature(np.zeros(objective.shape))
        for _ in range(int(rng.integers(6))):
            here = search.step(here) if not search.ends(here) else here
        direction = here.gradient / here.objective.penalty * 10 ** rng.uniform(-20, 0)
        if seed % 2:
            direction = optimum._solve(here, here.gradient, search.solver)
        line = Line.of(here, direction)
        for t in (1.0, 10 ** rng.uniform(-8, 0)):
            fall = exact(objective, here.point) - exact(objective, here.point - t * direction)
            assert line.fall(t, line.rate(t)) <= fall
            assert line.fall(t, line.rate(t, enough=0.0)) <= fall
            assert line.fall(t, line.slope(0.0)) >= fall - 2 * line._rounding(t)  # J is convex

    @pytest.mark.parametrize("seed", range(16))
    def test_the_rounding_covers_that_of_slopes(self, seed):
        objective, tolerance = small(seed)
        start = certified_minimum(objective, tolerance=tolerance).point
        here = objective.curvature(start)
        direction = np.random.default_rng(seed).normal(size=objective.shape) * norm(start)
        line = Line.of(here, direction)
        for t in (1e-9, 1e-3, 1.0):
            slope = -mpmath.diff(lambda s: exact(objective, start, direction, s), t)
            assert abs(line.slope(t) - slope) * t <= line._rounding(t)


class TestCurvature:
    @pytest.mark.parametrize("seed", range(12))
    def test_the_whole_hessian_is_what_products_make(self, seed):
        objective, _ = small(seed)
        v = np.random.default_rng(seed).normal(size=objective.shape) / objective.radius
        here = objective.curvature(v)
        products = [here.times(unit.reshape(v.shape)).ravel() for unit in np.eye(v.size)]
        whole = linalg.block_diag(*here.matrices()) + objective.penalty * np.eye(v.size)
        assert np.allclose(whole, products, rtol=1e-9, atol=1e-12 * np.abs(whole).max())

    @pytest.mark.parametrize("seed", [7, 11])
    def test_its_gradient_is_that_of_the_objective(self, seed):
        objective = hard_objective(seed)
        v = np.random.default_rng(seed).normal(size=objective.shape)
        assert np.array_equal(objective.curvature(v).gradient, objective.gradient(v))


class TestRange:
    @pytest.mark.parametrize(
        "public",
        [
            {"class_weight": dict.fromkeys(range(3), 1e-300)},
            {"class_weight": dict.fromkeys(range(3), 1e-160)},
            {"class_weight": {0: 1e-300, 1: 1.0, 2: 1e300}},
            {"class_weight": {0: 1.0, 1: 1.0, 2: 1e75}, "bound": 1e74},
            {"class_weight": dict.fromkeys(range(3), 1e-75), "bound": 1e-74},
            {"class_weight": dict.fromkeys(range(3), 1e-75), "bound": 1e-40, "penalty": 1e74},
        ],
    )
    def test_what_floats_cannot_hold_is_refused_by_public_numbers(self, public):
        """Squares of such gradients underflow: a gradient of 1,000 τ was once certified as 0."""
        head = SoftmaxHead(classes=range(3), records=4, **public)
        rows = np.random.default_rng(0).normal(size=(4, 2)) * head.bound
        for records in (0, 1, 4):
            with pytest.raises(InputError, match="must keep τ >= 1e-140"):
                head.fit(rows[:records], [0, 1, 2, 0][:records])

    @pytest.mark.parametrize("bound", [1e-70, 1e-3, 1.0, 1e70])
    @pytest.mark.parametrize("penalty", [1e-70, 1e-3, 1.0, 1e70])
    def test_what_they_hold_is_fitted(self, bound, penalty):
        weights = {0: 1e-300, 1: 1.0, 2: 1.0}
        head = SoftmaxHead(
            classes=range(3), records=4, bound=bound, penalty=penalty, class_weight=weights
        )
        rows = np.random.default_rng(0).normal(size=(4, 2)) * bound
        for records in (0, 1, 4):
            head.fit(rows[:records], [0, 1, 2, 0][:records])
            objective = head.loss_on(rows[:records], [0, 1, 2, 0][:records])
            assert exact_gradient(objective, head.coordinates_) <= head.tolerance_

    @pytest.mark.parametrize("scale", [1e-200, 1e-160, 1.0, 1e160, 1e200])
    def test_norms_neither_overflow_nor_vanish(self, scale):
        assert norm(np.array([[3.0, 0.0], [0.0, 4.0]]) * scale) == pytest.approx(5 * scale)

    def test_norms_of_nothing_and_of_no_number(self):
        assert norm(np.zeros((2, 0))) == 0
        assert math.isnan(norm(np.array([1.0, math.nan])))
        assert norm(np.array([1.0, -math.inf])) == math.inf


def one_record(objective, record):
    """The loss of a single record."""
    rows = objective.rows[record : record + 1]
    if isinstance(objective, SoftmaxObjective):
        return replace(objective, rows=rows, labels=objective.labels[record : record + 1])
    return replace(objective, rows=rows, targets=objective.targets[record : record + 1])


def exact(objective, v, direction=None, t=0, penalty=None):
    """J(V − tD) in 80 digits."""
    with mpmath.workdps(80):
        at = mpmath.matrix(v.tolist())
        if direction is not None:
            at -= t * mpmath.matrix(direction.tolist())
        total = sum(
            (exact_loss(objective, record, at) for record in range(len(objective.rows))),
            start=mpmath.mpf(0),
        )
        pull = mpmath.mpf(objective.penalty if penalty is None else penalty) / 2
        return total / objective.records + pull * sum(entry**2 for entry in at)


def exact_loss(objective, record, v):
    outputs = v * mpmath.matrix(objective.rows[record].tolist())
    if isinstance(objective, SoftmaxObjective):
        logits = list(mpmath.matrix(objective.basis.tolist()) * outputs)
        label = int(objective.labels[record])
        total = mpmath.log(sum(mpmath.exp(each - logits[label]) for each in logits))
        return mpmath.mpf(float(objective.weights[label])) * total
    signs = 1 - 2 * objective.targets[record]
    return sum(
        mpmath.log1p(mpmath.exp(float(sign) * output))
        for sign, output in zip(signs, outputs, strict=True)
    )


def exact_gradient(objective, v):
    """‖∇J(V)‖ in 80 digits."""
    with mpmath.workdps(80):
        units = (unit.reshape(v.shape) for unit in np.eye(v.size))
        slopes = [mpmath.diff(lambda s, u=u: exact(objective, v, u, s), 0) for u in units]
        return mpmath.norm(slopes)
