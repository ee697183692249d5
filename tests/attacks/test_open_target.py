"""What a user may name as a target."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from reticent.attacks.open_target import described, fitted_head, labels_alone, open_target
from reticent.attacks.targets import AnsweredTarget, ModelTarget
from reticent.protect import AdaSSPRegressor, release_weights, save
from reticent.training import SoftmaxHead
from reticent.training.fit_file import save_fit
from reticent.validation import InputError

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("intercept", [0.0, 1.0])
@pytest.mark.parametrize("centre", [None, X.mean(axis=0)])
def test_a_fit_file_predicts_as_the_head_did_and_cannot_be_released(tmp_path, intercept, centre):
    head = SoftmaxHead(
        bound=9.0, classes=range(3), records=150, intercept=intercept, centre=centre
    ).fit(X, Y)
    save_fit(head, tmp_path / "iris")
    again = fitted_head(tmp_path / "iris")
    np.testing.assert_array_equal(again.logits(X), head.logits(X))
    np.testing.assert_array_equal(again.classes_, head.classes_)
    with pytest.raises(InputError, match="head must be fitted in this process"):
        release_weights(again, epsilon=1.0, delta=1e-5, relation="add-remove")
    target = open_target(str(tmp_path / "iris"))
    assert isinstance(target, ModelTarget)
    assert described(target) == "SoftmaxHead"


def test_a_release_says_its_guarantee(tmp_path):
    head = SoftmaxHead(bound=9.0, classes=range(3), records=150).fit(X, Y)
    released = release_weights(head, epsilon=2.0, delta=1e-5, relation="add-remove")
    save(released, tmp_path / "iris")
    for name in (tmp_path, tmp_path / "iris", tmp_path / "iris.safetensors"):
        target = open_target(str(name))
        np.testing.assert_array_equal(target.logits(X), released.logits(X))
    assert described(target).startswith("released gaussian weights, ε ≤ 2, δ ≤ 1e-5 (declared;")


def test_a_regression_has_no_classes(tmp_path):
    model = AdaSSPRegressor(
        records=150, epsilon=5.0, delta=1e-5, relation="add-remove", bound=9.0, target_bound=3.0
    ).fit(X, Y.astype(float))
    save(model.released_, tmp_path / "iris")
    with pytest.raises(InputError, match="target must tell classes"):
        open_target(str(tmp_path / "iris"))


def test_answers_and_labels(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("no,yes\n0.25,0.75\n0.5,0.5\n")
    target = open_target(str(path))
    assert isinstance(target, AnsweredTarget)
    assert target.classes.tolist() == ["no", "yes"]
    labels = tmp_path / "labels.csv"
    labels.write_text("answer\nyes\nno\n")
    found = labels_alone(labels, label="answer", start=5)
    assert found.inputs.tolist() == [5, 6]
    assert found.labels.tolist() == ["yes", "no"]
    assert labels_alone(path, label="no", start=0) is None


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "nowhere", ".", ":x", "nowhere:"])
def test_other_names_are_refused_in_one_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as refused:
        open_target(name)
    assert "\n" not in str(refused.value)
