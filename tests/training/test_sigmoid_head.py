"""The head for several labels: its optimum, its rounding, its bound, and scikit-learn's rules."""

import math

import mpmath
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import estimator_checks_generator

from reticent import bounds
from reticent.training import SigmoidHead
from reticent.training.features import clip_rows
from reticent.training.sigmoid_head import SigmoidObjective
from reticent.validation import InputError

NOT_ASKED = {
    "check_array_api_input": "arrays of other libraries",
    # Each of these fits one column of labels; this head takes a table of them.
    "check_classifiers_one_label": "one column of labels",
    "check_classifiers_one_label_sample_weights": "one column of labels",
    "check_classifiers_classes": "one column of labels",
    "check_classifiers_train": "one column of labels",
    "check_classifiers_regression_target": "one column of labels",
    "check_supervised_y_2d": "one column of labels",
    "check_supervised_y_no_nan": "one column of labels",
    "check_complex_data": "one column of labels",
    "check_requires_y_none": "one column of labels",
    "check_estimators_nan_inf": "one column of labels",
    "check_estimators_dtypes": "one column of labels",
    "check_classifier_data_not_an_array": "one column of labels",
    "check_decision_proba_consistency": "one column of labels",
    "check_classifier_not_supporting_multiclass": "one column of labels",
    "check_fit2d_1feature": "one column of labels",
}


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(estimator, check, id=check.func.__name__)
        for estimator, check in estimator_checks_generator(SigmoidHead())
        if check.func.__name__ not in NOT_ASKED
    ],
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(300, 6))
    truth = rng.normal(size=(3, 6))
    return rows, (rows @ truth.T + rng.normal(size=(300, 3)) > 0).astype(int)


def test_each_label_is_a_logistic_regression_of_its_own(records):
    rows, labels = records
    head = SigmoidHead(penalty=0.05, bound=2.0, classes=list("abc"), records=300, intercept=0.0)
    head.fit(rows, labels)
    for column in range(3):
        peer = LogisticRegression(
            C=1 / (0.05 * 300), fit_intercept=False, tol=1e-10, max_iter=5000
        ).fit(clip_rows(rows, 2.0), labels[:, column])
        assert head.weights_[column] == pytest.approx(peer.coef_[0], abs=1e-3)
    assert head.predict_proba(rows).shape == (300, 3)
    assert np.array_equal(head.predict(rows), (head.predict_proba(rows) > 0.5).astype(int))
    assert head.optimum_gap_ <= head.tolerance_


def test_the_rounding_bound_holds_and_is_not_idle():
    rng = np.random.default_rng(3)
    objective = SigmoidObjective(
        rows=clip_rows(rng.normal(size=(40, 6)), 1.0),
        targets=rng.integers(2, size=(40, 4)).astype(float),
        penalty=0.01,
        records=40,
        radius=1.0,
    )
    for size in (0.0, 1.0, 100.0):
        v = size * rng.normal(size=objective.shape)
        error = mpmath.norm(
            _exact_gradient(objective, v) - mpmath.matrix(objective.gradient(v).tolist())
        )
        assert error <= objective.rounding(v)
        assert objective.rounding(v) < 1e-11 * (1 + size)


def _exact_gradient(objective, v):
    with mpmath.workdps(40):
        total, point = mpmath.zeros(*objective.shape), mpmath.matrix(v.tolist())
        for row, target in zip(objective.rows, objective.targets, strict=True):
            h = mpmath.matrix(row.tolist())
            residual = [1 / (1 + mpmath.exp(-z)) for z in point * h]
            total += (mpmath.matrix(residual) - mpmath.matrix(target.tolist())) * h.T
        return total / objective.records + objective.penalty * point


def test_neighbours_stay_within_the_bound_and_a_hard_one_comes_near(records):
    rows, labels = records
    head = SigmoidHead(penalty=0.5, classes=list("abc"), records=300)
    bound = bounds.sigmoid_head(
        labels=3, penalty=0.5, records=300, radius=head.radius, tolerance=1e-5,
        relation="add-remove",
    ).l2  # fmt: skip
    whole = head.fit(rows, labels).coordinates_.copy()
    for i in range(0, 300, 50):
        rest = head.fit(np.delete(rows, i, 0), np.delete(labels, i, 0)).coordinates_
        assert np.linalg.norm(whole - rest) <= bound
    alone = head.fit(np.ones((1, 6)), [[1, 1, 1]]).coordinates_
    assert 0.45 * bound < np.linalg.norm(alone) <= bound  # each σ − t is ½ at the start
    formula = math.sqrt(3) * head.radius / (0.5 * 300) + 2e-5 / 0.5
    assert bound == pytest.approx(formula, rel=1e-9)


def test_on_every_data_set_it_returns():
    head = SigmoidHead(classes=["a", "b"], records=10)
    assert not head.fit(np.zeros((0, 3)), np.zeros((0, 2))).weights_.any()
    assert np.isfinite(head.fit([[1e308, 0, 0]], [[1, 1]]).weights_).all()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[0, 2], [0, 1]], r"y must be 0 or 1 everywhere, got another value in row 0 .*, column 1"),
        ([0, 1], r"y must have one column per label, got shape \(2,\)"),
        ([[0], [1]], "y must have 2 columns, one per class, got 1"),
    ],
)
def test_bad_labels(labels, message):
    with pytest.raises(InputError, match=message):
        SigmoidHead(classes=["a", "b"], records=2).fit(np.eye(2), labels)
