import numpy as np
import pytest

from reticent.bounds import softmax_head
from reticent.guarantee import Grade, Sensitivity
from reticent.protect import release_weights
from reticent.protect.estimated import release_estimated
from reticent.training import SoftmaxHead
from reticent.validation import InputError

RNG = np.random.default_rng(0)
X, y = RNG.normal(size=(60, 3)), np.arange(60) % 3
HEAD = SoftmaxHead(penalty=0.1, bound=1.0, classes=range(3), records=60).fit(X, y)


def estimate(**changes):
    values = {"l1": 0.02, "l2": 0.01, "grade": "published", "relation": "replace-one"}
    return Sensitivity(**values | {"source": "a guess"} | changes)


@pytest.mark.parametrize("grade", ["published", "declared"])
def test_the_grade_is_that_of_the_sensitivity(grade):
    released = release_estimated(HEAD, estimate(grade=grade), epsilon=1.0, delta=1e-5)
    assert released.guarantee.grade is Grade(grade)
    assert (released.guarantee.epsilon, released.guarantee.delta) == (1.0, 1e-5)


def test_a_sampled_one_carries_its_gamma():
    released = release_estimated(
        HEAD, estimate(grade="sampled", gamma=0.07), epsilon=1.0, delta=0.0, mechanism="laplace"
    )
    assert released.guarantee.gamma == 0.07
    assert released.scales["coordinates"] == pytest.approx(0.02, rel=1e-6)


def test_the_noise_is_as_small_as_the_estimate():
    proven = release_weights(HEAD, epsilon=1.0, delta=1e-5, relation="replace-one")
    found = release_estimated(HEAD, estimate(), epsilon=1.0, delta=1e-5)
    ratio = proven.scales["coordinates"] / found.scales["coordinates"]
    assert ratio == pytest.approx(proven.noises["coordinates"].sensitivity.l2 / 0.01, rel=1e-6)
    change = np.abs(found.tensors["coordinates"] - HEAD.coordinates_)
    assert 0 < change.max() < 12 * found.scales["coordinates"]  # 12 σ: 1e-31


def test_a_sensitivity_of_no_relation_is_refused():
    nameless = estimate(grade="declared", relation="as declared with the sensitivity")
    with pytest.raises(InputError, match="must be said"):
        release_estimated(HEAD, nameless, epsilon=1.0, delta=0.0)


def test_another_model_is_refused():
    with pytest.raises(InputError, match="fitted SoftmaxHead"):
        release_estimated("head", estimate(), epsilon=1.0, delta=0.0)


def test_a_proven_sensitivity_belongs_elsewhere():
    theorem = softmax_head(
        penalty=0.1, records=60, radius=1.0, tolerance=1e-9, relation="replace-one"
    )
    with pytest.raises(InputError, match="use release_weights"):
        release_estimated(HEAD, theorem, epsilon=1.0, delta=0.0)


def test_an_estimate_is_about_one_record_and_a_person_who_has_one():
    units = [
        release_estimated(
            HEAD, estimate(), epsilon=1.0, delta=1e-5, max_records_per_person=each
        ).guarantee.unit
        for each in (None, 1)
    ]
    assert units == ["one record", "one person with at most 1 record"]
    with pytest.raises(
        InputError, match="max_records_per_person must be 1 or None for an estimate, got 2"
    ):
        release_estimated(HEAD, estimate(), epsilon=1.0, delta=1e-5, max_records_per_person=2)
