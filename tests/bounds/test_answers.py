"""Every norm of the change of an answer is the largest there is, and floats stay within it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from reticent import bounds
from reticent.guarantee import Grade
from reticent.training import SoftmaxHead
from reticent.training.softmax import zero_sum_basis
from reticent.validation import InputError

PUBLIC = {
    "features": 5,
    "penalty": 0.02,
    "records": 200,
    "radius": 1.5,
    "tolerance": 1e-12,
    "relation": "add-remove",
}
CLASSES = range(2, 12)


def answers(classes, **changes):
    return bounds.SoftmaxAnswers(**(PUBLIC | {"classes": classes} | changes))


def largest(classes, directions):
    """max over zero-sum x with ‖x‖ = 1 of max over the directions of ⟨s, x⟩: ‖s projected‖."""
    rows = np.asarray(list(directions), dtype=float)
    return np.linalg.norm(rows - rows.mean(axis=1, keepdims=True), axis=1).max()


def signs(classes):
    """‖x‖₁ = max ⟨s, x⟩ over all signs s: all worst cases at once."""
    return itertools.product((-1, 1), repeat=classes)


def units(classes):
    return np.vstack([np.eye(classes), -np.eye(classes)])


def differences(classes):
    """max x − min x = max ⟨e_i − e_j, x⟩."""
    eye = np.eye(classes)
    return [eye[i] - eye[j] for i, j in itertools.permutations(range(classes), 2)]


@pytest.mark.parametrize("classes", CLASSES)
def test_each_norm_of_the_logits_is_that_of_the_worst_zero_sum_change(classes):
    head = bounds.softmax_head(**{k: v for k, v in PUBLIC.items() if k != "features"})
    moved, found = head.l2 * PUBLIC["radius"], answers(classes).logits()
    worst = {
        "l1": largest(classes, signs(classes)),
        "l2": 1.0,
        "linf": largest(classes, units(classes)),
        "range_bound": largest(classes, differences(classes)),
    }
    for name, times in worst.items():
        bound = getattr(found, name)
        assert bound >= times * moved, name
        assert bound == pytest.approx(times * moved, rel=1e-10), name
    assert found.grade is Grade.PROVEN
    assert found.relation == "add-remove"


@pytest.mark.parametrize("classes", CLASSES)
def test_each_norm_of_the_coordinates_is_that_of_the_worst_change(classes):
    """Among all directions of the C − 1 coordinates; fewer of them than logits, so less L1."""
    found, logits = answers(classes).coordinates(), answers(classes).logits()
    corner = np.ones(classes - 1) / math.sqrt(classes - 1)
    assert found.l1 == pytest.approx(np.abs(corner).sum() * found.l2, rel=1e-12)
    assert found.linf == found.l2
    assert found.l2 <= logits.l2
    assert found.l1 < logits.l1
    assert found.grade is Grade.PROVEN


def test_the_terms_of_the_head_enter():
    alone = answers(3).logits()
    assert answers(3, relation="replace-one").logits().l2 == pytest.approx(2 * alone.l2, rel=1e-8)
    assert answers(3, max_records_per_person=4).logits().l2 == pytest.approx(4 * alone.l2, rel=1e-8)
    assert answers(3, radius=3.0).logits().l2 == pytest.approx(4 * alone.l2, rel=1e-8)
    assert answers(3, largest_weight=2.0).logits().l2 == pytest.approx(2 * alone.l2, rel=1e-8)
    loose = answers(3, tolerance=1e-3).logits().l2
    assert loose == pytest.approx(alone.l2 + 2 * 1e-3 / 0.02 * 1.5, rel=1e-8)


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_real_neighbours_stay_within_it_and_a_hard_one_comes_near(classes):
    """One record against none, asked about itself: the residual has norm √((C−1)/C) of √2."""
    head = SoftmaxHead(penalty=5.0, classes=range(classes), records=50)
    empty = head.fit(np.zeros((0, 4)), np.array([], int)).logits(np.ones((1, 4)))
    alone = head.fit(np.ones((1, 4)), [1]).logits(np.ones((1, 4)))
    bound = bounds.SoftmaxAnswers(
        classes=classes, features=5, penalty=5.0, records=50, radius=head.radius,
        tolerance=1e-6, relation="add-remove",
    ).logits()  # fmt: skip
    change = (alone - empty)[0]
    for size, limit in (
        (np.abs(change).sum(), bound.l1),
        (np.linalg.norm(change), bound.l2),
        (np.abs(change).max(), bound.linf),
        (np.ptp(change), bound.range_bound),
    ):
        assert 0.49 * limit < size <= limit


@pytest.mark.parametrize("classes", [2, 7, 40])
def test_floats_add_less_than_is_charged_for_them(classes):
    """Coordinates of the largest norm a head can have, in exact rational arithmetic beside."""
    rng = np.random.default_rng(0)
    head = answers(classes, features=300)
    basis, reach = zero_sum_basis(classes), head._reach()
    for scale in (1.0, 1e6):  # entries of unequal size cancel badly
        v = rng.normal(size=(classes - 1, 300)) * np.where(rng.random(300) < 0.1, scale, 1.0)
        h = rng.normal(size=300)
        h *= head.radius / np.linalg.norm(h)
        v *= reach / head.radius / np.linalg.norm(v)
        computed = h[None] @ v.T
        logits = computed @ basis.T
        exact = [sum(map(_product, row, h), Fraction(0)) for row in v]
        off = _norm(Fraction(c) - e for c, e in zip(computed[0].tolist(), exact, strict=True))
        assert 0 < off < head._coordinates_off()
        true = [sum((Fraction(u) * e for u, e in zip(row, exact, strict=True)), Fraction(0))
                for row in basis.tolist()]  # fmt: skip
        all_off = _norm(Fraction(c) - t for c, t in zip(logits[0].tolist(), true, strict=True))
        assert 0 < all_off < head._coordinates_off() + head._product_off()


@pytest.mark.parametrize(
    ("classes", "penalty", "radius", "weight", "optimum"),
    [
        (3, 5.0, 0.5, 1.0, 2 * math.sqrt(2) * 0.5 / 5.0),  # the steepest gradient
        (3, 5.0, 0.5, 2.0, 2 * 2 * math.sqrt(2) * 0.5 / 5.0),
        (4, 0.01, 3.0, 1.0, math.sqrt(4 * math.log(4) / 0.01)),  # the loss of the idle head
        (4, 0.01, 3.0, 2.0, math.sqrt(4 * 2 * math.log(4) / 0.01)),
    ],
)
def test_a_head_reaches_as_far_as_the_smaller_of_both_sides(
    classes, penalty, radius, weight, optimum
):
    """Of 2N records; so many features that the rounding of floats, which it scales, is printed."""
    head = answers(
        classes, penalty=penalty, radius=radius, largest_weight=weight,
        features=2**40, tolerance=1e-3,
    )  # fmt: skip
    exact = answers(
        classes, penalty=penalty, radius=radius, largest_weight=weight,
        features=1, tolerance=1e-3,
    ).coordinates().l2  # fmt: skip
    gamma = 2.0**-13 / (1 - 2.0**-13)
    rounding = 2 * 1.01 * gamma * radius * (optimum + 1e-3 / penalty)
    assert head.coordinates().l2 - exact == pytest.approx(rounding, rel=1e-9)
    assert rounding > 1e-6 * exact


def test_the_basis_in_floats_is_as_good_as_is_granted():
    for classes in (2, 3, 10, 100):
        basis = zero_sum_basis(classes)
        exact = [[Fraction(entry) for entry in row] for row in basis.tolist()]
        sums = [abs(float(sum(column))) for column in zip(*exact, strict=True)]
        assert math.hypot(*sums) < classes * 2.0**-50
        assert np.linalg.norm(basis, 2) < 1 + classes * 2.0**-50


def _product(left, right):
    return Fraction(float(left)) * Fraction(float(right))


def _norm(errors):
    return math.sqrt(sum(float(error) ** 2 for error in errors))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": 1}, "classes must be >= 2"),
        ({"classes": 2**41}, "classes must be <= 2"),
        ({"features": 0}, "features must be >= 1"),
        ({"radius": float("nan")}, "radius must be > 0"),
        ({"penalty": 0.0}, "penalty must be > 0"),
        ({"relation": "as declared with the sensitivity"}, "relation must be add-remove or"),
    ],
)
def test_bad_numbers(change, message):
    with pytest.raises(InputError, match=message):
        answers(**({"classes": 3} | change))
