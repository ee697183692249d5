"""The leave-one-out solver against refits to a far smaller gradient, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from reticent.neighbours import LeaveOneOut, preconditioner
from reticent.neighbours import leave_one_out as module
from reticent.training.optimum import certified_minimum
from reticent.training.softmax_head import SoftmaxHead
from reticent.validation import InputError


def features(records, width, classes, seed=0):
    """Overlapping classes of unequal spread, with some labels wrong."""
    rng = np.random.default_rng(seed)
    middle = rng.standard_normal((classes, width)) / np.sqrt(width)
    y = rng.integers(0, classes, records)
    X = 0.6 * middle[y] + rng.standard_normal((records, width)) * (1 + np.arange(width)) ** -0.8
    wrong = rng.random(records) < 0.05
    y[wrong] = rng.integers(0, classes, wrong.sum())
    return X, y


def fitted(X, y, classes, **settings):
    settings = {"penalty": 2e-3, "bound": 1.0, "records": len(X)} | settings
    return SoftmaxHead(classes=list(range(classes)), **settings).fit(X, y)


def refit(objective, start):
    """A certified optimum as exact as float64 proves it."""
    tolerance = 4.1 * objective.worst_rounding()
    return certified_minimum(objective, tolerance=tolerance, start=start).point


def refit_without(loo, i):
    kept = np.delete(np.arange(loo.records), i)
    full = loo.objective
    return refit(replace(full, rows=full.rows[kept], labels=full.labels[kept]), loo.coordinates)


def relative_error(found, true):
    return np.linalg.norm(found - true) / np.linalg.norm(true)


@pytest.fixture(scope="module")
def data():
    return features(400, 12, 4)


@pytest.fixture(scope="module")
def loo(data):
    return LeaveOneOut(fitted(*data, 4), *data, threads=1)


def test_differences_are_those_of_converged_refits(loo):
    full = refit(loo.objective, loo.coordinates)
    found = loo.without([3, 77, 250])
    for place, i in enumerate([3, 77, 250]):
        true = refit_without(loo, i) - full
        assert relative_error(found.coordinates[place], true) < min(1e-4, found.errors[place])
        weights = loo.objective.basis @ true
        assert relative_error(found.weights[place], weights) < 1e-4
        assert found.norms.l1[place] == pytest.approx(np.abs(true).sum(), rel=1e-4)
        assert found.norms.l1_weights[place] == pytest.approx(np.abs(weights).sum(), rel=1e-4)
        assert found.norms.l2[place] == pytest.approx(np.linalg.norm(true), rel=1e-4)


def test_distances_are_those_of_converged_refits(loo):
    pairs = np.array([[0, 1], [5, 399], [5, 5], [17, 3]])
    found = loo.distances(pairs)
    for place, (i, j) in enumerate(pairs):
        true = refit_without(loo, i) - refit_without(loo, j)
        assert found.l2[place] == pytest.approx(np.linalg.norm(true), rel=1e-4)
        assert found.l1[place] == pytest.approx(np.abs(true).sum(), rel=1e-4)


def test_groups_of_pairs_change_nothing(loo, monkeypatch):
    pairs = np.random.default_rng(0).integers(loo.records, size=(40, 2))
    at_once = loo.distances(pairs)
    monkeypatch.setattr(module, "KEPT", 8 * 7 * loo.coordinates.size)
    in_groups = loo.distances(pairs)
    assert in_groups.l2 == pytest.approx(at_once.l2, rel=1e-5)
    assert in_groups.l1_weights == pytest.approx(at_once.l1_weights, rel=1e-5)


def test_records_that_enter_are_refitted_too(loo, data):
    X, y = features(2, 12, 4, seed=5)
    found = loo.with_each(X, y)
    added = module.objective_of(loo.head, X, y)
    for place in range(2):
        bigger = replace(
            loo.objective,
            rows=np.vstack([loo.objective.rows, added.rows[place : place + 1]]),
            labels=np.append(loo.objective.labels, added.labels[place]),
        )
        true = refit(bigger, loo.coordinates) - refit(loo.objective, loo.coordinates)
        assert relative_error(found.coordinates[place], true) < 1e-4


@pytest.mark.parametrize("kind", ["exact", "groups", "Kronecker"])
def test_every_preconditioner_gives_the_same_heads(data, loo, monkeypatch, kind):
    if kind != "exact":
        monkeypatch.setattr(preconditioner, "EXACT", 0)
        monkeypatch.setattr(preconditioner, "SAVED_PASSES", 0)
    if kind == "Kronecker":
        monkeypatch.setattr(preconditioner, "DENSE", 0)
    other = LeaveOneOut(loo.head, *data, threads=1)
    found = other.without([1, 50, 300])
    made = type(other._prepared(1).stack.preconditioner).__name__
    assert made == ("KroneckerEigen" if kind == "Kronecker" else "BlockedCholesky")
    true = loo.without([1, 50, 300])
    for place in range(3):
        assert relative_error(found.weights[place], true.weights[place]) < 1e-4


def test_blocks_of_the_triangular_solve_agree_with_a_dense_one(monkeypatch):
    monkeypatch.setattr(preconditioner, "BLOCK", 7)
    rng = np.random.default_rng(0)
    root = rng.standard_normal((30, 30)).astype(np.float32)
    matrix = root @ root.T + 5 * np.eye(30, dtype=np.float32)
    solver = preconditioner.BlockedCholesky.of(lambda extra: matrix.copy(), 3)
    right = rng.standard_normal((30, 4)).astype(np.float32)
    by_class = np.arange(30).reshape(10, 3).T.ravel()  # from feature, class to class, feature
    expected = np.linalg.solve(matrix, right[by_class])
    assert solver.solve(right.copy())[by_class] == pytest.approx(expected, rel=1e-3, abs=1e-5)


@pytest.fixture(scope="module")
def wild():
    """Nearly separable data and a tiny penalty: a record moves logits by more than 1."""
    X, y = features(40, 10, 3, seed=2)
    return LeaveOneOut(fitted(X, y, 3, penalty=1e-4), X, y, threads=1)


def test_large_moves_of_logits_are_solved_too(wild):
    full = refit(wild.objective, wild.coordinates)
    found = wild.without(np.arange(40))
    moved = [np.abs(wild.objective.rows @ change.T).max() for change in found.coordinates]
    assert max(moved) > 1
    for i in range(40):
        true = refit_without(wild, i) - full
        assert relative_error(found.coordinates[i], true) < min(1e-4, found.errors[i])


def test_a_head_that_the_passes_leave_open_is_certified_by_newton(wild, monkeypatch):
    solved = wild.without([3, 30]).weights
    monkeypatch.setattr(preconditioner, "MOST_PASSES", 1)
    one_pass, _ = wild._prepared(1).stack.solve(
        module._own(wild.objective, wild.coordinates, sign=-1.0).of_records(np.array([3, 30])),
        accuracy=1e-4,
    )
    assert (
        relative_error(module._by_head(one_pass, (2, 11)), solved[:, :-1] - solved[:, -1:]) > 0.01
    )
    found = wild.without([3, 30])
    assert found.errors.max() < 1e-2
    assert relative_error(found.weights, solved) < 1e-4


def test_class_weights_a_centre_and_no_intercept_are_the_heads(data):
    X, y = data
    settings = {"class_weight": {0: 3.0, 2: 0.5}, "centre": X.mean(axis=0), "intercept": 0.0}
    head = fitted(X, y, 4, **settings)
    loo = LeaveOneOut(head, X, y, threads=1)
    assert np.linalg.norm(loo.coordinates - head.coordinates_) < head.tolerance_ / head.penalty * 2
    kept = np.delete(np.arange(len(X)), 8)
    again = fitted(X[kept], y[kept], 4, **settings, records=len(X), tolerance=1e-9)
    true = again.coordinates_ - refit(loo.objective, loo.coordinates)
    assert relative_error(loo.without([8]).coordinates[0], true) < 1e-4


def test_groups_that_leave_are_refitted(loo, monkeypatch):
    groups = [[3], [77, 250, 8], np.arange(40)]
    full = refit(loo.objective, loo.coordinates)
    found = loo.without_groups(groups)
    for place, group in enumerate(groups):
        true = refit_without(loo, group) - full
        assert relative_error(found.coordinates[place], true) < 1e-5
    assert found.errors.max() < 1e-4
    monkeypatch.setattr(module, "COPIED", 1)  # one at a time
    assert np.array_equal(loo.without_groups(groups).relative, found.relative)


def test_all_records_may_leave(loo):
    found = loo.without_groups([np.arange(loo.records)])
    assert relative_error(found.coordinates[0], -loo.coordinates) < 1e-5


def test_the_influence_of_a_group_is_that_of_its_sum(loo):
    """To first order; and a group of one is a record."""
    alone = loo.group_influence([[row] for row in range(100)])
    assert alone == pytest.approx(loo.removal_influence()[:100], rel=1e-4)
    groups = np.arange(396).reshape(-1, 3)
    rough, exact = loo.group_influence(groups), loo.without_groups(groups[:20]).norms.l2
    assert (rough < alone.max() * 3).all()
    assert rough[:20] == pytest.approx(exact, rel=0.3)
    assert rough[5] == pytest.approx(loo.group_influence([groups[5][::-1]])[0], rel=1e-4)


@pytest.mark.parametrize("passes", [40, 1])  # by the stacked passes, or by Newton's method
def test_copies_enter_together(loo, monkeypatch, passes):
    monkeypatch.setattr(preconditioner, "MOST_PASSES", passes)
    X, y = features(2, 12, 4, seed=5)
    found = loo.with_each(X, y, copies=3)
    added = module.objective_of(loo.head, X, y)
    for place in range(2):
        bigger = replace(
            loo.objective,
            rows=np.vstack([loo.objective.rows, np.tile(added.rows[place], (3, 1))]),
            labels=np.append(loo.objective.labels, np.repeat(added.labels[place], 3)),
        )
        true = refit(bigger, loo.coordinates) - refit(loo.objective, loo.coordinates)
        assert relative_error(found.coordinates[place], true) < 1e-4


@pytest.mark.parametrize("group", [[], [0, 0], [-1], [400], [0.5]])
def test_groups_that_are_no_rows_get_one_line(loo, group):
    with pytest.raises(InputError, match="group must"):
        loo.without_groups([group])


def test_one_thread_and_two_give_equal_heads(data, loo):
    two = LeaveOneOut(loo.head, *data, threads=2)
    many = np.arange(150)
    one = LeaveOneOut(loo.head, *data, threads=1)
    assert np.array_equal(one.without(many).relative, two.without(many).relative)


def test_influence_ranks_as_the_changes_do(loo):
    sizes = loo.without(np.arange(loo.records)).norms.l2
    ranked = loo.removal_influence()
    assert np.corrcoef(sizes, ranked)[0, 1] > 0.98
    assert ranked.argmax() == sizes.argmax()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda loo: loo.without([400]), "indices must be within 0 and 399"),
        (lambda loo: loo.without([-1]), "indices must be within"),
        (lambda loo: loo.without([]), "indices must not be empty"),
        (lambda loo: loo.distances([1, 2]), "pairs must have two columns"),
        (lambda loo: loo.with_each(np.zeros((1, 3)), [0]), "12 columns"),
        (lambda loo: loo.with_each(np.zeros((1, 12)), [9]), "must be one of the classes"),
        (lambda loo: LeaveOneOut("head", np.zeros((1, 12)), [0]), "must be a SoftmaxHead"),
    ],
)
def test_bad_input_gets_one_line(loo, wrong, message):
    with pytest.raises(InputError, match=message) as caught:
        wrong(loo)
    assert "\n" not in str(caught.value)


def test_other_records_than_those_of_the_fit_are_refused(data, loo):
    X, y = data
    with pytest.raises(InputError, match="records that the head was fitted on"):
        LeaveOneOut(loo.head, X[::-1], y)


def test_balanced_class_weights_are_refused(data):
    X, y = data
    head = SoftmaxHead(classes=list(range(4)), class_weight="balanced").fit(X, y)
    with pytest.raises(InputError, match="'balanced' changes with y"):
        LeaveOneOut(head, X, y)
