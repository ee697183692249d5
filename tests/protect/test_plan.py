"""plan looks at public numbers only, and says what the learners then do."""

import math
from dataclasses import replace

import numpy as np
import pytest

from reticent.protect.estimators import NoisyGradientHead
from reticent.protect.plan import (
    CLUSTER_CURVE,
    CURVE,
    LossCurve,
    Situation,
    plan,
    predicted_loss,
    records_needed,
)
from reticent.protect.plan_pure import RULE, PureSignals
from reticent.protect.registry import classifiers
from reticent.validation import InputError

CIFAR = Situation(
    records=50_000, features=1_280, classes=10, epsilon=1.0, delta=1e-5, relation="add-remove"
)
SMALL = replace(CIFAR, records=500, features=64)


@pytest.mark.parametrize(
    ("situation", "learner", "mechanism"),
    [
        (CIFAR, "noisy-gradient", "gaussian"),
        (SMALL, "noisy-gradient", "gaussian"),
        (replace(CIFAR, prototypes=True), "class-means", "gaussian"),
        (replace(SMALL, prototypes=True), "noisy-gradient", "gaussian"),
        (replace(CIFAR, delta=0.0), "matrix-lda", "matrix-laplace"),
        (replace(SMALL, delta=0.0), "pure-class-means", "block-l2-laplace"),
    ],
)
def test_the_choice(situation, learner, mechanism):
    advice = plan(situation)
    assert (advice.learner, advice.mechanism) == (learner, mechanism)
    assert advice.learner in classifiers()
    assert advice.why
    assert 0 < advice.logit_noise < 20


def test_at_the_pure_threshold_one_record_decides():
    """Class means up to a signal of their own; a neighbour that touches more needs more."""
    pure = replace(SMALL, delta=0.0)
    below, above = 500, 2**20  # means at the one, the matrix at the other: then halved
    assert plan(replace(pure, records=below)).learner == "pure-class-means"
    while above > below + 1:
        middle = (below + above) // 2
        if plan(replace(pure, records=middle)).learner == "pure-class-means":
            below = middle
        else:
            above = middle
    few = replace(pure, records=above)
    assert plan(few).learner == "matrix-lda"
    assert PureSignals.of(few).means > RULE.largest_signal
    assert PureSignals.of(replace(few, records=few.records - 1)).means <= RULE.largest_signal
    assert plan(replace(few, relation="replace-one")).learner == "pure-class-means"
    assert plan(replace(few, max_records_per_person=2)).learner == "pure-class-means"


def test_signals_are_mean_lengths_over_the_noise_of_the_releases():
    """Of unit class means, N/C records each: by the formulas of theory H, for any relation."""
    one = PureSignals.of(replace(CIFAR, delta=0.0, features=100))
    n, k, c = CIFAR.records, 100, CIFAR.classes
    matrix = math.sqrt((k + c + 1) / 2) / 0.92 / math.sqrt(0.21) * math.sqrt(k)
    means = math.sqrt(101) / 0.98 * math.sqrt(100)
    assert one.directions == k
    assert (one.matrix, one.means) == pytest.approx((n / c / matrix, n / c / means), rel=1e-3)
    two = PureSignals.of(replace(CIFAR, delta=0.0, features=100, relation="replace-one"))
    assert (one.matrix / two.matrix, one.means / two.means) == pytest.approx((2, 2), rel=1e-3)


def test_where_labels_are_clusters_class_means_are_taken_earlier():
    clusters = replace(CIFAR, delta=0.0, features=100)
    assert plan(clusters).learner == "matrix-lda"
    assert plan(replace(clusters, prototypes=True)).learner == "pure-class-means"


def test_each_learner_has_its_own_measured_loss():
    assert plan(CIFAR).loss == predicted_loss(CIFAR, CURVE)
    clusters = replace(CIFAR, prototypes=True)
    assert plan(clusters).loss == predicted_loss(clusters, CLUSTER_CURVE)
    pure = replace(CIFAR, delta=0.0)
    assert plan(pure).loss == predicted_loss(pure)
    assert plan(pure).loss.likely > plan(CIFAR).loss.likely


@pytest.mark.parametrize("wanted", [0.3, 0.07])
def test_so_many_records_are_needed_at_pure_epsilon(wanted):
    """From the likely number on the likely loss stays below, to 1 %; the sure one is larger."""
    pure = replace(CIFAR, delta=0.0)
    likely, surely = records_needed(pure, wanted)
    assert likely < surely
    for factor, below in ((0.97, False), (1.0, True), (2.0, True), (10.0, True)):
        found = predicted_loss(replace(pure, records=int(likely * factor)))
        assert (found.likely <= wanted) == below
    assert records_needed(pure, 1e-4) == (None, None)


