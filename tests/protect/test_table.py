"""Capping persons, and penalties from public numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.data import Dataset
from reticent.guarantee import Grade, Relation
from reticent.protect import Terms, public_penalty
from reticent.protect.table import ReleaseRequest, cap_rows_per_person, release_table
from reticent.validation import InputError

TERMS = Terms(epsilon=1.0, delta=1e-5, relation=Relation.ADD_REMOVE, max_records_per_person=2)
REQUEST = ReleaseRequest(terms=TERMS, records=50, options={"bound": 1.0})


@given(st.lists(st.integers(0, 5), min_size=1, max_size=40))
def test_each_person_keeps_its_first_rows(persons):
    kept = cap_rows_per_person(np.array(persons), 2)
    for person in set(persons):
        rows = [i for i, who in enumerate(persons) if who == person]
        assert [i for i in kept if persons[i] == person] == rows[:2]


@given(st.lists(st.integers(0, 5), min_size=2, max_size=30), st.integers(0, 5))
def test_removing_a_person_leaves_the_others_rows(persons, gone):
    """Which rows a person keeps depends on that person's rows alone (theory D.1 needs it)."""
    others = np.array([who != gone for who in persons])
    if not others.any():
        return
    whole = cap_rows_per_person(np.array(persons), 2)
    reduced = np.flatnonzero(others)[cap_rows_per_person(np.array(persons)[others], 2)]
    assert [i for i in whole if others[i]] == reduced.tolist()


def data(**changes):
    rng = np.random.default_rng(0)
    fields = {
        "name": "toy",
        "source": "made here",
        "inputs": rng.normal(size=(50, 4)).astype(np.float32),
        "labels": np.arange(50) % 3,
        "classes": ("a", "b", "c"),
    }
    return Dataset(**(fields | changes))


def test_a_table_becomes_a_proven_head():
    released = release_table(data(persons=np.arange(50) // 5), REQUEST)
    assert released.guarantee.grade is Grade.PROVEN
    assert released.guarantee.unit == "one person with at most 2 records"
    assert released.classes_.tolist() == ["a", "b", "c"]


def test_classes_from_the_labels_and_missing_labels_are_refused():
    with pytest.raises(InputError, match="classes must be declared"):
        release_table(data(public_classes=False), REQUEST)
    with pytest.raises(InputError, match="data must have labels"):
        release_table(data(labels=None, classes=()), REQUEST)


def test_the_penalty_puts_the_logit_noise_at_three_tenths():
    numbers = {"records": 1000, "radius": 2.0, "coordinates": 90, "relation": "add-remove"}
    for mechanism, delta in (("gaussian", 1e-5), ("logistic", 1e-5), ("l2-laplace", 0.0)):
        penalty = public_penalty(**numbers, epsilon=1.0, delta=delta, mechanism=mechanism)
        twice = public_penalty(**numbers, epsilon=2.0, delta=delta, mechanism=mechanism)
        assert 1.5 < penalty / twice < 2.5
    replaced = public_penalty(**(numbers | {"relation": "replace-one"}), epsilon=1.0, delta=1e-5)
    removed = public_penalty(**numbers, epsilon=1.0, delta=1e-5)
    assert replaced == pytest.approx(2 * removed)
    sensitivity = 2**0.5 * 2.0 / (removed * 1000)
    assert sensitivity / 0.26806 * 2.0 == pytest.approx(0.3, rel=1e-3)
