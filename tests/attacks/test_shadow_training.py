"""Shadows: balanced memberships, own seeds, and fits that are those of the estimator itself."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from reticent.attacks.records import Records
from reticent.attacks.shadow_models import memberships, train_shadows
from reticent.training import MLPHead, SoftmaxHead
from reticent.validation import InputError


@pytest.fixture(scope="module")
def pool():
    X, y = load_digits(return_X_y=True)
    return Records(X[:200] / 16, y[:200])


class TestMemberships:
    @pytest.mark.parametrize("records", [40, 41])
    def test_each_record_is_inside_exactly_half_of_an_even_number(self, records):
        inside = memberships(records, 10)
        assert inside.sum(axis=0).tolist() == [5] * records
        assert set(inside.sum(axis=1).tolist()) <= {records // 2, -(-records // 2)}

    def test_pairs_divide_the_pool_and_differ_from_each_other(self):
        inside = memberships(100, 6)
        assert np.array_equal(inside[0], ~inside[1])
        assert len({row.tobytes() for row in inside}) == 6

    def test_another_share_gives_parts_of_that_size(self):
        inside = memberships(100, 7, share=0.3)
        assert inside.sum(axis=1).tolist() == [30] * 7
        assert len({row.tobytes() for row in inside}) == 7

    def test_the_seed_decides(self):
        assert np.array_equal(memberships(50, 4, seed=1), memberships(50, 4, seed=1))
        assert not np.array_equal(memberships(50, 4, seed=1), memberships(50, 4, seed=2))

    def test_more_shadows_leave_the_first_ones_as_they_are(self):
        assert np.array_equal(memberships(50, 4), memberships(50, 8)[:4])

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((10, 0), "count must be >= 1"),
            ((10, 2, float("nan")), r"share must be in \(0, 1\)"),
            ((10, 2, 1.0), r"share must be in \(0, 1\)"),
            ((10, 2, 0.01), "share must leave records on both sides of 10"),
            ((1, 2), "records must be >= 2"),
        ],
    )
    def test_bad_input_gets_one_line(self, arguments, message):
        with pytest.raises(InputError, match=message):
            memberships(*arguments)


def test_a_shadow_is_the_head_fitted_on_its_rows(pool):
    head = SoftmaxHead(bound=5.0, penalty=0.01)
    shadows = train_shadows(head, pool, count=3)
    for rows, model in zip(shadows.inside, shadows.models, strict=True):
        alone = clone(head).fit(pool.inputs[rows], pool.labels[rows])
        distance = np.linalg.norm(model.model.coordinates_ - alone.coordinates_)
        assert distance <= (model.model.optimum_gap_ + alone.optimum_gap_) / head.penalty
        assert model.model.tolerance_ == alone.tolerance_
    assert not hasattr(head, "classes_")
    assert head.classes is None


def test_given_memberships_are_kept(pool):
    inside = np.zeros((2, 200), dtype=bool)
    inside[0, :120], inside[1, 60:] = True, True
    shadows = train_shadows(SoftmaxHead(bound=5.0), pool, inside=inside)
    assert np.array_equal(shadows.inside, inside)
    assert np.array_equal(shadows.saw(pool.take([0, 70, 199])), [[1, 1, 0], [0, 1, 1]])


def test_a_class_that_a_part_lacks_is_an_output_all_the_same(pool):
    inside = np.ones((2, 200), dtype=bool)
    inside[1] = pool.labels != 3
    for head in (SoftmaxHead(bound=5.0), MLPHead(steps=5)):
        shadows = train_shadows(head, pool, inside=inside)
        assert all(model.classes.tolist() == list(range(10)) for model in shadows.models)


def test_each_shadow_has_its_own_seed(pool):
    inside = np.ones((2, 200), dtype=bool)
    shadows = train_shadows(MLPHead(steps=3), pool, inside=inside)
    one, other = (model.model.weights_[0][0] for model in shadows.models)
    assert np.abs(one - other).max() > 0.01
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=3))
    shadows = train_shadows(forest, pool, inside=inside)
    states = [model.model[-1].random_state for model in shadows.models]
    assert states[0] != states[1]


@pytest.mark.parametrize(
    "head",
    [
        SoftmaxHead(bound=5.0, penalty=0.01, tolerance=1e-6),
        SoftmaxHead(bound=5.0, penalty=0.01, class_weight="balanced"),
        MLPHead(layers=2, width=8, steps=30, batch=32),
        RandomForestClassifier(n_estimators=3),
    ],
    ids=["softmax", "balanced", "dense", "forest"],
)
def test_stacked_or_one_by_one(pool, head):
    fast = train_shadows(head, pool, count=4, seed=3)
    slow = train_shadows(head, pool, count=4, seed=3, stacked=False)
    assert np.array_equal(fast.inside, slow.inside)
    for one, other in zip(fast.models, slow.models, strict=True):
        assert repr(one.model.get_params()) == repr(other.model.get_params())
    assert fast.logits(pool.inputs) == pytest.approx(slow.logits(pool.inputs), abs=1e-4)
    assert np.abs(fast.logits(pool.inputs)[0] - fast.logits(pool.inputs)[2]).max() > 0.1


@pytest.mark.slow  # starts processes
def test_seed_and_jobs(pool):
    forest = RandomForestClassifier(n_estimators=3)
    expected = train_shadows(forest, pool, count=4, seed=5).logits(pool.inputs[:9])
    again = train_shadows(forest, pool, count=4, seed=5, jobs=2).logits(pool.inputs[:9])
    assert np.array_equal(expected, again)
    other = train_shadows(forest, pool, count=4, seed=6).logits(pool.inputs[:9])
    assert not np.array_equal(expected, other)


@pytest.mark.parametrize("head", [SoftmaxHead(bound=5.0), MLPHead(steps=2), LogisticRegression()])
def test_progress_counts_up_to_all(pool, head):
    seen = []
    train_shadows(head, pool, count=4, on_done=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 4


def test_bad_input_gets_one_line(pool):
    with pytest.raises(InputError, match="head must be an estimator with fit and get_params"):
        train_shadows("a head", pool)
    with pytest.raises(InputError, match="seed must be a whole number"):
        train_shadows(SoftmaxHead(), pool, seed=0.5)
    for inside in (np.ones((2, 199), dtype=bool), np.ones((2, 200)), np.ones(200, dtype=bool)):
        with pytest.raises(InputError, match="inside must be true or false"):
            train_shadows(SoftmaxHead(), pool, inside=inside)
    with pytest.raises(InputError, match="inside must give each shadow a record"):
        train_shadows(SoftmaxHead(), pool, inside=np.zeros((2, 200), dtype=bool))
    lacking = np.stack([pool.labels != 3, pool.labels != 4])
    with pytest.raises(InputError, match="shadow 0 saw 9 of 10"):
        train_shadows(RandomForestClassifier(n_estimators=2), pool, inside=lacking)
