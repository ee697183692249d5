"""Ways to a proven grade, or to a changed release that keeps it, that were found and closed."""

import copy
import dataclasses
import json
import pickle
from fractions import Fraction

import numpy as np
import pytest

from reticent import bounds
from reticent.guarantee import Grade
from reticent.protect import (
    RECIPES,
    Terms,
    load,
    release_mean,
    release_records,
    release_weights,
    save,
    verify,
)
from reticent.protect.noise_scales import noise_plan
from reticent.protect.noisy_query import noisy_query, with_noise_function
from reticent.protect.release import released_by
from reticent.training import SoftmaxHead
from reticent.validation import InputError

TERMS = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"}


def fitted(**changes):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, 4)), np.arange(60) % 3
    head = SoftmaxHead(**({"classes": range(3), "records": 60, "penalty": 0.1} | changes))
    return head.fit(rows, labels), rows, labels


def test_released_arrays_cannot_be_made_writable_again():
    head, rows, _ = fitted()
    released = release_weights(head, **TERMS)
    mean = release_mean(rows, bound=1.0, records=60, **TERMS)
    for array in (released.tensors["coordinates"], released.classes_, mean.tensors["mean"]):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array


def test_frozen_numbers_have_no_dictionary():
    head, rows, _ = fitted()
    released = release_weights(head, **TERMS)
    mean = release_mean(rows, bound=1.0, records=60, **TERMS)
    for value in (
        head.certified(),
        head.certified().numbers,
        released,
        released.recipe,
        released.terms,
        mean,
    ):
        assert not hasattr(value, "__dict__")


def test_what_an_instance_says_of_itself_is_not_asked():
    head, _, _ = fitted()
    cheap = dataclasses.replace(head.certified().numbers, penalty=1e6)
    forged = dataclasses.replace(head.certified(), numbers=cheap)
    head.certified = lambda: forged
    assert release_weights(head, **TERMS).recipe.penalty == 0.1


def test_another_class_at_the_fit():
    class Other(SoftmaxHead):
        def _map(self, rows):
            return np.hstack([1e6 * rows, np.ones((len(rows), 1))])

    head, rows, labels = fitted()
    other = Other(**head.get_params()).fit(rows, labels)
    other.__class__ = SoftmaxHead
    with pytest.raises(InputError, match="head must be as fit left it"):
        release_weights(other, **TERMS)


@pytest.mark.parametrize("kind", ["guarantee", "sensitivity"])
def test_pickles_prove_nothing(kind):
    released = release_weights(fitted()[0], **TERMS)
    value = (
        released.guarantee
        if kind == "guarantee"
        else bounds.clipped_sum(bound=1.0, features=3, relation="add-remove")
    )
    assert value.grade is Grade.PROVEN
    assert pickle.loads(pickle.dumps(value)).grade is Grade.DECLARED
    assert copy.deepcopy(value) is value
    for said in (Grade.PROVEN, "proven"):
        state = [said if part is Grade.PROVEN else part for part in value.__getstate__()]
        empty = object.__new__(type(value))
        empty.__setstate__(state)
        assert empty.grade is Grade.DECLARED


class Liar(float):
    """Computes as what it was made of, and says that it is 1."""

    def __float__(self):
        return 1.0


def test_numbers_are_read_once():
    plain = fitted(penalty=1.0)[0].coordinates_
    assert np.array_equal(fitted(penalty=Liar(1e-6))[0].coordinates_, plain)
    released = release_weights(fitted()[0], **(TERMS | {"epsilon": Liar(100.0)}))
    assert released.guarantee.epsilon == 1.0
    assert released.scales == release_weights(fitted()[0], **TERMS).scales


def test_scalars_of_other_types_are_plain_numbers(tmp_path):
    head, rows, labels = fitted(
        penalty=np.float32(0.1), bound=np.float32(0.7), records=np.int64(60),
        intercept=np.float16(0.3), tolerance=np.float32(1e-4),
    )  # fmt: skip
    mean = release_mean(rows, bound=np.float32(3.0), records=np.int64(60), share=0.2, **TERMS)
    head.set_params(centre=mean.tensors["mean"]).fit(rows, labels)
    save(release_weights(head, mean=mean, **TERMS), tmp_path / "head")
    assert verify(tmp_path / "head").holds
    for row in head._map(rows * 100):
        assert sum(Fraction(x) ** 2 for x in row) <= Fraction(head.radius) ** 2


def test_persons_need_a_public_normaliser():
    head, _, _ = fitted(records=None)
    with pytest.raises(InputError, match=r"records must be given to the head .* for persons"):
        release_weights(head, **(TERMS | {"relation": "replace-one"}), max_records_per_person=3)
    owned = release_weights(fitted()[0], **TERMS, max_records_per_person=3).guarantee
    assert any("no person owns more than 3" in line for line in owned.stated)
    with pytest.raises(InputError, match="records must be given to the head under add-remove"):
        release_weights(head, **TERMS, max_records_per_person=1)


