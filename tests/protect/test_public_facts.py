"""A schema beside a release: what follows from it, what is stated, what ``verify`` finds."""

import dataclasses
import hashlib
import json

import numpy as np
import pytest

from reticent.data import Schema, read_by_schema
from reticent.data.schema.schema import digest_of
from reticent.guarantee import Grade
from reticent.protect import ReleaseRequest, load, release_table, save, verify
from reticent.protect.sealed_pair import read_pair, write_pair
from reticent.validation import InputError

FACTS = {
    "records": 60,
    "source": "a codebook",
    "columns": {
        "age": {"type": "number", "range": [0, 100]},
        "city": {"type": "category", "values": ["a", "b"], "other": True},
        "ill": {"role": "label", "classes": ["no", "yes"]},
    },
}
RNG = np.random.default_rng(5)
ROWS = [f"{age},{'abc'[age % 3]},{'yes' if age > 50 else 'no'}" for age in RNG.integers(0, 100, 60)]


def table(folder, facts=FACTS, rows=ROWS):
    (folder / "table.csv").write_text("\n".join(["age,city,ill", *rows]) + "\n")
    return read_by_schema(folder / "table.csv", Schema.from_dict(facts))


def released(folder, facts=FACTS, *, recipe="class-means", relation="add-remove", **options):
    data = table(folder, facts)
    request = ReleaseRequest.of(
        epsilon=1.0, delta=1e-5, relation=relation, records=60, recipe=recipe, **options
    )
    return release_table(data, request)


def marked(**sources):
    """The facts with some of them taken from the private table."""
    columns = {
        name: column | ({"source": sources[name]} if name in sources else {})
        for name, column in FACTS["columns"].items()
    }
    more = {"sources": {"records": sources["records"]}} if "records" in sources else {}
    return FACTS | {"columns": columns} | more


def test_numbers_that_follow_are_marked_so_and_all_sources_are_stated(tmp_path):
    release = released(tmp_path, recipe="weights", bound=Schema.from_dict(FACTS).bound)
    assert release.guarantee.grade is Grade.PROVEN
    sources = {name: str(source) for name, source in release.terms.sources.items()}
    assert sources["records"] == sources["classes"] == sources["bound"] == "schema"
    assert sources["schema"] == "said"
    assert sources["penalty"] == "said"
    assert any("by a codebook" in line for line in release.guarantee.stated)


def test_another_bound_is_said_and_allowed(tmp_path):
    release = released(tmp_path, recipe="weights", bound=0.5)
    assert str(release.terms.sources["bound"]) == "said"
    assert release.guarantee.grade is Grade.PROVEN


@pytest.mark.parametrize("fact", ["age", "city", "ill", "records"])
def test_a_fact_of_the_private_table_makes_it_declared(tmp_path, fact):
    release = released(tmp_path, marked(**{fact: "the private table"}))
    assert release.guarantee.grade is Grade.DECLARED
    assert "schema" in release.terms.inferred
    assert "schema: read from the private data, not declared" in release.guarantee.stated
    if fact in ("records", "ill"):
        named = "classes" if fact == "ill" else fact
        assert named in release.terms.inferred
    save(release, tmp_path / "released")
    assert verify(tmp_path / "released").holds


def test_a_file_keeps_the_schema_and_prepares_raw_queries(tmp_path):
    release = released(tmp_path)
    save(release, tmp_path / "released")
    assert verify(tmp_path / "released").holds
    found = load(tmp_path / "released")
    assert found.schema == release.schema
    (tmp_path / "queries.csv").write_text("city,age\nb,99\nnowhere,3\n")
    queries = read_by_schema(tmp_path / "queries.csv", found.schema, purpose="queries")
    assert found.predict(queries.features).shape == (2,)


def forged(folder, change):
    """What ``verify`` says after a change of the certificate, sealed anew as its forger can."""
    save(released(folder, marked(age="private table")), folder / "released")
    pair = read_pair(folder / "released")
    claims = json.loads(json.dumps(pair.claims))
    change(claims)
    write_pair(folder / "released", claims, dict(pair.tensors))
    return " ".join(verify(folder / "released").problems)


def rehashed(claims):
    claims["schema"]["sha256"] = digest_of(claims["schema"]["facts"])


def as_public(claims):
    """The private fact is called public, and the rest is left."""
    claims["schema"]["facts"]["columns"][0]["source"] = "a codebook"
    rehashed(claims)


def wider(claims):
    claims["schema"]["facts"]["columns"][0]["range"] = [0.0, 1e9]
    rehashed(claims)


def another_class(claims):
    claims["schema"]["facts"]["columns"][2]["classes"] = ["no", "maybe"]
    rehashed(claims)


def one_feature_more(claims):
    claims["schema"]["facts"]["columns"][1]["values"].append("c")
    rehashed(claims)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda claims: claims.pop("schema"), "the schema is missing"),
        (as_public, "the sources are not those of the schema"),
        (wider, "the lines under stated lack"),
        (another_class, "the classes are not those of the schema"),
        (one_feature_more, "the schema makes 5 features, and the recipe has 4"),
        (lambda claims: claims["guarantee"].update(grade="proven"), "the grade cannot be proven"),
        (lambda claims: claims["terms"]["sources"].update(schema="said"), "sources are not those"),
        (lambda claims: claims["guarantee"]["stated"].pop(), "the lines under stated lack"),
    ],
)
def test_a_forged_schema_is_found(tmp_path, change, says):
    assert says in forged(tmp_path, change)


def test_facts_with_another_hash_are_refused(tmp_path):
    with pytest.raises(InputError, match="schema must have the hash of its facts"):
        forged(
            tmp_path, lambda claims: claims["schema"].update(sha256=hashlib.sha256().hexdigest())
        )


def test_records_that_do_not_count_need_add_remove(tmp_path):
    leaving = FACTS | {"invalid": "leave-out"}
    assert released(tmp_path, leaving).guarantee.grade is Grade.PROVEN
    with pytest.raises(InputError, match="neighbours must be add-remove"):
        released(tmp_path, leaving, relation="replace-one")
    assert released(tmp_path, relation="replace-one").guarantee.grade is Grade.PROVEN


def test_other_rows_than_those_of_the_schema_are_refused_before_a_charge(tmp_path):
    data = table(tmp_path)
    wider_rows = dataclasses.replace(data, inputs=np.zeros((60, 7)), columns=())
    request = ReleaseRequest.of(
        epsilon=1.0, delta=1e-5, relation="add-remove", records=60, recipe="class-means"
    )
    charged = []
    with pytest.raises(InputError, match="the schema makes 4 features"):
        release_table(wider_rows, request, charge=charged.append)
    assert not charged
