"""The head: clipping, the certificate, scikit-learn's rules, and data sets without a class."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import estimator_checks_generator

from reticent.training import SoftmaxHead
from reticent.training.features import clip_rows
from reticent.training.linear_head import _tolerance
from reticent.training.optimum import certified_minimum
from reticent.training.softmax import SoftmaxObjective, zero_sum_basis
from reticent.validation import InputError


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16 - 0.3, y


@pytest.fixture(scope="module")
def head(digits):
    X, y = digits
    return SoftmaxHead(penalty=0.01, bound=1.0, classes=range(10), records=len(y)).fit(X, y)


NOT_ASKED = {"check_array_api_input"}  # arrays of other libraries


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(estimator, check, id=check.func.__name__)
        for estimator, check in estimator_checks_generator(SoftmaxHead())
        if check.func.__name__ not in NOT_ASKED
    ],
)
def test_scikit_learn(estimator, check):
    check(estimator)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 30)),
               elements=st.floats(allow_nan=False, allow_infinity=False)),
    st.floats(1e-6, 1e6),
)  # fmt: skip
def test_exact_norms_never_exceed_the_bound(rows, bound):
    clipped = clip_rows(rows, bound)
    for row, kept in zip(rows, clipped, strict=True):
        with mpmath.workdps(60):
            assert mpmath.norm(kept.tolist()) <= mpmath.mpf(bound)
            if mpmath.norm(row.tolist()) <= mpmath.mpf(bound) * (1 - mpmath.mpf(10) ** -12):
                assert kept.tolist() == row.tolist()


def test_clipping_in_float32_would_exceed_it():
    """The rule behind the float64: half of the norms end above the bound otherwise."""
    rows = np.random.default_rng(0).normal(size=(500, 100))
    small = rows.astype(np.float32)
    small /= np.linalg.norm(small, axis=1, keepdims=True)
    exceeded = [mpmath.norm(row.tolist()) > 1 for row in small]
    assert np.mean(exceeded) > 0.2
    assert not any(mpmath.norm(row.tolist()) > 1 for row in clip_rows(rows, 1.0))


def test_the_basis_is_orthonormal_and_sums_to_zero():
    for classes in (2, 3, 10, 100):
        basis = zero_sum_basis(classes)
        assert np.abs(basis.T @ basis - np.eye(classes - 1)).max() < 1e-14
        assert np.abs(basis.sum(axis=0)).max() < 1e-13


def test_it_is_the_optimum_of_scikit_learn(digits, head):
    X, y = digits
    rows = np.hstack([clip_rows(X, 1.0), np.ones((len(y), 1))])
    peer = LogisticRegression(
        C=1 / (0.01 * len(y)), fit_intercept=False, tol=1e-10, max_iter=5000
    ).fit(rows, y)
    assert head.weights_ == pytest.approx(peer.coef_, abs=2e-4)


def exact_gradient(objective, v):
    """The gradient at V in 40 digits."""
    with mpmath.workdps(40):
        basis = mpmath.matrix(objective.basis.tolist())
        total = mpmath.zeros(*objective.shape)
        point = mpmath.matrix(v.tolist())
        for row, label in zip(objective.rows, objective.labels, strict=True):
            h = mpmath.matrix(row.tolist())
            odds = [mpmath.exp(logit) for logit in basis * (point * h)]
            residual = mpmath.matrix([odd / sum(odds) for odd in odds])
            residual[int(label)] -= 1
            total += basis.T * (residual * float(objective.weights[label])) * h.T
        return total / objective.records + objective.penalty * point


def test_the_rounding_bound_holds_and_is_not_idle():
    rng = np.random.default_rng(3)
    rows = clip_rows(rng.normal(size=(40, 6)), 1.0)
    objective = SoftmaxObjective(
        rows=rows, labels=rng.integers(4, size=40), basis=zero_sum_basis(4), penalty=0.01,
        records=40, radius=1.0, weights=np.array([1.0, 2.0, 0.5, 1.0]),
    )  # fmt: skip
    for size in (0.0, 1.0, 100.0):
        v = size * rng.normal(size=objective.shape)
        computed = objective.gradient(v)
        error = mpmath.norm(exact_gradient(objective, v) - mpmath.matrix(computed.tolist()))
        assert error <= objective.rounding(v)
        assert objective.rounding(v) < 1e-11 * (1 + size)


def test_the_certificate_bounds_the_exact_gradient(head):
    assert head.optimum_gap_ <= head.tolerance_
    assert head.tolerance_ == pytest.approx(1e-3 * math.sqrt(2) * head.radius / 1797)


def test_a_tolerance_is_reached_or_refused_by_public_numbers(digits):
    X, y = digits
    tight = SoftmaxHead(penalty=0.01, classes=range(10), tolerance=3e-11).fit(X, y)
    assert tight.optimum_gap_ <= 3e-11
    refused = SoftmaxHead(penalty=0.01, classes=range(10), records=1797, tolerance=1e-14)
    for rows in (0, 1, 1797):
        with pytest.raises(InputError, match=r"tolerance must be >= .* got 1e-14"):
            refused.fit(X[:rows], y[:rows])


@pytest.mark.parametrize("sizes", [(100, 10, 5), (1_281_167, 1000, 2048), (10**7, 100, 768)])
def test_the_default_tolerance_leaves_room_for_rounding(sizes):
    """Large heads included: the certificate must be reachable on every data set."""
    records, classes, features = sizes
    objective = SoftmaxObjective(
        rows=np.zeros((0, features)), labels=np.zeros(0, int), basis=zero_sum_basis(classes),
        penalty=1e-4, records=records, radius=1.0, weights=np.ones(classes),
    )  # fmt: skip
    assert _tolerance(objective, None) >= 8 * objective.worst_rounding()


def test_the_rounding_bound_is_the_sum_of_its_parts():
    """D.3 by hand for n = N = 10,000, C = 10, d = 50, ‖V‖ = 20, R = 2, λ = 0.01, w = 1."""
    u = 2.0**-53
    logits = 40 * (50 * u + 10 * 10 * u)
    residual = logits / 2 + 2 * (16 * u + 80 * u) + 14 * u + 2 * u + 2 * 10 * 10 * u
    max_residual_norm = 1.07 * math.sqrt(2)
    summing = max_residual_norm * (4096 + 2 + 1) * u
    expected = 1.1 * (2 * (residual + summing) + 4 * u * (2 * max_residual_norm + 0.2))
    objective = SoftmaxObjective(
        rows=np.zeros((0, 50)), labels=np.zeros(0, int), basis=zero_sum_basis(10), penalty=0.01,
        records=10_000, radius=2.0, weights=np.ones(10),
    )  # fmt: skip
    found = objective.rounding_bound(size=20.0, rows=10_000)
    assert found == pytest.approx(expected, rel=1e-9, abs=0)


def test_hard_starts_fall_back_to_gradient_steps(monkeypatch, digits):
    """With Newton's direction spoiled the guaranteed step still ends at the optimum."""
    from reticent.training import optimum

    X, y = digits
    head = SoftmaxHead(penalty=0.5, classes=range(10))
    expected = head.fit(X[:100], y[:100]).coordinates_
    monkeypatch.setattr(optimum, "_solve", lambda _c, gradient, _p: -gradient)
    objective = head._objective(head._map(X[:100]), y[:100], head._choices())
    found = certified_minimum(objective, tolerance=1e-9)
    assert found.point == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("penalty", [1e-4, 1e-1])
