"""Utility loss: the definition, the coverage of its interval, the scorers, what is asked of models.

Rates of false alarm of the coverage tests, with 500 problems each: an interval that covers with
probability .93 or more covers fewer than 435 with probability 1e-6 at most; one that covers with
.97 or less covers all 500 with probability 3e-7 at most (binomial).
"""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    get_scorer,
    log_loss,
    make_scorer,
    mean_squared_error,
    roc_auc_score,
)
from sklearn.svm import LinearSVC

from reticent.audit import utility_loss
from reticent.audit.utility import FrozenAnswers
from reticent.training import SoftmaxHead
from reticent.validation import InputError

PROBLEMS, FEWEST, RECORDS = 500, 435, 300


class Stored:
    """A model that answers from memory and counts how often it is asked."""

    def __init__(self, predictions):
        self.predictions = np.asarray(predictions)
        self.asked = 0

    def predict(self, X):
        self.asked += 1
        return self.predictions


def loss(protected, unprotected, y, **options):
    options = {"resamples": 200, "rng": np.random.default_rng(0), **options}
    return utility_loss(protected, unprotected, None, y, **options)


def test_the_rates_of_false_alarm_are_as_stated():
    assert stats.binom.cdf(FEWEST - 1, PROBLEMS, 0.93) < 1e-6
    assert 0.97**PROBLEMS < 3e-7


def rightly_covering(covered):
    return FEWEST <= np.sum(covered) < PROBLEMS


def one_model(rng):
    """Right and wrong answers before and after protection, and the true loss."""
    before, coin = rng.random(RECORDS) < 0.6, rng.random(RECORDS)
    after = np.where(before, coin >= 0.1, coin < 0.05)
    return before, [after], 1 - (0.6 * 0.9 + 0.4 * 0.05) / 0.6


def three_draws(rng):
    """Draws of noise that spoil 2 to 58 per cent of the right answers."""
    before, coins = rng.random(RECORDS) < 0.9, rng.random((3, RECORDS))
    spoiled = np.clip(rng.normal(0.3, 0.1, size=(3, 1)), 0.02, 0.58)
    return before, list(np.where(before, coins >= spoiled, coins < 0.2)), 1 - (0.63 + 0.02) / 0.9


def problems(make, seed):
    rng = np.random.default_rng(seed)
    return [(*make(rng), np.random.default_rng([seed, i])) for i in range(PROBLEMS)]


def interval(before, after, rng):
    found = utility_loss(
        [Stored(draw) for draw in after], Stored(before), None, np.ones(RECORDS, dtype=bool),
        resamples=250, rng=rng,
    )  # fmt: skip
    return found.low, found.value, found.high


def narrow(before, after, rng):
    low, value, high = interval(before, after, rng)
    return value + (low - value) / math.sqrt(2), value, value + (high - value) / math.sqrt(2)


def unpaired(before, after, rng):
    return interval(before, [rng.permutation(draw) for draw in after], rng)


def blind_to_draws(before, after, rng):
    """The interval about one model, from the one whose answers come first."""
    return interval(before, after[:1], rng)


def draws_out_of_draws(before, after, rng):
    """The plain two-level bootstrap: three draws out of three, records out of records."""
    spread = []
    for _ in range(200):
        times = np.bincount(rng.integers(RECORDS, size=RECORDS), minlength=RECORDS)
        drawn = np.take(np.array(after), rng.integers(3, size=3), axis=0)
        spread.append(1 - (drawn @ times).mean() / (before @ times))
    return np.quantile(spread, 0.025), None, np.quantile(spread, 0.975)


def covered(method, make, seed=0):
    found = []
    for before, after, true, rng in problems(make, seed):
        low, _, high = method(before, after, rng)
        found.append(low <= true <= high)
    return found


@pytest.mark.slow
class TestCoverage:
    def test_one_model(self):
        assert rightly_covering(covered(interval, one_model))

    def test_three_draws(self):
        assert rightly_covering(covered(interval, three_draws))

    @pytest.mark.parametrize("wrong", [narrow, unpaired])
    def test_wrong_intervals_of_one_model_are_found(self, wrong):
        assert not rightly_covering(covered(wrong, one_model))

    @pytest.mark.parametrize("wrong", [blind_to_draws, draws_out_of_draws])
    def test_wrong_intervals_of_draws_are_found(self, wrong):
        assert not rightly_covering(covered(wrong, three_draws))


def test_the_definition():
    y = np.zeros(100)
    before, after = np.arange(100) >= 80, np.arange(100) >= 60
    found = loss(Stored(after), Stored(before), y)
    assert found.value == pytest.approx(1 - 60 / 80)
    assert (found.metric_unprotected, found.metric_protected) == (0.8, 0.6)
    assert (found.draws, found.records, found.confidence) == (1, 100, 0.95)
    assert found.low < found.value < found.high


