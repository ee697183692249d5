"""Which shadow saw which record, by content; what the models answer."""

import numpy as np
import pytest

from reticent.attacks.records import Records
from reticent.attacks.shadows import Shadows
from reticent.attacks.targets import FunctionTarget
from reticent.validation import InputError


def constant(p, classes=("a", "b")):
    return FunctionTarget(lambda rows: np.tile([p, 1 - p], (len(rows), 1)), classes=classes)


# Rows 0 and 2 are equal records; row 3 has their input and another label.
POOL = Records([[1.0], [2.0], [1.0], [1.0]], ["a", "a", "a", "b"])
INSIDE = np.array([[True, False, False, False], [False, True, True, False], [False] * 4])
SHADOWS = Shadows(pool=POOL, inside=INSIDE, models=[constant(p) for p in (0.2, 0.5, 0.9)])


def test_a_record_is_seen_where_any_equal_one_was():
    assert SHADOWS.saw(POOL).tolist() == [
        [True, False, True, False],
        [True, True, True, False],
        [False, False, False, False],
    ]


def test_other_records_were_seen_by_none_and_order_is_theirs():
    asked = Records(np.array([[9.0], [2.0], [2.0]], dtype=np.float32), ["a", "a", "b"])
    assert SHADOWS.saw(asked).tolist() == [[False] * 3, [False, True, False], [False] * 3]


def test_saw_is_a_naive_comparison_of_all_pairs():
    rng = np.random.default_rng(0)
    pool = Records(rng.integers(3, size=(40, 2)).astype(float), rng.integers(2, size=40))
    asked = Records(rng.integers(4, size=(30, 2)).astype(float), rng.integers(2, size=30))
    inside = rng.random((5, 40)) < 0.1
    found = Shadows(pool=pool, inside=inside, models=[constant(0.5)] * 5).saw(asked)
    for shadow in range(5):
        seen = {(*pool.inputs[row], pool.labels[row]) for row in range(40) if inside[shadow, row]}
        expected = [(*x, y) in seen for x, y in zip(asked.inputs, asked.labels, strict=True)]
        assert found[shadow].tolist() == expected


def test_logits_and_classes():
    found = SHADOWS.logits(POOL.inputs)
    assert found.shape == (3, 4, 2)
    assert np.exp(found[:, 0, 0]) == pytest.approx([0.2, 0.5, 0.9])
    assert SHADOWS.classes.tolist() == ["a", "b"]
    assert len(SHADOWS) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inside": INSIDE[:2]}, r"inside must be 3 models × 4 records, got \(2, 4\)"),
        ({"inside": INSIDE.astype(float)}, "inside must be true or false"),
        ({"models": []}, "models must be at least one shadow"),
        (
            {"models": [constant(0.5), constant(0.5), constant(0.5, ("b", "a"))]},
            "models must have the same classes in the same order",
        ),
    ],
)
def test_refusals(change, message):
    with pytest.raises(InputError, match=message):
        Shadows(**{"pool": POOL, "inside": INSIDE, "models": SHADOWS.models, **change})
