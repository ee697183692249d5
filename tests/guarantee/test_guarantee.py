"""Grades, minting, printing, JSON, and how guarantees combine."""

import copy
import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.guarantee import (
    Grade,
    Guarantee,
    Relation,
    Sensitivity,
    composed,
    group,
    mixture,
    parallel,
    weakest,
)
from reticent.guarantee.minting import proven
from reticent.guarantee.rounding import lower_text, sum_up, upper_text
from reticent.validation import InputError

POSITIVE = st.floats(min_value=1e-300, max_value=1e300)


def one_line(text):
    return bool(text.strip()) and len(text.splitlines()) == 1


def claim(epsilon=1.0, delta=1e-6, **others):
    return Guarantee(epsilon=epsilon, delta=delta, **{"relation": Relation.ADD_REMOVE, **others})


def proven_claim(**others):
    return proven(claim(**others))


class TestMinting:
    def test_a_caller_makes_at_most_declared(self):
        with pytest.raises(InputError, match="at most declared, got proven"):
            claim(grade=Grade.PROVEN)
        with pytest.raises(InputError, match="at most declared, got proven"):
            claim(grade="proven")
        with pytest.raises(InputError, match="at most declared, got proven"):
            Sensitivity(l1=1.0, grade=Grade.PROVEN)

    def test_a_proven_value_cannot_be_edited(self):
        minted = proven_claim()
        with pytest.raises(InputError, match="at most declared"):
            dataclasses.replace(minted, epsilon=0.01)
        with pytest.raises(dataclasses.FrozenInstanceError):
            minted.epsilon = 0.01
        assert copy.deepcopy(minted) == minted

    def test_a_forged_file_loads_as_declared(self):
        forged = json.loads(claim().to_json()) | {"grade": "proven"}
        assert Guarantee.from_json(json.dumps(forged)).grade is Grade.DECLARED
        nested = json.loads(composed([claim(), claim()]).to_json())
        nested["composed_of"][0]["grade"] = "proven"
        loaded = Guarantee.from_dict(nested)
        assert {part.grade for part in loaded.composed_of} == {Grade.DECLARED}

    @pytest.mark.parametrize("grade", ["sampled", "published"])
    def test_only_a_declared_value_can_be_proven(self, grade):
        gamma = 0.1 if grade == "sampled" else None
        with pytest.raises(InputError, match=f"got one graded {grade}"):
            proven(claim(grade=grade, gamma=gamma))

    def test_no_subclass_and_no_back_door(self):
        for kind in (Guarantee, Sensitivity):
            with pytest.raises(TypeError, match="must not be subclassed"):
                type("Forged", (kind,), {})
        assert not hasattr(proven_claim(), "__dict__")
        with pytest.raises(InputError, match="composition must be of guarantees"):
            composed(["proven"])

    def test_minting_keeps_everything_but_the_grade(self):
        assert proven_claim().to_dict() == claim().to_dict() | {"grade": "proven"}


class TestCombination:
    def test_sequential(self):
        total = composed([claim(0.1, 1e-6), claim(0.2, 2e-6), claim(0.3, 0.0)])
        assert total.epsilon >= 0.6
        assert total.epsilon == pytest.approx(0.6)
        assert total.delta == pytest.approx(3e-6)
        assert len(total.composed_of) == 3

    @given(st.lists(st.floats(0, 1e3), min_size=1, max_size=20))
    def test_the_sum_is_never_below_the_exact_sum(self, epsilons):
        from fractions import Fraction

        total = composed([claim(epsilon, 0.0) for epsilon in epsilons]).epsilon
        assert Fraction(total) >= sum(map(Fraction, epsilons))

    def test_the_weakest_grade_wins_and_gammas_add(self):
        sampled = claim(grade=Grade.SAMPLED, gamma=0.1)
        total = composed([proven_claim(), sampled, sampled])
        assert total.grade is Grade.SAMPLED
        assert total.gamma == pytest.approx(0.2)
        assert composed([sampled, claim(grade="published")]).grade is Grade.PUBLISHED
        assert composed([proven_claim(), proven_claim()]).grade is Grade.PROVEN
        assert composed([proven_claim(), claim()]).grade is Grade.DECLARED

    def test_weakest_order(self):
        assert weakest(Grade) is Grade.PUBLISHED
        assert weakest([Grade.PROVEN, Grade.DECLARED]) is Grade.DECLARED
        assert weakest([Grade.SAMPLED, Grade.DECLARED]) is Grade.SAMPLED

    def test_parallel_takes_the_largest_and_needs_add_remove(self):
        total = parallel([claim(1.0, 1e-6), claim(2.0, 1e-7)])
        assert (total.epsilon, total.delta) == (2.0, 1e-6)
        assert any("disjoint" in line for line in total.stated)
        assert parallel([proven_claim(), proven_claim()]).grade is Grade.DECLARED
        assert mixture([proven_claim(), proven_claim()]).grade is Grade.DECLARED
        with pytest.raises(InputError, match="must be under add-remove, got replace-one"):
            parallel([claim(relation="replace-one")])

    def test_mixture_keeps_the_larger(self):
        total = mixture([claim(1.0, 1e-6), claim(2.0, 1e-7)])
        assert (total.epsilon, total.delta) == (2.0, 1e-6)

    def test_group_follows_the_geometric_sum(self):
        total = group(claim(0.5, 1e-6), 3, unit="a person with 3 records")
        assert total.epsilon == 1.5
        by_hand = 1e-6 * sum(2.718281828459045 ** (0.5 * i) for i in range(3))
        assert total.delta == pytest.approx(by_hand)
        assert total.unit == "a person with 3 records"
        assert group(claim(0.0, 1e-6), 5, unit="five").delta == pytest.approx(5e-6)
        assert group(claim(), 1, unit="one").epsilon == 1.0
        assert "one hospital has at most 1 record of the data set" in (
            group(claim(), 1, unit="one hospital").stated
        )
        assert any("at most 3 records" in line for line in total.stated)
        with pytest.raises(InputError, match="must leave delta < 1"):
            group(claim(5.0, 1e-3), 400, unit="all")

    def test_relations_and_units_do_not_mix(self):
        with pytest.raises(InputError, match="relation must be the same"):
            composed([claim(), claim(relation="replace-one")])
        with pytest.raises(InputError, match="unit must be the same"):
            composed([claim(), claim(unit="one person")])
        with pytest.raises(InputError, match="at least one guarantee"):
            composed([])

    def test_assumptions_are_joined_once(self):
        total = composed([claim(stated=("a", "b")), claim(stated=("b", "c"))])
        assert total.stated == ("a", "b", "c")