def test_the_value_of_draws_is_their_mean():
    y = np.zeros(100)
    draws = [Stored(np.arange(100) >= right) for right in (50, 60, 76)]
    found = loss(draws, Stored(np.arange(100) >= 80), y)
    assert found.value == pytest.approx(1 - 62 / 80)
    assert found.metric_protected == pytest.approx(0.62)
    assert found.draws == 3


def test_equal_models_lose_nothing_for_certain():
    model = Stored(np.arange(100) >= 80)
    found = loss([model, model], model, np.zeros(100))
    assert (found.value, found.low, found.high) == (0, 0, 0)


def test_a_better_model_gains():
    found = loss(Stored(np.zeros(100)), Stored(np.arange(100) >= 50), np.zeros(100))
    assert found.high < 0
    assert found.value == pytest.approx(-1)


def test_more_confidence_is_wider_and_the_seed_decides():
    before, after = np.arange(100) >= 80, np.arange(100) >= 60

    def width(confidence, seed=0):
        found = loss(
            Stored(after), Stored(before), np.zeros(100), confidence=confidence, resamples=1000,
            rng=np.random.default_rng(seed),
        )  # fmt: skip
        return found.high - found.low

    assert width(0.5) < width(0.9) < width(0.99)
    assert width(0.9) == width(0.9) != width(0.9, seed=1)


def test_the_line_that_is_printed():
    found = loss(Stored(np.arange(100) >= 60), Stored(np.arange(100) >= 80), np.zeros(100))
    found = dataclasses.replace(found, low=0.2401, high=0.2609, draws=10, records=10_000)
    assert str(found) == (
        "utility loss 0.250 [0.240, 0.261] (accuracy .800 → .600; 95 %, 10 draws, 10,000 records)"
    )
    one = dataclasses.replace(found, draws=1, metric_unprotected=1.0, metric_protected=-0.25)
    assert "accuracy 1.000 → -.250; 95 %, 1 draw, 10,000 records" in str(one)


@pytest.fixture(scope="module")
def models():
    """Binary and ten classes: name → (protected, unprotected, X, y)."""
    X, y = load_digits(return_X_y=True)
    X = X / 16
    before, after = LogisticRegression(), LogisticRegression(C=1e-3)
    few, many = slice(0, 600), slice(600, 900)
    ten = (after.fit(X[few], y[few]), before.fit(X[few], y[few]), X[many], y[many])
    odd = y % 2
    svm = (LinearSVC(C=1e-4), LinearSVC(C=0.1))
    two = (*(m.fit(X[few], odd[few]) for m in svm), X[many], odd[many])
    return {"two": two, "ten": ten}


@pytest.mark.parametrize(
    ("task", "scorer"),
    [
        ("ten", "accuracy"),
        ("ten", accuracy_score),
        ("ten", get_scorer("accuracy")),
        ("ten", balanced_accuracy_score),
        ("ten", "f1_macro"),
        ("ten", make_scorer(f1_score, average="macro")),
        ("ten", "top_k_accuracy"),
        ("ten", "roc_auc_ovr"),
        ("ten", lambda estimator, X, y: np.mean(estimator.predict(X) == y)),
        ("two", "roc_auc"),  # from decision values: a linear SVM has no probabilities
        ("two", "average_precision"),
        ("two", "matthews_corrcoef"),
    ],
)
def test_any_scorer_gives_the_ratio_of_its_values(models, task, scorer):
    protected, unprotected, X, y = models[task]
    found = utility_loss(
        protected,
        unprotected,
        X,
        y,
        scorer=scorer,
        confidence=0.5,
        resamples=20,
        rng=np.random.default_rng(0),
    )
    call = get_scorer(scorer) if isinstance(scorer, str) else scorer
    if scorer in (accuracy_score, balanced_accuracy_score):
        call = make_scorer(scorer)
    assert found.metric_protected == pytest.approx(call(protected, X, y))
    assert found.metric_unprotected == pytest.approx(call(unprotected, X, y))
    assert found.value == pytest.approx(1 - call(protected, X, y) / call(unprotected, X, y))
    assert found.low < found.value < found.high
    assert len(str(found).splitlines()) == 1


def test_the_fast_accuracy_is_the_scorers(models):
    protected, unprotected, X, y = models["ten"]
    fast, slow = (
        utility_loss([protected, unprotected], unprotected, X, y, scorer=scorer, confidence=0.5,
                     resamples=20, rng=np.random.default_rng(0))
        for scorer in ("accuracy", get_scorer("accuracy"))
    )  # fmt: skip
    assert (fast.low, fast.high) == pytest.approx((slow.low, slow.high))


