"""Slices: Holm's rule, family-wise false alarms, the leaky slice is named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reticent.audit import auc, deciles, holm, sliced
from reticent.validation import InputError


def records(leaky=None, seed=0, number=1000):
    """Noise in ten classes; members of one class score higher."""
    rng = np.random.default_rng(seed)
    labels, inside = rng.integers(10, size=number), rng.random(number) < 0.5
    return rng.normal(size=number) + 2.0 * (inside & (labels == leaky)), inside, labels


class TestHolm:
    def test_an_example_by_hand(self):
        found = holm([0.01, 0.04, 0.03, 0.005])
        assert found == pytest.approx([0.03, 0.06, 0.06, 0.02])
        assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.001, 0.5))
    def test_it_is_the_step_down_rule(self, values, level):
        """Reject from the smallest on, each at level/(those that are left), until one stays."""
        expected = np.zeros(len(values), dtype=bool)
        for step, place in enumerate(np.argsort(values, kind="stable")):
            if values[place] * (len(values) - step) > level:
                break
            expected[place] = True
        assert np.array_equal(holm(values) <= level, expected)


class TestSliced:
    def test_every_slice_is_measured_by_itself(self):
        values, inside, labels = records(leaky=3)
        found = sliced(values, inside, {"class": labels}, confidence=0.9)
        assert [part.name for part in found.slices] == [str(label) for label in range(10)]
        raw = []
        for label, part in enumerate(found.slices):
            own = labels == label
            sides = values[own & inside], values[own & ~inside]
            assert part.auc == auc(*sides, confidence=1 - 0.1 / 10)
            assert (part.members, part.others) == tuple(map(len, sides))
            raw.append(stats.mannwhitneyu(*sides, alternative="greater").pvalue)
        assert [part.p_value for part in found.slices] == pytest.approx(raw, abs=0)
        assert [part.corrected for part in found.slices] == pytest.approx(holm(raw), abs=0)

    def test_the_leaky_class_is_named_and_no_other(self):
        found = sliced(*_by_class(records(leaky=3)))
        assert [part.name for part in found.slices if part.leaks] == ["3"]
        part = found.slices[3]
        assert str(part).startswith("class 3: AUC 0.9")
        assert str(part).endswith(" by Holm): leaks")
        assert str(found.slices[0]).endswith("no leak found")

    def test_several_kinds_are_corrected_together(self):
        values, inside, labels = records(leaky=3)
        parts = deciles(np.random.default_rng(1).random(1000))
        alone = sliced(values, inside, {"class": labels}).slices[3]
        together = sliced(values, inside, {"class": labels, "confidence": parts})
        assert len(together.slices) == 20
        assert together.slices[3].corrected == pytest.approx(2 * alone.corrected, abs=0)
        assert together.slices[3].auc.low < alone.auc.low
        assert {part.by for part in together.slices} == {"class", "confidence"}

    def test_small_slices_are_left_out_by_name(self):
        values, inside, labels = records()
        labels[:5] = 77
        found = sliced(values, inside, {"class": labels})
        assert found.too_small == ("class 77",)
        assert len(found.slices) == 10
        assert sliced(values, inside, {"class": labels}, fewest=1000).slices == ()

    def test_equal_scores_leak_nothing(self):
        _, inside, labels = records()
        found = sliced(np.ones(1000), inside, {"class": labels})
        assert all(part.p_value == 1.0 and not part.leaks for part in found.slices)

    @pytest.mark.slow
    def test_false_alarms_of_the_family(self):
        """300 audits of 10 slices each; without Holm's rule about 40 % would have an alarm."""
        most = stats.binom.ppf(1 - 1e-6, 300, 0.05)
        corrected = raw = 0
        for seed in range(300):
            found = sliced(*_by_class(records(seed=seed))).slices
            corrected += any(part.leaks for part in found)
            raw += any(part.p_value <= 0.05 for part in found)
        assert corrected <= most < raw


def _by_class(made):
    values, inside, labels = made
    return values, inside, {"class": labels}


class TestDeciles:
    def test_ten_equal_parts_in_order(self):
        values = np.random.default_rng(0).random(1000)
        names, sizes = np.unique(deciles(values), return_counts=True)
        assert sizes.tolist() == [100] * 10
        assert names[0].startswith("01 of 10 (0.0")
        order = np.argsort(values)
        assert (np.sort(deciles(values)) == deciles(values)[order]).all()

    def test_equal_values_stay_together(self):
        values = np.r_[np.ones(950), np.linspace(0, 0.9, 50)]
        found = deciles(values)
        assert len(set(found[:950])) == 1
        assert len(set(found)) == 2
        assert deciles([5.0, 5.0]).tolist() == ["01 of 1 (5 to 5)"] * 2

    def test_values_next_to_one_do_not_share_a_name(self):
        assert len(set(deciles(1 - np.logspace(-12, -9, 100)))) == 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": [np.nan] * 4}, "values must be finite"),
        ({"members": [1, 0, 1, 0]}, "values and members must be"),
        ({"members": [True]}, "values and members must be"),
        ({"by": {"class": [1, 2]}}, r"class must name a slice for each of 4 records, got \(2,\)"),
        ({"confidence": 0.0}, "confidence must be in"),
        ({"fewest": 1}, "fewest must be >= 2"),
    ],
)
def test_refusals(change, message):
    arguments = {
        "values": [1.0, 2.0, 3.0, 4.0],
        "members": [True, False, True, False],
        "by": {"class": [0, 0, 1, 1]},
        **change,
    }
    with pytest.raises(InputError, match=message):
        sliced(**arguments)


def test_deciles_refuse_tables():
    with pytest.raises(InputError, match="values must be one number for each record"):
        deciles([[1.0]])
