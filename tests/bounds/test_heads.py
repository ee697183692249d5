"""The bound is never exceeded by real neighbours, and its formula is the theorem's."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_digits

from reticent import bounds
from reticent.guarantee import Grade
from reticent.training import SoftmaxHead
from reticent.validation import InputError

PUBLIC = {"penalty": 0.02, "records": 200, "radius": 1.5, "tolerance": 1e-9}


def test_the_formula():
    removed = bounds.softmax_head(**PUBLIC, relation="add-remove")
    replaced = bounds.softmax_head(**PUBLIC, relation="replace-one")
    base = math.sqrt(2) * 1.5 / (0.02 * 200)
    assert removed.grade is Grade.PROVEN
    assert removed.l2 == pytest.approx(base + 2e-9 / 0.02, rel=1e-9)
    assert removed.l2 > base + 2e-9 / 0.02
    assert replaced.l2 == pytest.approx(2 * base + 2e-9 / 0.02, rel=1e-9)
    person = bounds.softmax_head(
        **PUBLIC, relation="add-remove", max_records_per_person=4, largest_weight=3.0
    )
    assert person.l2 == pytest.approx(12 * base + 2e-9 / 0.02, rel=1e-9)


def test_neighbours_stay_within_it_and_a_hard_one_comes_near():
    """Leave-one-out heads; then a record built to move the head: one alone against none."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:200] / 16 - 0.3, y[:200]
    head = SoftmaxHead(penalty=0.02, classes=range(10), records=200)

    def distance(rows, labels, others, other_labels):
        one = head.fit(rows, labels).coordinates_.copy()
        return np.linalg.norm(one - head.fit(others, other_labels).coordinates_)

    limit = bounds.softmax_head(
        penalty=0.02, records=200, radius=head.radius, tolerance=2e-5, relation="add-remove"
    ).l2
    for i in range(0, 200, 20):
        assert distance(X, y, np.delete(X, i, 0), np.delete(y, i)) <= limit
    far = SoftmaxHead(penalty=0.5, classes=[0, 1], records=200)
    alone = far.fit(np.ones((1, 4)), [1]).coordinates_
    bound = bounds.softmax_head(
        penalty=0.5, records=200, radius=far.radius, tolerance=1e-12, relation="add-remove"
    ).l2
    assert 0.45 * bound < np.linalg.norm(alone) <= bound  # p − e_y has norm √2/2 at the start


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"penalty": 0.0}, "penalty must be > 0"),
        ({"radius": float("nan")}, "radius must be > 0"),
        ({"tolerance": 0.0}, "tolerance must be > 0"),
        ({"records": 0}, "records must be >= 1"),
        ({"max_records_per_person": 0}, "max_records_per_person must be >= 1"),
        ({"relation": "as declared with the sensitivity"}, "relation must be add-remove or"),
    ],
)
def test_bad_numbers(change, message):
    with pytest.raises(InputError, match=message):
        bounds.softmax_head(**({"relation": "add-remove"} | PUBLIC | change))