def test_regressors_have_a_loss_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X.sum(axis=1) + rng.normal(size=200)
    full, part = LinearRegression().fit(X, y), LinearRegression().fit(X * [1, 1, 0], y)
    found = utility_loss(part, full, X, y, scorer="r2", resamples=200, rng=rng)
    assert found.value == pytest.approx(1 - part.score(X, y) / full.score(X, y))


def test_each_model_is_asked_once():
    """Else a model that adds noise to its answers would be scored on several."""
    models = [Stored(np.arange(100) % 3 > 0), Stored(np.arange(100) % 4 > 0)]
    for scorer in ("accuracy", balanced_accuracy_score):
        loss(models[0], models[1], np.arange(100) % 5 > 0, scorer=scorer)
    assert [model.asked for model in models] == [2, 2]


def test_an_ensemble_is_one_model():
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(5, random_state=0).fit(X[:500], y[:500])
    assert len(forest) == 5
    rng = np.random.default_rng(0)
    assert utility_loss(forest, forest, X[500:], y[500:], resamples=200, rng=rng).draws == 1


def test_frozen_answers_have_what_the_model_has(models):
    _, svm, X, y = models["two"]
    frozen = FrozenAnswers(svm, X, records=len(y))
    rows = np.array([3, 3, 0])
    assert np.array_equal(frozen.decision_function(rows), svm.decision_function(X)[rows])
    assert frozen.classes_.tolist() == [0, 1]
    assert not hasattr(frozen, "predict_proba")
    assert not hasattr(FrozenAnswers(Stored([1]), None, records=1), "classes_")


def test_models_that_are_no_estimators_are_scored_by_probabilities(models):
    """As released heads are: they predict, but cannot be fitted again."""

    class Released:
        def __init__(self, head):
            self.classes_, self.predict = head.classes_, head.predict
            self.predict_proba = head.predict_proba

    _, _, X, y = models["two"]
    head = SoftmaxHead(classes=[0, 1]).fit(X, y)
    found = utility_loss(
        Released(head), head, X, y, scorer="roc_auc", resamples=200, rng=np.random.default_rng(0)
    )
    expected = roc_auc_score(y, head.predict_proba(X)[:, 1])
    assert found.metric_protected == pytest.approx(expected)
    assert found.value == pytest.approx(0)


HALF = np.arange(100) % 2
BAD = Stored(1 - HALF)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scorer": "neg_log_loss"}, "more is better .* got neg_log_loss"),
        ({"scorer": "neg_mean_squared_error"}, "more is better"),
        ({"scorer": log_loss}, "more is better .* got log_loss"),
        ({"scorer": make_scorer(mean_squared_error, greater_is_better=False)}, "more is better"),
        ({"scorer": "accurcy"}, "scorer must be a name of scikit-learn's, got str 'accurcy'"),
        ({"scorer": 3}, "scorer must be a function or a name, got int 3"),
        ({"scorer": lambda y: 1.0}, r"scorer must take \(estimator, X, y\) or \(y_true, y_pred\)"),
        ({"scorer": lambda y, p: float("nan")}, "of the unprotected model must be > 0"),
        ({"scorer": lambda y, p: -1.0}, "of the unprotected model must be > 0"),
        ({"unprotected": BAD}, "accuracy of the unprotected model must be > 0 .* got 0;"),
        ({"confidence": 1.0}, "confidence must be in"),
        ({"confidence": float("nan")}, "confidence must be in"),
        ({"confidence": 0.99}, "resamples must be >= 1000, got 200"),
        ({"resamples": 199}, "resamples must be >= 200"),
        ({"rng": 0}, "rng must be a numpy Generator, got int 0"),
        ({"protected": []}, "protected must be a model or a list of them"),
        ({"protected": "model"}, "protected must be a model or a list of them"),
        ({"protected": Stored(HALF[:50])}, r"predict must answer each of 100 records, got shape"),
        ({"y": np.zeros((100, 2))}, "accuracy takes one label per record, got shape"),
        ({"y": []}, "y must hold at least one label"),
    ],
)
def test_refusals(change, message):
    arguments = {"protected": Stored(HALF), "unprotected": Stored(HALF), "y": HALF, **change}
    with pytest.raises(InputError, match=message) as caught:
        loss(**arguments)
    assert "\n" not in str(caught.value)


def test_a_metric_that_some_resamples_leave_undefined():
    rare = np.arange(100) == 0
    with pytest.raises(InputError, match="on every resample of the records"):
        loss(Stored(rare), Stored(rare), rare, scorer=lambda y, p: np.mean(p[y]) if y.any() else 0)

    def strict(y_true, y_pred):
        if not y_true.any():
            raise ValueError("secret")
        return 1.0

    with pytest.raises(InputError, match="give more records of each class") as caught:
        loss(Stored(rare), Stored(rare), rare, scorer=strict)
    assert "secret" not in str(caught.value)
