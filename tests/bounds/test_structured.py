"""Class sums, counts and the joint moment: no pair of neighbours moves them further."""

import math

import numpy as np
import pytest

from reticent import bounds
from reticent.bounds.structured import MOST_RECORDS
from reticent.guarantee import Grade
from reticent.protect.recipes.matrix_lda import COUNTS, MOMENT, SUMS, joint_moment
from reticent.randomness import seeded
from reticent.validation import InputError

WEIGHTS = {"moment": MOMENT, "sums": SUMS, "counts": COUNTS}
PUBLIC = {"records": 100, "relation": "add-remove"}


def nuclear(matrix):
    return float(np.abs(np.linalg.eigvalsh(matrix)).sum())


def record(rng, width, classes):
    x = rng.normal(size=(1, width))
    return x / np.linalg.norm(x), rng.integers(classes, size=1)


@pytest.mark.parametrize("width", [1, 3, 8])
def test_a_record_moves_the_joint_moment_by_its_trace(width):
    bound = bounds.joint_moment(**WEIGHTS, order=width + 3, **PUBLIC).nuclear
    replaced = bounds.joint_moment(
        **WEIGHTS, order=width + 3, records=100, relation="replace-one"
    ).nuclear
    rng, furthest = seeded("joint", width), 0.0
    for _ in range(200):
        one, other = (joint_moment(*record(rng, width, 3), 3) for _ in range(2))
        assert nuclear(one) == pytest.approx(bound, rel=1e-9)
        assert nuclear(one) <= bound * (1 + 1e-12)
        furthest = max(furthest, nuclear(one - other) / replaced)
    assert 0.9 < furthest <= 1 + 1e-12


def test_other_weights_would_move_it_further():
    """With β² > αν a term has a negative eigenvalue, and its nuclear norm is above its trace."""
    x, e = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    wrong = 1.5 * SUMS
    term = (
        MOMENT * np.outer(x, x)
        + COUNTS * np.outer(e, e)
        + wrong * (np.outer(x, e) + np.outer(e, x))
    )
    assert nuclear(term) > 1.1
    with pytest.raises(InputError, match="sums must be <= the root"):
        bounds.joint_moment(**(WEIGHTS | {"sums": wrong}), order=2, **PUBLIC)


@pytest.mark.parametrize(("relation", "each", "touched"), [
    ("add-remove", 1, 1), ("replace-one", 1, 2), ("add-remove", 3, 3), ("replace-one", 3, 6),
])  # fmt: skip
def test_units_and_relations(relation, each, touched):
    public = {"records": 100, "relation": relation, "max_records_per_person": each}
    sums = bounds.separate_class_sums(classes=4, **public)
    assert (sums.l21, sums.blocks, sums.grade) == (touched, 4, Grade.PROVEN)
    assert bounds.class_counts(**public).l1 == touched
    joint = bounds.joint_moment(**WEIGHTS, order=9, **public)
    assert touched <= joint.nuclear < touched * (1 + 1e-9)


def test_what_is_not_covered_is_refused():
    with pytest.raises(InputError, match="relation must be add-remove or replace-one"):
        bounds.class_counts(records=10, relation="as declared with the sensitivity")
    with pytest.raises(InputError, match=r"records must be <= 2\*\*31"):
        bounds.class_counts(records=MOST_RECORDS + 1, relation="add-remove")
    for name in WEIGHTS:
        with pytest.raises(InputError, match=f"^{name} must"):
            bounds.joint_moment(**(WEIGHTS | {name: math.nan}), order=2, **PUBLIC)
