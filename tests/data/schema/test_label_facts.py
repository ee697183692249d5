"""Public facts about labels: read, stated, sealed; a schema without any is as it was."""

import dataclasses
import tomllib

import pytest

from reticent.data import Schema
from reticent.data.schema.label_facts import LabelFacts
from reticent.data.schema.schema import example_path
from reticent.validation import InputError

ADULT = tomllib.loads(example_path("adult").read_text(encoding="utf-8"))


def with_labels(**labels):
    return Schema.from_dict(ADULT | {"labels": labels})


def test_what_is_said_of_labels_is_stated_with_its_source():
    found = with_labels(rarest_share=0.24, clusters=True, source="the census")
    assert found.label_facts == LabelFacts(rarest_share=0.24, clusters=True, source="the census")
    assert any(
        "share of about 0.24" in line and "clusters" in line and line.endswith("by the census")
        for line in found.stated
    )
    assert Schema.from_dict(found.to_dict()) == found
    assert found.sha256 != Schema.example("adult").sha256
    assert found.inferred == ()


def test_the_usual_source_stands_where_none_is_named():
    assert with_labels(clusters=True).label_facts.source == ADULT["source"]


def test_a_share_of_the_private_table_is_inferred():
    (fact,) = with_labels(rarest_share=0.24, source="private table").inferred
    assert "share of about 0.24" in fact


def test_a_schema_that_says_nothing_of_labels_is_written_as_before():
    plain = Schema.example("adult")
    assert "labels" not in plain.to_dict()
    assert not plain.label_facts.is_stated
    assert dataclasses.replace(plain, label_facts=LabelFacts()).sha256 == plain.sha256


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"rarest_share": 0.6}, "rarest_share must be <= 0.5"),
        ({"rarest_share": 0}, "rarest_share must be"),
        ({"rarest_share": float("nan")}, "rarest_share must be"),
        ({"rarest_share": "rare"}, "rarest_share must be"),
        ({"clusters": "yes"}, "clusters must be true or false"),
        ({"clusters": True, "source": " "}, "labels must say where it comes from"),
        ({"made": "by hand"}, "labels must have known fields only"),
    ],
)
def test_a_wrong_fact_is_one_line(labels, message):
    with pytest.raises(InputError) as refused:
        with_labels(**labels)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_of_three_classes_none_is_rarest_with_two_fifths():
    income = ADULT["columns"]["income"] | {"classes": ["a", "b", "c"], "spellings": {}}
    columns = ADULT["columns"] | {"income": income}
    with pytest.raises(InputError, match="rarest_share must be <= 1/3"):
        Schema.from_dict(ADULT | {"columns": columns, "labels": {"rarest_share": 0.4}})
