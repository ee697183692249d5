"""Shadows as the target was made: which of them sees which record."""

import numpy as np
from sklearn.datasets import load_digits

from reticent.attacks.records import Records
from reticent.attacks.shadow_training import memberships
from reticent.attacks.targets import ModelTarget
from reticent.pipeline.shadow_models import ShadowPlan, shadows_like
from reticent.training import SoftmaxHead

X, Y = load_digits(return_X_y=True)
X = X[:60] / 16
HEAD = SoftmaxHead(penalty=1e-2, bound=8.0, classes=range(10)).fit(X, Y[:60])
PLAN = ShadowPlan(count=6, seed=3)


def inside(rows):
    pool = Records(X[rows], Y[rows])
    return shadows_like(ModelTarget(HEAD), pool, PLAN).inside


def test_records_that_differ_are_drawn_one_by_one():
    assert np.array_equal(inside(np.arange(60)), memberships(60, 6, seed=3))


def test_copies_go_together():
    rows = np.append(np.arange(60), [7, 7, 7, 3])
    found = inside(rows)
    assert np.array_equal(found[:, :60], memberships(60, 6, seed=3))
    assert (found[:, [60, 61, 62]] == found[:, [7]]).all()
    assert (found[:, 63] == found[:, 3]).all()
    assert found.sum(axis=0).tolist() == [3] * len(rows)  # as many shadows lack it as saw it
