"""Displaced heads: D by hand, finite differences, the threshold, refusals."""

from dataclasses import replace

import numpy as np
import pytest

from reticent.attacks.displacement import DisplacementAttack, threshold_at
from reticent.attacks.shadow_models import train_shadows
from reticent.attacks.targets import Access, ModelTarget
from reticent.audit.metrics import auc
from reticent.protect import release_weights
from reticent.randomness import seeded
from reticent.training import MLPHead, SoftmaxHead
from reticent.validation import InputError

SURE = 1 - 1e-6
LINEAR = SoftmaxHead(penalty=1e-5, bound=5.0, classes=list(range(10)))
DEEP = MLPHead(layers=2, width=64, penalty=0, steps=300, classes=range(10), seed=9)


@pytest.fixture(scope="module")
def members(digits):
    return digits.take(np.arange(300))


@pytest.fixture(scope="module")
def others(digits):
    return digits.take(np.arange(300, 600))


@pytest.fixture(scope="module")
def own(digits):
    return digits.take(np.arange(600, 1200))


def fitted(head, records):
    return head.__class__(**head.get_params()).fit(records.inputs, records.labels)


def measured(values):
    """Of scores of 300 members, then of 300 others."""
    return auc(values[:300], values[300:], confidence=SURE)


@pytest.mark.parametrize(("head", "last"), [(LINEAR, 1), (DEEP, 1), (DEEP, 2)])
def test_members_are_found_without_the_data(members, others, own, head, last):
    target = fitted(head, members)
    attack = DisplacementAttack(own=own, last=last, proxies=2)
    found = attack.scores(target, members.joined(others))
    assert measured(found.values).low > 0.5
    assert measured(-found.values).high < 0.5
    shuffled = np.random.default_rng(1).permutation(found.values)
    assert measured(shuffled).contains(0.5)
    again = attack.scores(ModelTarget(target), others)
    assert again.values == pytest.approx(found.values[300:], abs=1e-9)
    assert found.decides_at is None
    assert found.threat.access is Access.WEIGHTS
    assert found.threat.knows == ("records of its own",)


@pytest.mark.parametrize("head", [LINEAR, DEEP])
def test_a_target_that_saw_neither_side_betrays_neither(digits, members, others, own, head):
    target = fitted(head, digits.take(np.arange(1200, 1500)))
    found = DisplacementAttack(own=own, proxies=2).scores(target, members.joined(others))
    assert measured(found.values).contains(0.5)


def test_scores_are_products_with_the_displaced_rows(members, others, own):
    """D from the weights, class by class, record by record; h has its constant feature."""
    target = fitted(LINEAR, members)
    attack = DisplacementAttack(own=own, proxies=3)
    displacement = attack.displacement(target)
    average = sum(layers[0][0] for layers in displacement.proxies) / 3
    found = attack.scores(target, others).values
    for row in (0, 5, 299):
        h = target._map(others.inputs[row : row + 1])[0]
        moved = [float((target.weights_[c] - average[c]) @ h) for c in range(10)]
        expected = moved[others.labels[row]] - sum(moved) / 10
        assert found[row] == pytest.approx(expected, abs=1e-9)
    first = displacement.proxies[0][0][0]
    assert not np.array_equal(first, displacement.proxies[1][0][0])
    rows = seeded("records of a proxy", 0, 0).permutation(600)[:300]
    alone = fitted(LINEAR, own.take(rows))
    assert np.array_equal(first, alone.weights_)


def test_what_all_classes_share_does_not_count(members, others, own):
    """A vector added to every row of W changes no answer, and no score."""
    target = fitted(DEEP, members)
    weight, bias = target.weights_[1]
    shifted = target.with_weights([target.weights_[0], (weight + 3.0, bias - 1.0)])
    attack = DisplacementAttack(own=own, proxies=1)
    expected = attack.scores(target, others).values
    assert attack.scores(shifted, others).values == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_displaced_weights_are_the_slopes_of_displaced_logits(members, own, activation):
    """Finite differences in h, through two and through three layers."""
    head = MLPHead(layers=3, width=6, activation=activation, steps=40, classes=range(10))
    target = fitted(head, members)
    for last in (1, 2, 3):
        displacement = DisplacementAttack(own=own, last=last, proxies=2).displacement(target)
        h = np.random.default_rng(0).normal(size=(1, 64 if last == 3 else 6))
        found = displacement.weights(h)[0]
        for j in (0, 3, 5):
            step = np.zeros_like(h)
            step[0, j] = 1e-6
            slope = displacement.logits(h + step) - displacement.logits(h - step)
            assert found[:, j] == pytest.approx(slope[0] / 2e-6, abs=1e-5)


