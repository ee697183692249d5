"""Algorithm 2 and the local sensitivity of a softmax head, against refits."""

import numpy as np
import pytest
from sklearn.base import clone

from reticent.guarantee import Grade, Relation
from reticent.neighbours import (
    LeaveOneOut,
    local_sensitivity,
    published_head_sensitivity,
    published_of,
    published_sensitivity,
)
from reticent.training.softmax_head import SoftmaxHead
from reticent.validation import InputError

SPEC = SoftmaxHead(penalty=1e-2, classes=[0, 1, 2], records=60, tolerance=1e-10)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5)) * 0.4
    return X, (X[:, 0] + 0.3 * rng.standard_normal(60) > 0).astype(int) + (X[:, 1] > 0.5)


@pytest.fixture(scope="module")
def head(data):
    return clone(SPEC).fit(*data)


@pytest.mark.parametrize(
    ("measured", "attribute"), [("weights", "weights_"), ("coordinates", "coordinates_")]
)
def test_it_is_algorithm_2_on_the_same_pairs_as_refits(data, head, measured, attribute):
    X, y = data

    def refit(kept):
        return getattr(clone(SPEC).fit(X[kept], y[kept]), attribute)

    by_refits = published_sensitivity(refit, 60, 15, seed=4)
    found = published_head_sensitivity(head, X, y, pairs=15, seed=4, measured=measured)
    assert found.l1 == pytest.approx(by_refits.l1, rel=1e-4)
    assert found.l2 == pytest.approx(by_refits.l2, rel=1e-4)
    assert (found.grade, found.relation) == (Grade.PUBLISHED, Relation.REPLACE_ONE)
    assert "15 pairs" in found.source


def test_local_sensitivity_is_the_largest_change_of_all_removals(data, head):
    X, y = data
    full = head.weights_
    changes = [
        clone(SPEC).fit(np.delete(X, i, axis=0), np.delete(y, i)).weights_ - full for i in range(60)
    ]
    found = local_sensitivity(head, X, y)
    assert found.l1 == pytest.approx(max(np.abs(change).sum() for change in changes), rel=1e-4)
    assert found.l2 == pytest.approx(max(np.linalg.norm(change) for change in changes), rel=1e-4)
    assert (found.grade, found.relation) == (Grade.PUBLISHED, Relation.ADD_REMOVE)
    assert "no bound" in found.source


def test_equal_records_give_0_and_the_message_says_why_it_is_no_bound():
    X, y = np.zeros((30, 2)), np.zeros(30, dtype=int)
    head = SoftmaxHead(classes=[0, 1], records=30).fit(X, y)
    with pytest.raises(InputError, match="is no bound, since records that were not drawn"):
        published_head_sensitivity(head, X, y, pairs=20, seed=0)


def test_the_mean_of_zeros_says_so_too():
    with pytest.raises(InputError, match="a record that was not drawn can change the weights"):
        published_sensitivity(lambda kept: np.zeros(50)[kept].mean(), 50, 20, seed=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pairs": 0, "seed": 0}, "pairs must be >= 1, got 0"),
        ({"pairs": 5, "seed": -1}, "seed must be >= 0"),
        ({"pairs": 5, "seed": 0, "measured": "logits"}, "measured must be 'weights' or"),
    ],
)
def test_bad_input_gets_one_line(data, head, settings, message):
    with pytest.raises(InputError, match=message) as caught:
        published_of(LeaveOneOut(head, *data), **settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("records", [1, 2])
def test_fewer_records_than_two_or_than_classes_are_refused(data, records):
    X, y = data[0][:records], data[1][:records]
    head = clone(SPEC).fit(X, y)
    with pytest.raises(InputError, match=f"records must be >= 3, .* got {records}"):
        published_head_sensitivity(head, X, y, pairs=5, seed=0)