@pytest.mark.parametrize("norms", ["clip", "scale"])
def test_many_rows_are_mapped_and_multiplied_anew_to_the_same_floats(monkeypatch, penalty, norms):
    """Three blocks of rows; nothing of a large table is kept but probabilities."""
    from reticent.training import linear_head, objective

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9000, 5)), rng.integers(3, size=9000)
    X += 2 * np.eye(3, 5)[y]
    head = SoftmaxHead(penalty=penalty, bound=2.0, centre=X[0] / 3, norms=norms, classes=range(3))
    kept = clone(head).fit(X, y)
    monkeypatch.setattr(linear_head, "LARGEST_COPY", 0)
    monkeypatch.setattr(objective, "KEPT", 0)
    anew = clone(head).fit(X, y)
    assert anew.coordinates_.tobytes() == kept.coordinates_.tobytes()
    assert (anew.n_iter_, anew.optimum_gap_) == (kept.n_iter_, kept.optimum_gap_)


def test_the_second_moment_is_for_speed_only(monkeypatch, digits, head):
    from reticent.training import optimum

    X, y = digits
    monkeypatch.setattr(optimum, "LARGEST_MOMENT", 1)
    plain = SoftmaxHead(penalty=0.01, classes=range(10), records=len(y)).fit(X, y)
    assert np.linalg.norm(plain.coordinates_ - head.coordinates_) <= 2 * head.tolerance_ / 0.01


