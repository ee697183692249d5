"""Heads on many parts at once against ``SoftmaxHead.fit`` on each part."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special
from sklearn.base import clone
from sklearn.datasets import load_digits

from reticent.training import SoftmaxHead, difference_steps, stacked_convex
from reticent.training.difference_steps import RowPatterns, Turned, TwoLevel, groups
from reticent.training.logit_changes import changes_by_head
from reticent.training.optimum import Optimum
from reticent.training.stacked_convex import fit_parts, gradient_bounds
from reticent.validation import InputError


@pytest.fixture(scope="module")
def data():
    X, y = load_digits(return_X_y=True)
    return X[:600] / 16 - 0.3, y[:600]


@pytest.fixture(scope="module")
def halves():
    rng = np.random.default_rng(0)
    inside = np.zeros((10, 600), dtype=bool)
    for pair in range(5):
        inside[2 * pair, rng.permutation(600)[:300]] = True
        inside[2 * pair + 1] = ~inside[2 * pair]
    return inside


def check(head, data, inside, models):
    """Each model is an optimum of its own part, as the gradient in a plain loop says."""
    X, y = data
    assert len(models) == len(inside)
    for rows, model in zip(inside, models, strict=True):
        alone = clone(head).set_params(classes=np.unique(y).tolist()).fit(X[rows], y[rows])
        objective = clone(alone).loss_on(X[rows], y[rows])
        gradient = float(np.linalg.norm(objective.gradient(model.coordinates_)))
        assert gradient <= model.optimum_gap_ <= model.tolerance_ == alone.tolerance_
        distance = np.linalg.norm(model.coordinates_ - alone.coordinates_)
        assert distance <= (model.optimum_gap_ + alone.optimum_gap_) / head.penalty
        slack = 2 * distance * head.bound * 2
        assert np.abs(model.logits(X[:9]) - alone.logits(X[:9])).max() <= slack
        assert model.predict(X[:9]).tolist() == alone.predict(X[:9]).tolist()


@pytest.mark.parametrize(
    "settings",
    [
        {"penalty": 1e-2},
        {"penalty": 1e-4},
        {"penalty": 1e-3, "records": 250},
        {"penalty": 1e-3, "class_weight": {3: 4.0, 5: 0.25}},
        {"penalty": 1e-3, "intercept": 0.0, "centre": np.full(64, 0.1)},
        {"penalty": 1e-3, "norms": "scale"},
        {"penalty": 1e-3, "classes": [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11]},
        {"penalty": 1e-3, "tolerance": 2e-7},
    ],
    ids=" ".join,
)
def test_each_head_is_the_optimum_of_its_part(data, halves, settings, monkeypatch):
    head = SoftmaxHead(bound=3.0, **settings)
    with monkeypatch.context() as patch:
        patch.setattr(SoftmaxHead, "fit", None)  # no head may need a fit of its own
        models = fit_parts(head, *data, halves)
    if head.classes is not None:
        for rows, model in zip(halves, models, strict=True):
            alone = clone(head).fit(data[0][rows], data[1][rows])
            assert model.classes_.tolist() == head.classes
            distance = np.linalg.norm(model.coordinates_ - alone.coordinates_)
            assert distance <= (model.optimum_gap_ + alone.optimum_gap_) / head.penalty
    else:
        check(head, data, halves, models)


def test_parts_of_all_sizes_without_pairs(data):
    rng = np.random.default_rng(1)
    inside = rng.random((9, 600)) < np.linspace(0.05, 1, 9)[:, None]
    inside[4] = data[1] != 7  # a class is missing
    head = SoftmaxHead(bound=3.0, penalty=1e-3)
    check(head, data, inside, fit_parts(head, *data, inside))


def test_two_classes_and_rows_of_any_scale(data):
    X, y = data
    inside = np.random.default_rng(2).random((3, 600)) < 0.5
    for scale in (1e-9, 1e25):
        head = SoftmaxHead(bound=3.0 * scale, penalty=1e-3 * scale * scale)
        labels = np.where(y < 5, "low", "high")
        check(head, (X * scale, labels), inside, fit_parts(head, X * scale, labels, inside))


def test_the_start_on_a_sample(data, halves, monkeypatch):
    monkeypatch.setattr(stacked_convex, "SAMPLE", 150)
    head = SoftmaxHead(bound=3.0, penalty=1e-3)
    check(head, data, halves, fit_parts(head, *data, halves))


def test_a_head_that_misses_its_tolerance_is_fitted_alone(data, halves, monkeypatch):
    monkeypatch.setattr(difference_steps, "MOST_PASSES", 1)
    head = SoftmaxHead(bound=3.0, penalty=1e-3)
    models = fit_parts(head, *data, halves)
    assert all(model.n_iter_ > 1 for model in models)
    check(head, data, halves, models)


def test_threads_groups_and_progress_change_nothing(data, halves, monkeypatch):
    head, seen = SoftmaxHead(bound=3.0, penalty=1e-3), []
    one = fit_parts(head, *data, halves, on_done=seen.append)
    two = fit_parts(head, *data, halves, threads=2)
    assert seen == sorted(seen)
    assert seen[-1] == 10
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a.coordinates_, b.coordinates_)
    monkeypatch.setattr(difference_steps, "HEADS", 3)
    check(head, data, halves, fit_parts(head, *data, halves))


def test_a_stacked_head_is_not_certified_and_the_given_head_stays(data, halves):
    head = SoftmaxHead(bound=3.0, penalty=1e-3)
    model = fit_parts(head, *data, halves[:2])[0]
    with pytest.raises(InputError, match="head must be fitted in this process"):
        model.certified()
    assert vars(head) == vars(SoftmaxHead(bound=3.0, penalty=1e-3))


def test_another_point_ends_a_certificate(data):
    head = SoftmaxHead(bound=3.0, penalty=1e-2).fit(*data)
    head.certified()
    same = Optimum(point=head.coordinates_, gradient_bound=0.0, steps=1)
    head.set_solution(same, tolerance=1.0)
    with pytest.raises(InputError, match="head must be fitted in this process"):
        head.certified()


def test_few_passes_are_enough(data, halves, monkeypatch):
    """What slows the steps down shows nowhere else: they end at the same optimum."""
    passes, gradient = [], difference_steps.DifferenceSteps._gradient

    def counted(self, point):
        passes.append(1)
        return gradient(self, point)

    monkeypatch.setattr(difference_steps.DifferenceSteps, "_gradient", counted)
    fit_parts(SoftmaxHead(bound=3.0, penalty=1e-2), *data, halves[:4])
    assert len(passes) <= 7


def test_weights_that_depend_on_the_part_are_refused(data, halves):
    with pytest.raises(InputError, match="without 'balanced' weights"):
        fit_parts(SoftmaxHead(class_weight="balanced"), *data, halves)


def test_bounds_are_those_of_one_head(data, halves):
    X, y = data
    objective = SoftmaxHead(bound=3.0, penalty=1e-3).loss_on(X, y)
    points = np.random.default_rng(3).standard_normal((10, *objective.shape))
    records = np.arange(100, 110)
    found = gradient_bounds(objective, points, halves, records)
    for rows, point, n, bound in zip(halves, points, records, found, strict=True):
        part = replace(
            objective, rows=objective.rows[rows], labels=objective.labels[rows], records=int(n)
        )
        size = np.linalg.norm(part.gradient(point))
        assert size < bound < size + 1.01 * part.rounding(point) + 1e-8 * size


class TestLogitChanges:
    @pytest.mark.parametrize(
        ("size", "error"),
        [(1e-4, 1e-11), (0.1, 1e-8), (0.49, 1e-7), (1.0, 2e-7), (10.0, 2e-6), (50.0, 5e-6)],
    )
    def test_against_softmax_in_float64(self, size, error):
        rng = np.random.default_rng(4)
        logits = rng.standard_normal((300, 5))
        moved = size * rng.uniform(-1, 1, (2, 4, 200))
        p, weights = special.softmax(logits, axis=1), rng.random(300)
        changes = moved.astype(np.float32)
        changes_by_head(
            changes,
            np.ascontiguousarray(p[:, :4].T, np.float32),
            weights.astype(np.float32),
            100,
        )
        for head in range(2):
            after = logits[100:].copy()
            after[:, :4] += moved[head].T.astype(np.float32)
            difference = special.softmax(after, axis=1) - p[100:]
            expected = (weights[100:, None] * difference)[:, :4].T
            assert np.abs(changes[head] - expected).max() <= error

    def test_what_runs_away_is_seen(self):
        changes = np.full((1, 2, 3), np.nan, np.float32)
        changes[0, 0, 1], changes[0, 1, 1] = 0.5, 0.5
        changes_by_head(changes, np.full((2, 3), 0.2, np.float32), np.ones(3, np.float32), 0)
        assert np.isnan(changes[0, :, 0]).all()
        assert np.isfinite(changes[0, :, 1]).all()


class TestRowPatterns:
    @pytest.mark.parametrize("most", [2048, 7])
    def test_each_head_meets_each_of_its_rows_once(self, monkeypatch, most):
        monkeypatch.setattr(difference_steps, "MOST_ROWS", most)
        inside = np.random.default_rng(5).random((6, 100)) < 0.4
        patterns = RowPatterns.of(inside)
        met = np.zeros((6, 100), dtype=int)
        for block in patterns.blocks:
            met[np.ix_(block.heads, patterns.order[block.rows])] += 1
        assert np.array_equal(met, inside)

    def test_pairs_that_divide_the_rows_share_products(self):
        half = np.random.default_rng(6).random((4, 4000)) < 0.5
        inside = np.stack([half, ~half], axis=1).reshape(8, 4000)
        blocks = RowPatterns.of(inside).blocks
        assert len(blocks) == 16
        assert all(len(block.heads) == 4 for block in blocks)

    def test_groups_hold_every_head_once_and_divide_where_rows_scatter(self):
        inside = np.random.default_rng(7).random((21, 500)) < 0.5
        found = list(groups(inside))
        assert [place for part in found for place in range(part.start, part.stop)] == list(
            range(21)
        )
        assert max(part.stop - part.start for part in found) < 8
        together = np.repeat(inside[:1], 21, axis=0)
        assert [part.stop - part.start for part in groups(together)] == [8, 8, 5]


class TestTwoLevel:
    @pytest.fixture
    def curved(self):
        rng = np.random.default_rng(8)
        rows = rng.standard_normal((400, 12)) * np.linspace(2, 0.2, 12)
        p = special.softmax(rng.standard_normal((400, 4)), axis=1)[:, :3]
        return rows, p, rng.random(400)

    @staticmethod
    def hessian(rows, p, weights):
        """Class, then feature."""
        total = np.zeros((36, 36))
        for row, q, weight in zip(rows, p, weights, strict=True):
            total += weight * np.kron(np.diag(q) - np.outer(q, q), np.outer(row, row))
        return 0.5 * total + 7.0 * np.kron(np.eye(3) - 0.25, np.eye(12))

    def test_it_is_the_inverse_where_all_axes_lead(self, curved):
        rows, p, weights = curved
        data = Turned.of(rows, weights)
        solver = TwoLevel.of(data, p.astype(np.float32), share=0.5, penalty=7.0)
        gradient = np.random.default_rng(9).standard_normal((5, 3, 12)).astype(np.float32)
        found = solver.solve(gradient)
        true = self.hessian(data.rows, p, weights)
        for one, other in zip(found, gradient, strict=True):
            assert true @ one.ravel() == pytest.approx(other.ravel(), abs=2e-4)

    def test_it_is_near_where_few_do(self, curved, monkeypatch):
        monkeypatch.setattr("reticent.training.difference_steps.DENSE", 12)  # 4 axes of 12
        rows, p, weights = curved
        data = Turned.of(rows, weights)
        solver = TwoLevel.of(data, p.astype(np.float32), share=0.5, penalty=7.0)
        columns = solver.solve(np.eye(36, dtype=np.float32).reshape(36, 3, 12)).reshape(36, 36)
        spectrum = np.linalg.eigvals(columns @ self.hessian(data.rows, p, weights)).real
        assert 0.6 < spectrum.min() <= spectrum.max() < 1.6

    def test_turned_rows_keep_their_lengths_and_products(self, curved):
        rows, _, weights = curved
        data = Turned.of(rows, weights)
        assert data.rows @ data.rows.T == pytest.approx(rows @ rows.T, abs=1e-4)
        assert data.lengths == pytest.approx(
            (weights[:, None] * data.rows**2).sum(axis=0), rel=1e-4
        )
        assert (np.diff(data.lengths) <= 0).all()
