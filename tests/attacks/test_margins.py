"""φ from logits: exact at the ends, the same for all models, averaged over views."""

import math

import numpy as np
import pytest

from reticent.attacks.lira import margins, require_shadows, shadow_margins, target_margins, views_of
from reticent.attacks.records import Records
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import FunctionTarget
from reticent.validation import InputError


def naive(row, label):
    others = [value for place, value in enumerate(row) if place != label]
    top = max(others)
    return row[label] - top - math.log(sum(math.exp(value - top) for value in others))


def test_margins_equal_a_loop():
    rng = np.random.default_rng(0)
    logits, labels = 5 * rng.standard_normal((50, 7)), rng.integers(0, 7, 50)
    found = margins(logits, labels)
    assert found == pytest.approx([naive(r, y) for r, y in zip(logits, labels, strict=True)])
    assert margins(logits + 100.0, labels) == pytest.approx(found)


def test_margins_are_exact_where_probabilities_round():
    """p = 1 − 1e-40 rounds to 1, and its φ does not."""
    logits = np.array([[0.0, -100.0, -120.0], [-900.0, 0.0, 0.0], [1.0, 3000.0, -3000.0]])
    found = margins(logits, np.array([0, 0, 0]))
    expected = [100 - math.log1p(math.exp(-20)), -900 - math.log(2), -2999.0]
    assert found == pytest.approx(expected, rel=1e-15)


def test_two_classes_are_a_difference_and_the_logits_stay_as_they_are():
    logits = np.array([[1.0, 3.5]])
    assert margins(logits, np.array([1])) == pytest.approx([2.5])
    assert logits.tolist() == [[1.0, 3.5]]


def answers(inputs):
    p = np.clip(np.asarray(inputs)[:, 0], 0.01, 0.99)
    return np.stack([p, 1 - p], axis=1)


def test_views_are_averaged_and_classes_found_by_name():
    target = FunctionTarget(answers, classes=["yes", "no"])
    records = Records([[0.5], [0.8]], ["yes", "no"])
    views = views_of(records, lambda inputs: [inputs, inputs / 2])
    odds = [math.log(p / (1 - p)) for p in (0.5, 0.25, 0.8, 0.4)]
    expected = [(odds[0] + odds[1]) / 2, -(odds[2] + odds[3]) / 2]
    assert target_margins(target, records, views) == pytest.approx(expected)


def test_shadows_may_have_their_classes_in_another_order_than_the_target():
    records = Records([[0.5], [0.8]], ["yes", "no"])
    target = FunctionTarget(answers, classes=["yes", "no"])
    turned = FunctionTarget(lambda inputs: answers(inputs)[:, ::-1], classes=["no", "yes"])
    shadows = Shadows(pool=records, inside=np.zeros((2, 2), dtype=bool), models=[turned] * 2)
    views = views_of(records, None)
    assert target_margins(target, records, views) == pytest.approx([0.0, -math.log(4)])
    assert shadow_margins(shadows, records, views) == pytest.approx(
        np.array([[0.0, -math.log(4)]] * 2)
    )


@pytest.mark.parametrize("augment", [lambda inputs: [], lambda inputs: [inputs, inputs[:1]]])
def test_views_of_another_length_are_refused(augment):
    with pytest.raises(InputError, match="augment must give views of 2 inputs each"):
        views_of(Records([[0.0], [1.0]], [0, 1]), augment)


def test_too_few_shadows_are_counted():
    flags = np.array([[True, True, False], [True, False, False]])
    with pytest.raises(InputError, match=r"at least 2 shadows that saw it, 2 of 3 .*fewest: 0"):
        require_shadows(flags, at_least=2, which="saw it")
    require_shadows(flags[:, :1], at_least=2, which="saw it")