def test_one_row_each_of_persons_who_replace_each_other_has_a_public_number():
    """Nobody comes or goes: the number of rows, one of each person, is that of persons."""
    head, rows, _ = fitted(records=None)
    released = release_weights(
        head, **(TERMS | {"relation": "replace-one"}), max_records_per_person=1
    )
    assert released.recipe.records == len(rows)
    assert released.guarantee.unit == "one person with at most 1 record"
    assert any("no person owns more than 1 of" in line for line in released.guarantee.stated)


def edited(tmp_path, **changes):
    save(release_weights(fitted()[0], **TERMS), tmp_path / "head")
    path = tmp_path / "head.json"
    document = json.loads(path.read_text())
    for name, value in changes.items():
        (document["numbers"] if name in document["numbers"] else document)[name] = value
    path.write_text(json.dumps(document))
    return tmp_path / "head"


def test_a_tolerance_that_nothing_can_certify(tmp_path):
    problems = verify(edited(tmp_path, tolerance=5e-324)).problems
    assert any("the tolerance is below what float64 can certify" in line for line in problems)


@pytest.mark.parametrize(
    "changes",
    [
        {"classes": [0, 0, 1]},
        {"classes": [[0], [1], [2]]},
        {"records": 10**400},
        {"scales": {"coordinates": 10**400}},
    ],
)
def test_odd_certificates_get_one_line(tmp_path, changes):
    with pytest.raises(InputError):
        load(edited(tmp_path, **changes))


@pytest.mark.parametrize(
    "numbers", [{"penalty": 1e300}, {"penalty": 1e-200}, {"records": 10**200}, {"bound": 1e-80}]
)
def test_extreme_numbers_are_refused_before_the_records_are_seen(numbers):
    with pytest.raises(InputError, match=r"must be|must keep"):
        fitted(**numbers)
    with pytest.raises(InputError, match="bound must be within"):
        release_mean(np.ones((2, 2)), bound=1e-320, records=2, **TERMS)


class Few(np.int64):
    """Counts as 100 wherever it is read, and runs 300 times."""

    __hash__ = np.int64.__hash__

    def __index__(self):
        return 300

    def __eq__(self, other):
        return True

    def __int__(self):
        return 100

    def __float__(self):
        return 100.0

    def __rtruediv__(self, other):
        return other / 100


def test_a_number_of_another_type_is_read_once(monkeypatch):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    terms = Terms(**TERMS)
    recipe = RECIPES["noisy-gradient"].planned(terms, records=40, features=3, classes=2)
    forged = dataclasses.replace(recipe, steps_taken=Few(100))
    made = []
    monkeypatch.setattr(
        "reticent.protect.recipe.noisy_query",
        lambda noise, value, **more: made.append(noise) or noisy_query(noise, value, **more),
    )
    released = release_records(forged, terms, rows, labels, classes=range(2))
    assert released.guarantee.grade is Grade.PROVEN
    assert sum(noise.scale == released.scales["gradients"] for noise in made) == 100
    assert type(released.recipe.steps_taken) is int


def test_released_by_refuses_numbers_that_are_not_plain():
    terms = Terms(**TERMS)
    recipe = RECIPES["noisy-gradient"].planned(terms, records=40, features=3, classes=2)
    for forged in (
        dataclasses.replace(recipe, steps_taken=Few(100)),
        dataclasses.replace(recipe, clip=np.float64(0.1)),
    ):
        with pytest.raises(InputError, match="not plain values"):
            released_by(
                lambda: {},
                recipe=forged,
                terms=terms,
                plan=noise_plan(recipe, terms),
                classes=range(2),
            )


def test_noise_that_was_replaced_for_a_while_is_seen_afterwards():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    terms = Terms(**TERMS)
    recipe = RECIPES["class-means"].planned(terms, records=40, features=3, classes=2)
    plan = noise_plan(recipe, terms)

    def learn():
        """As a callback of a training could: replaced after one query, put back before the end."""
        with with_noise_function(lambda _, value: value):
            return recipe.learn(rows, labels, plan)

    numbers = {"recipe": recipe, "terms": terms, "plan": plan, "classes": range(2)}
    found = released_by(learn, **numbers).guarantee
    assert found.grade is Grade.DECLARED
    assert any("the noise was replaced" in line for line in found.stated)
    after = released_by(lambda: recipe.learn(rows, labels, plan), **numbers)
    assert after.guarantee.grade is Grade.PROVEN
