"""Records that no theorem is about are refused, one by one, by every recipe that could mint."""

import numpy as np
import pytest

from reticent.protect import RECIPES, Terms, release_records
from reticent.protect.noisy_query import with_noise_function
from reticent.protect.registry import classifiers, regressors
from reticent.validation import InputError

ROWS = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [-1.0, 0.2]])
PLACES = np.array([0, 1, 0, 1])
OPTIONS = {"bound": 1.0, "target_bound": 1.0, "penalty": 1.0, "components": 1, "clusters": 2}
QUICK = [
    name
    for name in (*classifiers(), *regressors(), "mean", "prototypes")
    if name not in ("network", "matrix-lda")
]


def planned(name):
    kind = RECIPES[name]
    pure = bool(kind.noises) and "gaussian" not in kind.noises
    terms = Terms(epsilon=1.0, delta=0.0 if pure else 1e-5, relation="add-remove")
    options = {key: value for key, value in OPTIONS.items() if key in kind.options}
    classes = 2 if kind.task == "classification" else 0
    return kind.planned(terms, records=8, features=2, classes=classes, **options), terms


def released(name, rows, labels, charge=None):
    recipe, terms = planned(name)
    classes = range(2) if recipe.task == "classification" else ()
    return release_records(recipe, terms, rows, labels, classes=classes, charge=charge)


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("name", QUICK)
def test_a_row_that_is_not_finite_is_refused_before_anything_is_charged(name, odd):
    rows = ROWS.copy()
    rows[2, 1] = odd
    with pytest.raises(InputError, match=r"rows must be finite, got another in row 2"):
        released(name, rows, PLACES, charge=lambda event: pytest.fail("charged"))


@pytest.mark.parametrize("odd", [-1, 2, 1000])
@pytest.mark.parametrize("name", [name for name in classifiers() if name in QUICK])
def test_a_label_beyond_the_classes_is_refused(name, odd):
    labels = PLACES.copy()
    labels[1] = odd
    with pytest.raises(InputError, match=r"labels must be places among 2 classes.*row 1"):
        released(name, ROWS, labels)


def test_labels_of_another_type_or_length_are_refused():
    for labels in (PLACES + 0.5, PLACES.astype(bool), PLACES[:3], np.eye(2)[PLACES], np.int64(1)):
        with pytest.raises(InputError, match="labels must be"):
            released("functional", ROWS, labels)


@pytest.mark.parametrize("name", regressors())
def test_a_target_that_is_not_finite_is_refused(name):
    targets = np.array([0.1, np.nan, 0.2, 0.3])
    with pytest.raises(InputError, match=r"labels must be finite, got another in row 1"):
        released(name, ROWS, targets)


def test_rows_of_another_width_or_type_are_refused_or_become_plain():
    with pytest.raises(InputError, match="rows must have 2 features, got 3"):
        released("functional", np.ones((4, 3)), PLACES)

    class Watching(np.ndarray):
        def __getitem__(self, place):
            raise AssertionError("a subclass was asked")

    assert released("functional", ROWS.view(Watching), PLACES).guarantee.grade == "proven"
    assert released("functional", ROWS.astype(np.float32), PLACES).guarantee.grade == "proven"


def test_valid_records_and_none_at_all_are_released():
    assert released("functional", ROWS, PLACES).guarantee.grade == "proven"
    assert released("functional", ROWS[:0], PLACES[:0]).guarantee.grade == "proven"
    assert released("adassp-regression", ROWS[:0], PLACES[:0]).guarantee.grade == "proven"


@pytest.mark.parametrize("name", ["class-means", "functional", "mean", "weights", "input"])
def test_rows_that_are_changed_after_the_check_move_no_sum_further(name):
    """By the callback that charges: each query is finite, and no further than the rest's bound."""
    rows = ROWS.copy()
    seen = []

    def charge(event):
        rows[2] = [np.inf, np.nan]

    def answer(noise, value):
        seen.append(np.asarray(value, dtype=np.float64))
        return seen[-1]

    with with_noise_function(answer):
        try:
            released(name, rows, PLACES, charge=charge)
        except (InputError, ValueError):
            assert name == "weights"  # which checks again, before it fits
    assert all(np.isfinite(value).all() for value in seen)
