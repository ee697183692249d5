"""Weights once or an answer each: the design facts, from public numbers alone."""

import math
from dataclasses import replace

import pytest

from reticent.protect import release_weights
from reticent.protect.answers import calibrated_answers, numbers_of
from reticent.protect.plan import Situation
from reticent.protect.plan_queries import EACH, ONCE, compared_head, plan_queries
from reticent.validation import InputError
from tests.protect.answers.asked_head import fitted

PURE = Situation(
    records=1_400, features=64, classes=10, epsilon=1.0, delta=0.0, relation="add-remove"
)
GAUSSIAN = replace(PURE, delta=1e-5)


def noises(situation, queries):
    ways = plan_queries(situation, queries).ways
    return {(way.release, way.mechanism): way.logit_noise for way in ways}


@pytest.mark.parametrize("situation", [PURE, GAUSSIAN])
def test_every_way_is_there_the_least_noise_first(situation):
    ways = plan_queries(situation, 12).ways
    stds = [way.logit_noise for way in ways]
    assert stds == sorted(stds)
    assert len(ways) == (10 if situation.delta else 8)
    assert all((way.composed_by is None) == (way.release == ONCE) for way in ways)


@pytest.mark.parametrize("queries", [1, 2, 9, 400])
def test_a_gaussian_answer_each_is_never_better_than_gaussian_weights(queries):
    found = noises(GAUSSIAN, queries)
    once, each = found[ONCE, "gaussian"], found[EACH, "gaussian"]
    assert each >= once
    assert each == pytest.approx(math.sqrt(queries) * once, rel=1e-6)


def test_at_one_query_equal_noise_is_advised_as_weights():
    order = [(way.release, way.mechanism) for way in plan_queries(GAUSSIAN, 1).ways]
    assert order.index((ONCE, "gaussian")) < order.index((EACH, "gaussian"))


@pytest.mark.parametrize("features", [64, 1_280])
@pytest.mark.parametrize("classes", [2, 10, 100])
def test_the_pure_crossing_is_about_the_root_of_the_features(features, classes):
    """k√C against √((C−1)(d+1) + 1) by l2-laplace noise; √2·k for labels alone."""
    situation = replace(PURE, features=features, classes=classes)
    advice = plan_queries(situation, 1)
    coordinates = (classes - 1) * (features + 1)
    by_logits = math.sqrt((coordinates + 1) / classes)
    assert advice.most_by_logits == math.ceil(by_logits) - 1
    assert 0.6 * math.sqrt(features) < advice.most_by_logits < 1.1 * math.sqrt(features)
    assert advice.most_by_labels == math.ceil(math.sqrt((coordinates + 1) / 2)) - 1


@pytest.mark.parametrize("name", ["logits", "labels"])
def test_the_advice_turns_where_it_says(name):
    most = getattr(plan_queries(PURE, 5), f"most_by_{name}")
    before, after = plan_queries(PURE, most), plan_queries(PURE, most + 1)
    assert getattr(before, f"for_{name}").release == EACH
    assert getattr(after, f"for_{name}").release == ONCE
    assert getattr(after, f"most_by_{name}") == most


def test_the_noise_is_that_of_real_releases():
    """Of one head: std·R for weights, the plan's own for answers."""
    head, public = fitted(), numbers_of(fitted())
    budget = {"epsilon": 1.0, "delta": 0.0, "relation": "add-remove"}
    weights = release_weights(head, mechanism="l2-laplace", **budget)
    answers = calibrated_answers(public, mechanism="l2-laplace", queries=3, **budget)
    coordinates = weights.tensors["coordinates"].size
    once = weights.scales["coordinates"] * math.sqrt(coordinates + 1) * head.radius
    situation = Situation(records=60, features=5, classes=3, **budget)
    found = noises(situation, 3)
    ratio = found[EACH, "l2-laplace"] / found[ONCE, "l2-laplace"]
    assert answers.logit_noise / once == pytest.approx(ratio, rel=1e-3)


@pytest.mark.parametrize(
    "change",
    [
        {"records": 10_000},
        {"relation": "replace-one"},
        {"max_records_per_person": 5},
        {"bound": 7.0},
    ],
)
def test_what_scales_every_noise_does_not_change_the_advice(change):
    one, other = (plan_queries(situation, 9) for situation in (PURE, replace(PURE, **change)))
    assert [(w.release, w.mechanism) for w in one.ways] == [
        (w.release, w.mechanism) for w in other.ways
    ]


def test_the_compared_head_has_the_noise_of_the_rule():
    assert plan_queries(PURE, 1).once.logit_noise == pytest.approx(0.3, rel=0.01)
    assert compared_head(PURE).shape == (9, 65)


def test_with_a_delta_no_crossing_is_named():
    advice = plan_queries(GAUSSIAN, 4)
    assert advice.most_by_logits is None
    assert "never better" in advice.why[0]
    assert advice.to_dict()["for_logits"]["release"] == ONCE


@pytest.mark.parametrize("queries", [0, -1, 2.5, True])
def test_bad_numbers_of_queries(queries):
    with pytest.raises(InputError, match="queries must be"):
        plan_queries(PURE, queries)