@pytest.mark.parametrize("better", [{"records": 100_000}, {"epsilon": 2.0}, {"delta": 1e-4}])
def test_the_loss_falls_with_records_and_budget(better):
    before, after = predicted_loss(CIFAR), predicted_loss(replace(CIFAR, **better))
    assert after.low < before.low < before.likely < before.high
    assert after.likely < before.likely
    assert after.high < before.high


@pytest.mark.parametrize("worse", [{"classes": 100}, {"relation": "replace-one"}])
def test_the_loss_grows_with_classes_and_with_what_a_neighbour_touches(worse):
    assert predicted_loss(replace(CIFAR, **worse)).likely > predicted_loss(CIFAR).likely


def test_replacing_one_costs_as_much_as_a_person_with_two_records():
    replaced = replace(CIFAR, relation="replace-one")
    assert predicted_loss(replaced) == predicted_loss(replace(CIFAR, max_records_per_person=2))
    assert replaced.signal == CIFAR.signal / 2


@pytest.mark.parametrize("loss", [0.3, 0.1, 0.05])
def test_the_records_needed_are_those_at_which_the_loss_is_reached(loss):
    likely, surely = records_needed(CIFAR, loss)
    assert likely < surely
    assert predicted_loss(replace(CIFAR, records=likely)).likely == pytest.approx(loss, rel=1e-2)
    assert predicted_loss(replace(CIFAR, records=likely)).likely <= loss
    assert predicted_loss(replace(CIFAR, records=surely)).high <= loss
    assert predicted_loss(replace(CIFAR, records=surely - 1)).high > loss


def test_beyond_what_was_measured_nothing_is_promised():
    likely, surely = records_needed(CIFAR, 0.01)
    assert likely is not None
    assert surely is None
    assert records_needed(CIFAR, 1e-4) == (None, None)
    more = replace(CIFAR, records=10_000_000)
    assert predicted_loss(more) == predicted_loss(replace(more, records=20_000_000))


def test_a_curve_by_hand():
    curve = LossCurve(constant=1.0, slope=-2.0, half=0.5)
    centre = 1.0 - 2.0 * np.log(SMALL.signal)
    found = predicted_loss(SMALL, curve)
    expected = 1 / (1 + np.exp(-np.array([centre - 0.5, centre, centre + 0.5])))
    assert [found.low, found.likely, found.high] == pytest.approx(expected.tolist())
    assert CURVE.half > 0


def test_the_signal_is_a_class_mean_over_its_noise():
    assert SMALL.signal == pytest.approx(500 * SMALL.shift / (10 * 8))


def test_the_predicted_noise_is_that_of_the_learner():
    """The logits of a head that learnt from nothing at all are noise alone."""
    situation = replace(SMALL, records=1_000)
    rows = np.random.default_rng(0).normal(size=(200, 64))
    numbers = {"classes": range(10), "records": 1_000, "epsilon": 1.0, "delta": 1e-5}
    found = [
        NoisyGradientHead(relation="add-remove", **numbers)
        .fit(np.zeros((1_000, 64)), np.zeros(1_000, dtype=int))
        .released_.logits(rows)
        for _ in range(5)
    ]
    std = np.mean([np.std(logits - logits.mean(axis=0)) for logits in found])
    predicted = plan(situation).logit_noise
    # "At most": momentum has not brought the last steps in, and weights stay on zero rows' logits.
    assert 0.2 * predicted < std < 1.2 * predicted


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"records": 0}, "records must be"),
        ({"features": 0}, "features must be"),
        ({"classes": 1}, "classes must be"),
        ({"epsilon": float("nan")}, "epsilon must be"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"delta": 1.0}, "delta must be"),
        ({"bound": -1.0}, "bound must be"),
        ({"max_records_per_person": 0}, "max_records_per_person must be"),
        ({"relation": "near"}, "relation must be"),
    ],
)
def test_bad_numbers_get_one_line(wrong, message):
    with pytest.raises(InputError, match=message):
        replace(CIFAR, **wrong)


def test_bad_losses_get_one_line():
    for loss in (0.0, 1.0, float("nan")):
        for delta in (1e-5, 0.0):
            with pytest.raises(InputError, match="loss must be"):
                records_needed(replace(CIFAR, delta=delta), loss)