class TestTotality:
    """On every data set of valid records fit returns: theory.md F1."""

    def test_the_empty_data_set(self):
        head = SoftmaxHead(classes=["a", "b", "c"], records=100)
        head.fit(np.zeros((0, 5)), np.array([], dtype=str))
        assert not head.weights_.any()
        assert head.predict_proba(np.ones((1, 5))) == pytest.approx(np.full((1, 3), 1 / 3))

    def test_one_record_and_a_class_without_records(self):
        head = SoftmaxHead(classes=["a", "b", "c"], records=100).fit(np.ones((1, 5)), ["b"])
        assert head.predict(np.ones((1, 5)))[0] == "b"

    def test_records_that_cannot_be_told_apart(self):
        rows = np.ones((50, 3))
        labels = np.arange(50) % 2
        head = SoftmaxHead(classes=[0, 1], records=50, penalty=1e-6).fit(rows, labels)
        assert head.predict_proba(rows[:1]) == pytest.approx(np.full((1, 2), 0.5), abs=1e-3)

    def test_a_row_whose_difference_from_the_centre_overflows(self):
        rows = np.array([[1.7e308, 0.0], [0.0, 1.0]])
        head = SoftmaxHead(classes=[0, 1], records=2, centre=[-1.7e308, 0.0]).fit(rows, [0, 1])
        assert np.isfinite(head.weights_).all()

    def test_more_records_than_the_normaliser_has_room_for(self):
        """Refusing them would tell how many there are."""
        rows = np.random.default_rng(0).normal(size=(60, 3))
        head = SoftmaxHead(classes=[0, 1], records=10).fit(rows, np.arange(60) % 2)
        assert head.optimum_gap_ <= head.tolerance_

    def test_rows_far_beyond_the_bound(self):
        rows = np.array([[1e308, 1e308], [-1e308, 0.0], [1e-308, 0.0], [0.0, 0.0]])
        head = SoftmaxHead(classes=[0, 1], records=4).fit(rows, [0, 1, 0, 1])
        assert np.isfinite(head.weights_).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"penalty": 0.0}, "penalty must be > 0"),
        ({"penalty": float("nan")}, "penalty must be > 0"),
        ({"bound": -1.0}, "bound must be > 0"),
        ({"records": 0}, "records must be >= 1"),
        ({"tolerance": 0.0}, "tolerance must be > 0"),
        ({"intercept": -1.0}, "intercept must be >= 0"),
        ({"classes": [0, 0, 1]}, "classes must be distinct"),
        ({"classes": [0]}, "classes must be at least 2"),
        ({"classes": [0, 1]}, "label of row 2 must be one of the classes"),
        ({"class_weight": "even"}, "class_weight must be a mapping or 'balanced'"),
        ({"class_weight": [1.0]}, "class_weight must be a mapping or 'balanced'"),
        ({"class_weight": {0: -5.0}}, "class_weight of 0 must be >= 0"),
        ({"class_weight": {0: float("nan")}}, "class_weight of 0 must be >= 0"),
        ({"classes": [0, 1, 2], "class_weight": {7: 1.0}}, "class_weight must name classes only"),
        ({"classes": [0, 1, 2], "class_weight": dict.fromkeys(range(3), 0.0)}, "got 0 for all"),
        ({"bound": 1e200}, "bound must keep R within"),
        ({"centre": [0.0]}, "centre must have 3 entries"),
        ({"centre": np.zeros((3, 3))}, "centre must have 3 entries"),
        ({"centre": [float("nan")] * 3}, "centre must be finite"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(InputError, match=message):
        SoftmaxHead(**parameters).fit(np.eye(3), [0, 1, 2])


def test_weights_of_classes_and_the_centre(digits):
    X, y = digits
    plain = SoftmaxHead(classes=range(10)).fit(X, y)
    heavy = SoftmaxHead(classes=range(10), class_weight={3: 5.0}).fit(X, y)
    assert heavy.predict_proba(X)[:, 3].mean() > plain.predict_proba(X)[:, 3].mean()
    assert heavy.certified().numbers.largest_weight == 5.0
    centred = SoftmaxHead(classes=range(10), centre=np.full(64, 0.1)).fit(X + 0.1, y)
    assert centred.coordinates_ == pytest.approx(plain.coordinates_, abs=1e-4)


@pytest.mark.parametrize(
    "X",
    [
        ["secret-123"] * 3,
        [[b"secret-123"]] * 3,
        np.array([["secret-123"]] * 3),
        [["secret-123"]] * 3,
        np.eye(3) * 1j,
        [1.2345, 2.0, 3.0],
        np.eye(3) * np.nan,
    ],
)
def test_no_private_value_is_in_a_message(X):
    with pytest.raises((ValueError, TypeError)) as caught:
        SoftmaxHead().fit(X, [0, 1, 2])
    message = str(caught.value)
    assert "\n" not in message
    assert "secret" not in message
    assert "1.2345" not in message


@pytest.mark.parametrize("penalty", [1e-3, 1e-5, 1e-8])
def test_long_rows_and_small_penalties_take_few_steps(penalty, digits):
    """Steps of Newton's that must be short shrink the gradient by little, and are taken."""
    X, y = digits
    rows = (X - X[1400:].mean(axis=0)) / (X[1400:].std(axis=0) + 1e-6)
    head = SoftmaxHead(classes=range(10), records=1400, bound=8.0, penalty=penalty)
    assert head.fit(rows[:1400], y[:1400]).n_iter_ < 40


@pytest.mark.parametrize(("penalty", "bound"), [(1e-10, 1e3), (1e-17, 1.0)])
def test_a_second_moment_that_rounding_made_indefinite(penalty, bound):
    rows, labels = np.ones((50, 3)) * bound, (np.arange(50) % 5 == 0).astype(int)
    head = SoftmaxHead(classes=[0, 1], records=50, penalty=penalty, bound=bound)
    assert head.fit(rows, labels).optimum_gap_ <= head.tolerance_


@pytest.mark.parametrize("classes", ["ab", {0, 1}, [1, "1"]])
def test_classes_are_a_list_of_different_names(classes):
    with pytest.raises(InputError, match="classes must be"):
        SoftmaxHead(classes=classes).fit(np.eye(2), [0, 1])


def test_classes_may_be_any_numbers_and_many():
    """What scikit-learn thinks of all labels together would be a side output."""
    head = SoftmaxHead(classes=[0.5, 1.5], records=2).fit(np.eye(2), [0.5, 1.5])
    assert head.predict(np.eye(2)).tolist() == [0.5, 1.5]
    SoftmaxHead(classes=range(30), records=30).fit(np.eye(30), np.arange(30))
