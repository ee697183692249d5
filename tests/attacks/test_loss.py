"""The loss attack on a target whose members are known, and its refusals."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

from reticent.attacks import loss_scores
from reticent.audit import auc
from reticent.validation import InputError


def test_a_model_that_remembers_gives_its_members_away():
    """A full tree is always right on its members; false alarm far below 1e-6."""
    X, y = load_digits(return_X_y=True)
    target = DecisionTreeClassifier(random_state=0).fit(X[:900], y[:900])
    found = auc(loss_scores(target, X[:900], y[:900]), loss_scores(target, X[900:], y[900:]))
    errors = np.mean(target.predict(X[900:]) != y[900:])
    assert found.value == pytest.approx(0.5 + errors / 2)
    assert found.low > 0.5


def test_scores_are_log_probabilities_of_the_labels():
    class Target:
        classes_ = np.array(["b", "a"])

        def predict_proba(self, X):
            return np.array([[0.25, 0.75], [1.0, 0.0]])

    scores = loss_scores(Target(), np.zeros((2, 1)), ["a", "a"])
    assert scores[0] == pytest.approx(np.log(0.75))
    assert np.isfinite(scores[1])
    assert scores[1] < -600
    with pytest.raises(InputError, match="label of row 1 must be a class of the target"):
        loss_scores(Target(), np.zeros((2, 1)), ["a", "c"])
    with pytest.raises(InputError, match="y must have a label for each of 2 records"):
        loss_scores(Target(), np.zeros((2, 1)), ["a"])
