"""Sums that are released together: no pair of records exceeds the bound, and some attain it."""

import math

import numpy as np
import pytest

from reticent import bounds
from reticent.guarantee import Grade
from reticent.validation import InputError

WIDTH = 3
SIZES = {"features": WIDTH, "records": 100}


def flat(matrix):
    above = np.triu_indices(len(matrix), 1)
    return np.concatenate([np.diag(matrix), math.sqrt(2) * matrix[above]])


def class_term(x, label, weights):
    alpha, beta, nu = weights
    target = np.eye(2)[label]
    return np.concatenate(
        [alpha * flat(np.outer(x, x)), beta * np.outer(x, target).ravel(), nu * target]
    )


def target_term(x, target, weights):
    alpha, beta, nu = weights
    return np.concatenate([alpha * flat(np.outer(x, x)), beta * x * target, [nu * target]])


def rows(rng, count):
    """Of all norms up to 1, most of them of norm 1."""
    found = rng.normal(size=(count, WIDTH))
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found * np.minimum(rng.uniform(0, 4, size=(count, 1)), 1.0)


def pairs(rng, count):
    """Two rows in one plane: at every angle, opposite ones among them."""
    one = rows(rng, count)
    other = rows(rng, count)
    along = rng.uniform(-1.5, 1.0, size=(count, 1))
    mixed = along * one + (1 - np.abs(along)) * other
    return one, mixed / np.maximum(np.linalg.norm(mixed, axis=1, keepdims=True), 1.0)


WEIGHTS = [
    (0.0, 1.0, 0.0), (0.0, 1.0, 0.5), (0.0, 1.0, 2.0), (1.0, 1.0, 0.25), (1.0, 2.0, 0.25),
    (1.0, 0.5, 0.125), (1.0, 1.0, 1.0), (2.0, 3.0, 0.5), (1.0, 8.0, 1.0),
]  # fmt: skip


@pytest.mark.parametrize("weights", WEIGHTS)
def test_no_record_moves_class_statistics_further(weights):
    rng, (alpha, beta, nu) = np.random.default_rng(0), weights
    bound = {
        relation: bounds.class_statistics(
            moment=alpha, sums=beta, counts=nu, **SIZES, relation=relation
        )
        for relation in ("add-remove", "replace-one")
    }
    furthest = {"add-remove": 0.0, "replace-one": 0.0}
    labels = rng.integers(2, size=(1500, 2))
    for x, y, (a, b) in zip(*pairs(rng, 1500), labels, strict=True):
        here, there = class_term(x, a, weights), class_term(y, b, weights)
        for relation, move in (("add-remove", here), ("replace-one", here - there)):
            assert np.linalg.norm(move) <= bound[relation].l2
            assert np.abs(move).sum() <= bound[relation].l1
            furthest[relation] = max(furthest[relation], np.linalg.norm(move))
    assert furthest["add-remove"] == pytest.approx(bound["add-remove"].l2)
    assert furthest["replace-one"] > 0.9 * bound["replace-one"].l2


@pytest.mark.parametrize("weights", WEIGHTS)
def test_no_record_moves_target_statistics_further(weights):
    rng, (alpha, beta, nu) = np.random.default_rng(1), weights
    bound = {
        relation: bounds.target_statistics(
            moment=alpha, products=beta, targets=nu, **SIZES, relation=relation
        )
        for relation in ("add-remove", "replace-one")
    }
    furthest = {"add-remove": 0.0, "replace-one": 0.0}
    targets = np.clip(rng.uniform(-3, 3, size=(1500, 2)), -1, 1)
    for x, y, (a, b) in zip(*pairs(rng, 1500), targets, strict=True):
        here, there = target_term(x, a, weights), target_term(y, b, weights)
        for relation, move in (("add-remove", here), ("replace-one", here - there)):
            assert np.linalg.norm(move) <= bound[relation].l2
            assert np.abs(move).sum() <= bound[relation].l1
            furthest[relation] = max(furthest[relation], np.linalg.norm(move))
    assert furthest["add-remove"] == pytest.approx(bound["add-remove"].l2)
    assert furthest["replace-one"] > 0.75 * bound["replace-one"].l2


def test_the_formulas():
    def found(kind, *weights, relation="replace-one", **more):
        names = {"class": ("moment", "sums", "counts"), "target": ("moment", "products", "targets")}
        theorem = {"class": bounds.class_statistics, "target": bounds.target_statistics}[kind]
        given = dict(zip(names[kind], weights, strict=True))
        return theorem(**given, **SIZES, relation=relation, **more)

    assert found("class", 0, 1, 1).l2 == pytest.approx(2.0)  # the counts cost nothing
    assert found("class", 0, 1, 2).l2 == pytest.approx(math.sqrt(2 + 8))
    assert found("class", 1, 1, 0.5).l2 == pytest.approx(math.sqrt(4.5))  # at once
    assert found("class", 1, 1, 0.6).l2 == pytest.approx(math.sqrt(6))  # part by part
    assert found("target", 1, 1, 0.5).l2 == pytest.approx(math.sqrt(2) * 1.75)
    person = found("class", 1, 1, 0.5, relation="add-remove", max_records_per_person=3)
    assert person.l2 == pytest.approx(3 * 1.5)
    assert person.grade is Grade.PROVEN


def test_rounding_is_charged_and_bad_numbers_are_refused():
    many = {"moment": 1.0, "sums": 1.0, "counts": 0.0, "features": 3, "relation": "add-remove"}
    few, most = (bounds.class_statistics(**many, records=n).l2 for n in (10, 10**8))
    assert few < most < few + 0.01
    for wrong in ({"moment": -1.0}, {"sums": 0.0}, {"counts": math.nan}, {"records": 0},
                  {"relation": "as declared"}):  # fmt: skip
        with pytest.raises(InputError):
            bounds.class_statistics(**({"records": 10} | many | wrong))