def test_one_displaced_layer_is_the_difference_of_weights(members, own):
    target = fitted(DEEP, members)
    displacement = DisplacementAttack(own=own, proxies=2).displacement(target)
    average = (displacement.proxies[0][0][0] + displacement.proxies[1][0][0]) / 2
    difference = target.weights_[1][0] - average
    found = displacement.weights(np.zeros((1, 64)))[0]
    assert found == pytest.approx(difference - difference.mean(axis=0))


@pytest.fixture(scope="module")
def shadows(digits):
    return train_shadows(LINEAR, digits.take(np.arange(1200, 1797)), count=2)


def test_the_threshold_comes_from_shadows(members, others, own, shadows):
    """Scores are shifted so that 0 decides; with the threshold set high few others are named."""
    target = fitted(LINEAR, members)
    plain = DisplacementAttack(own=own, proxies=2).scores(target, others)
    attack = DisplacementAttack(own=own, proxies=2, shadows=shadows, precision=0.6)
    found = attack.scores(target, others)
    shift = plain.values - found.values
    assert shift == pytest.approx(np.full(300, shift[0]))
    assert found.decides_at == 0.0
    assert found.notes == ()
    assert found.threat.knows == ("records of its own", "shadows")
    raw = [
        DisplacementAttack(own=own, proxies=2).scores(model, shadows.pool).values
        for model in shadows.models
    ]
    inside = np.concatenate([v[flags] for v, flags in zip(raw, shadows.inside, strict=True)])
    outside = np.concatenate([v[~flags] for v, flags in zip(raw, shadows.inside, strict=True)])
    assert shift[0] == pytest.approx(threshold_at(inside, outside, precision=0.6)[0])
    true, false = np.mean(inside > shift[0]), np.mean(outside > shift[0])
    assert true / (true + false) >= 0.6


@pytest.mark.parametrize("precision", [0.5, 0.7, 0.9])
def test_the_threshold_is_the_lowest_with_the_precision(precision):
    rng = np.random.default_rng(4)
    inside, outside = rng.normal(0.8, 1, 60).round(1), rng.normal(0, 1, 90).round(1)
    found, reached = threshold_at(inside, outside, precision=precision)
    good = []
    for level in sorted({*inside, *outside}):
        true = sum(v > level for v in inside) / 60
        false = sum(v > level for v in outside) / 90
        if true + false > 0 and true / (true + false) >= precision:
            good.append(level)
    assert reached
    assert found == min(good)


def test_a_precision_out_of_reach_names_nobody(own, shadows):
    assert threshold_at([0.0, 1.0], [2.0, 3.0], precision=0.9) == (3.0, False)
    plain = DisplacementAttack(own=own, proxies=1)
    raw = np.stack([plain.scores(model, shadows.pool).values for model in shadows.models])
    worst = replace(shadows, inside=raw < np.median(raw))
    attack = DisplacementAttack(own=own, proxies=1, shadows=worst)
    found = attack.scores(shadows.models[0], shadows.pool)
    assert found.notes == ("precision 0.9 was not reached on the shadows: nobody is named",)
    assert found.values.max() <= 0.0


def test_a_released_head_is_displaced_too(members, others, own):
    """With hardly any noise it is the fitted head."""
    head = SoftmaxHead(**LINEAR.get_params() | {"records": 300})
    head.fit(members.inputs, members.labels)
    released = release_weights(head, epsilon=1e15, delta=1e-5, relation="add-remove")
    attack = DisplacementAttack(own=own, proxies=1)
    expected = attack.scores(head, others).values
    assert attack.scores(released, others).values == pytest.approx(expected, abs=0.01)


def test_what_is_refused(digits, members, own, shadows):
    with pytest.raises(InputError, match="own must be records, at least two"):
        DisplacementAttack(own=own.take([0]))
    with pytest.raises(InputError, match="own must share no record with the shadows' pool"):
        DisplacementAttack(own=digits.take(np.arange(1100, 1300)), shadows=shadows)
    with pytest.raises(InputError, match=r"precision must be in \(0, 1\), got 1.0"):
        DisplacementAttack(own=own, precision=1.0)
    with pytest.raises(InputError, match="last must be at most the target's 1 layers, got 2"):
        DisplacementAttack(own=own, last=2).scores(fitted(LINEAR, members), members)
    with pytest.raises(InputError, match="whose weights are seen, got str"):
        DisplacementAttack(own=own).scores("head", members)
