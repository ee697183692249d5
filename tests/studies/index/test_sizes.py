"""A row says what was run in the paper's place, and how little of it."""

from pathlib import Path

import pytest

from reticent.studies import index
from reticent.studies.index.sizes import run_on

ROOT = Path(__file__).parents[3]
FILES = index.committed(ROOT / "results")
STORED = index.stored()
ENOUGH = 5_000
PAPERS_OWN = ("location",)
"""Fewer records than that, and as many as in the paper: 1,200."""


def document(*specifications):
    return {"specifications": list(specifications)}


@pytest.mark.parametrize(
    ("specification", "said"),
    [
        ({"on": "digits", "members": 400}, "400 of the 1,797 digits that come with a package"),
        ({"data": {"on": "shoppers20", "members": 2000}}, "2,000 other shoppers, of 9,097 in all"),
        ({"on": "hospital100", "records": 10000}, "10,000 New York hospital stays"),
        ({"encoders": {"on": "digits", "members": 300}}, "300 of the 1,797 digits that come with"),
        ({"on": "trec", "sizes": {"private": 3000}}, "3,000 questions of TREC, of 5,952 in all"),
        (
            {"on": "mnist", "records": 50000, "training": {"shape": "14x14x1", "steps": 2000}},
            "50,000 images of 14x14x1, 2,000 steps",
        ),
        ({"on": "cifar10", "members": 10000}, ""),
        ({"penalty": 1}, ""),
    ],
)
def test_what_is_said_of_a_specification(specification, said):
    assert run_on([document(specification)]).startswith(said)
    assert bool(run_on([document(specification)])) == bool(said)


def test_of_several_data_sets_the_one_that_is_asked_for():
    several = document({"data": [{"on": "digits", "members": 400}, {"on": "adult", "members": 9}]})
    assert run_on([several], "adult") == ""
    assert run_on([several]).endswith("a package, among other data")
    assert run_on([several], "digits").endswith("a package")
    assert run_on([None, document({"on": "digits", "members": 400}), several]).count("400") == 1


def small_or_elsewhere(name):
    """Sizes of the file below what is enough, and whether its data are a stand-in."""
    for spec in FILES(name)["specifications"]:
        data = spec.get("data") or spec.get("encoders") or spec
        for part in data if isinstance(data, list) else [data]:
            size = part.get("members") or part.get("records") or ENOUGH
            stands_in = part.get("on", "").startswith(("shoppers", "hospital", "mnist5k"))
            if (size < ENOUGH or stands_in) and part.get("on") not in PAPERS_OWN:
                yield f"{size:,}"


def test_no_row_hides_a_stand_in_or_a_small_size():
    """Each row that was read from such a file has the size in its name."""
    read = [row for row in STORED if row.file.endswith(".json") and not row.file.startswith("..")]
    hidden = []
    for row in read:
        if row.verdict in ("not yet run", "cannot be: data missing"):
            continue
        sizes = set(small_or_elsewhere(row.file.removesuffix(".json")))
        one = row.item.startswith(("Table 5, Location", "Table 5, US Adult", "Fig. 3", "Fig. 11"))
        if sizes and not one and not any(size in row.item for size in sizes):
            hidden.append(row.item)
    assert read
    assert hidden == []