class TestPrinting:
    @given(POSITIVE)
    def test_upper_text_is_never_below_and_lower_text_never_above(self, value):
        assert float(upper_text(value)) >= value
        assert float(lower_text(value)) <= value
        assert float(upper_text(value)) <= value * 1.0002

    def test_the_line_names_everything(self):
        line = str(claim(1.000001, 1e-6, grade="sampled", gamma=0.05, unit="one person"))
        assert line == (
            "ε ≤ 1.0001, δ ≤ 1e-6 (sampled with γ ≤ 0.05; neighbours: add-remove; unit: one person)"
        )

    @given(st.lists(st.floats(0, 1e6), max_size=8))
    def test_sum_up_is_exact_where_a_float_can_hold_it(self, values):
        from fractions import Fraction

        exact = sum(map(Fraction, values), Fraction(0))
        assert Fraction(sum_up(values)) >= exact
        assert sum_up([0.5, 0.25]) == 0.75


class TestJson:
    @given(
        st.floats(0, 1e6),
        st.floats(0, 0.999),
        st.sampled_from([*Relation]),
        st.lists(st.text(min_size=1).filter(one_line), max_size=3),
    )
    def test_round_trip(self, epsilon, delta, relation, lines):
        original = claim(epsilon, delta, relation=relation, checked=tuple(lines), stated=("x",))
        assert Guarantee.from_json(original.to_json()) == original

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"epsilon": float("nan")}, "epsilon must be >= 0 and finite, got nan"),
            ({"epsilon": "1"}, "epsilon must be a real number, got str '1'"),
            ({"epsilon": True}, "epsilon must be a real number, got bool True"),
            ({"epsilon": -1}, "epsilon must be >= 0 and finite, got -1.0"),
            ({"delta": 1.0}, r"delta must be in \[0, 1\), got 1.0"),
            ({"grade": "certain"}, "grade must be one of proven, declared, sampled, published"),
            ({"relation": "swap"}, "relation must be one of add-remove, replace-one"),
            ({"unit": " "}, "unit must be a non-empty text"),
            ({"stated": "all"}, "stated must be a list of texts"),
            ({"grade": "sampled"}, "gamma must be given with the grade sampled"),
            ({"gamma": 0.1}, "gamma must be None with the grade declared"),
            ({"extra": 1}, "known fields only, got 'extra'"),
            ({"composed_of": 3}, "composed_of must be a list"),
        ],
    )
    def test_bad_fields_get_one_line(self, change, message):
        with pytest.raises(InputError, match=message) as caught:
            Guarantee.from_dict(claim().to_dict() | change)
        assert "\n" not in str(caught.value)

    def test_missing_and_broken(self):
        with pytest.raises(InputError, match="must have the field 'relation'"):
            Guarantee.from_dict({"epsilon": 1.0, "delta": 0.0})
        with pytest.raises(InputError, match="guarantee must be JSON"):
            Guarantee.from_json("{")
        with pytest.raises(InputError, match="must be a JSON object"):
            Guarantee.from_json("[1]")


class TestSensitivity:
    def test_one_norm_bounds_another(self):
        assert Sensitivity(l1=2.0).l2_bound == 2.0
        assert Sensitivity(l1=2.0, l2=1.5).l2_bound == 1.5
        assert Sensitivity(linf=1.0).range_bound == 2.0
        assert Sensitivity(l1=1.0, l2=1.0).range_bound == 1.0
        assert Sensitivity(l2=1.0).range_bound == pytest.approx(2**0.5)

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({}, "must have l1, l2 or linf"),
            ({"l1": 0}, "sensitivity l1 must be > 0 and finite, got 0.0"),
            ({"l2": float("nan")}, "sensitivity l2 must be > 0 and finite, got nan"),
            ({"l1": 1.0, "l2": 1.1}, "l2 must be <= l1 = 1.0, got 1.1"),
            ({"l1": 1.0, "linf": 1.1}, "linf must be <= l1 = 1.0, got 1.1"),
            ({"l1": 1j}, "must be a real number, got complex"),
            ({"l1": 1.0, "source": ""}, "source must be a non-empty text"),
        ],
    )
    def test_bad_fields_get_one_line(self, fields, message):
        with pytest.raises(InputError, match=message):
            Sensitivity(**fields)
