"""What a release promises, and where each public number came from."""

import dataclasses
import json
import math
import pickle

import pytest

from reticent.guarantee import Relation
from reticent.protect.terms import Source, Terms, records_touched, unit_of
from reticent.validation import InputError

NUMBERS = {"epsilon": 1.5, "delta": 1e-6, "relation": "add-remove"}


def terms(**changes):
    return Terms(**(NUMBERS | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": math.nan}, "epsilon must be > 0"),
        ({"epsilon": 0.0}, "epsilon must be > 0"),
        ({"epsilon": math.inf}, "epsilon must be"),
        ({"epsilon": "1"}, "epsilon must be a real number"),
        ({"delta": math.nan}, "delta must be"),
        ({"delta": -1e-9}, "delta must be"),
        ({"delta": 1.0}, "delta must be"),
        ({"relation": "near"}, "relation must be one of"),
        ({"relation": None}, "relation must be one of"),
        ({"relation": Relation.AS_DECLARED}, "relation must be add-remove or replace-one"),
        ({"max_records_per_person": 0}, "max_records_per_person must be >= 1"),
        ({"max_records_per_person": True}, "max_records_per_person must be a whole number"),
        ({"max_records_per_person": math.nan}, "max_records_per_person must be a whole number"),
        ({"max_records_per_person": 2**53 + 1}, "max_records_per_person must be <= 2"),
        ({"sources": {"records": "guessed"}}, "source of records must be one of said, public data"),
        ({"sources": {"records": None}}, "source of records must be one of"),
    ],
)
def test_what_is_out_of_range_or_unknown_is_refused_in_one_line(changes, message):
    with pytest.raises(InputError, match=message) as caught:
        terms(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("missing", NUMBERS)
def test_epsilon_delta_and_relation_have_no_defaults(missing):
    with pytest.raises(TypeError, match=missing):
        Terms(**{name: value for name, value in NUMBERS.items() if name != missing})


def test_only_numbers_that_were_read_off_the_records_are_inferred():
    found = terms(sources={"records": "said", "bound": Source.INFERRED, "classes": "public data"})
    assert found.inferred == ("bound",)
    assert found.stated == ("bound: read from the private data, not declared",)
    assert terms().inferred == terms().stated == ()


def test_numbers_without_a_source_were_said():
    complete = terms(sources={"bound": "inferred"}).with_sources(("records", "bound"))
    assert complete.sources == {"records": Source.SAID, "bound": Source.INFERRED}
    assert complete.inferred == ("bound",)


@pytest.mark.parametrize("each", [None, 1, 4])
def test_who_is_protected(each):
    found = terms(max_records_per_person=each)
    assert found.unit == unit_of(each)
    assert found.records_touched == records_touched(each) == (each or 1)
    assert any("no person owns more than" in line for line in found.stated) == (each is not None)


@pytest.mark.parametrize("each", [None, 3])
def test_plain_values_and_pickles_give_the_same_terms_again(each):
    found = terms(max_records_per_person=each, sources={"records": "inferred", "bound": "said"})
    assert Terms.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"more": 1}, "terms must have"),
        ({"sources": ["records"]}, "sources must be a JSON object"),
        ({"epsilon": math.nan}, "epsilon must be > 0"),
    ],
)
def test_bad_plain_values_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        Terms.from_dict(terms().to_dict() | change)


def test_what_is_missing_or_no_object_is_refused():
    values = terms().to_dict()
    for wrong in (None, [], {name: values[name] for name in list(values)[1:]}):
        with pytest.raises(InputError, match="terms must have"):
            Terms.from_dict(wrong)


def test_terms_stay_as_they_are():
    given = {"records": "said"}
    found = terms(sources=given)
    given["records"] = "inferred"
    assert not found.inferred
    with pytest.raises(TypeError):
        found.sources["records"] = Source.INFERRED
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.epsilon = 9.0
    assert not hasattr(found, "__dict__")
