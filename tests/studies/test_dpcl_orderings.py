"""Orderings from a printed table: never more than the paired differences would have told."""

import json
from pathlib import Path

import numpy as np
import pytest

from reticent.audit.metrics import over_repeats
from reticent.results.table import Cell, Table, limits_of
from reticent.studies.dpcl_figures import METRICS, _shown
from reticent.studies.dpcl_orderings import NOTE, ORDERINGS, with_orderings

RESULTS = Path(__file__).parents[2] / "results"
_OWN = ("none ends above proven", "proven ends above published")
SENTENCES = Table(
    title="sentences",
    columns=("figure", "loss", "sentence", "metric", "difference", "verdict"),
    rows=(("Fig. 2", "SimCLR", "published raises the accuracy", "kNN", "0.1", "holds"),),
    notes=("as before",),
)


def along(ends, places=3):
    """A table whose last rows are these ends: by way the figures of all seeds."""
    rows = []
    for way, values in ends.items():
        rows.append(("SimCLR", way, Cell("0", 0), *(Cell("0.111", 0.111),) * 4))
        rows.append(("SimCLR", way, Cell("20", 20), *(_shown(values, places),) * 4))
        rows.append(("SimCLR", way, Cell("3", 3), *(Cell("0.999", 0.999),) * 4))
    return Table(title="", columns=("loss", "way", "step", *METRICS), rows=tuple(rows))


def limits(row):
    _, low, high = limits_of(row[4])
    return low, high


def table(document, number):
    return Table.from_dict(document["tables"][number])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("shared", [-1.0, 0.0, 0.9, 1.0])
def test_limits_hold_the_paired_interval_whatever_seeds_share(seed, shared):
    rng = np.random.default_rng(seed)
    common, own = rng.normal(0, 0.03, (2, 3))
    first = 0.8 + common
    second = 0.75 + shared * common + np.sqrt(1 - shared**2) * own
    made = with_orderings(SENTENCES, along({"none": first, "proven": second}), 100)
    paired = over_repeats(first - second)
    for row in made.rows[1:]:
        low, high = limits(row)
        assert low <= paired.low + 5e-4  # its own three digits
        assert high >= paired.high - 5e-4
        if row[-1] == "holds":
            assert paired.low > 0
        if row[-1] == "does not hold":
            assert paired.high < 0


def test_a_clear_order_is_told_and_its_contrary_is_not():
    ends = {
        "none": (0.9, 0.91, 0.92),
        "proven": (0.5, 0.51, 0.52),
        "published": (0.7, 0.71, 0.72),
    }
    made = with_orderings(SENTENCES, along(ends), 100)
    told = {(row[2], row[3]): row[-1] for row in made.rows[1:]}
    assert told == {
        ("none ends above proven", "kNN"): "holds",
        ("none ends above proven", "probe"): "holds",
        ("proven ends above published", "kNN"): "does not hold",
        ("proven ends above published", "probe"): "does not hold",
    }
    assert made.notes == ("as before", NOTE)


def test_one_training_is_told_by_how_many_queries_there_were():
    """A difference of .05: of 100 queries nothing, of 100,000 an order."""
    ends = along({"none": (0.80,), "proven": (0.75,)})
    few, many = (
        {row[-1] for row in with_orderings(SENTENCES, ends, queries).rows[1:]}
        for queries in (100, 100_000)
    )
    assert (few, many) == ({"cannot be told"}, {"holds"})


def test_without_the_ways_nothing_is_said():
    assert with_orderings(SENTENCES, along({"none": (0.8,), "naive": (0.7,)}), 100) == SENTENCES


@pytest.mark.parametrize("name", ["dpcl-mnist", "dpcl-cifar10"])
def test_committed_sentences_are_those_of_the_committed_table(name):
    """What a rerun would print of the same figures: the study calls the same function."""
    document = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    queries = document["specifications"][0]["queries"]
    sentences = table(document, 1)
    bare = Table(
        title=sentences.title,
        columns=sentences.columns,
        rows=tuple(row for row in sentences.rows if row[2] not in _OWN),
        notes=tuple(note for note in sentences.notes if note != NOTE),
    )
    assert len(sentences.rows) == len(bare.rows) + 2 * 2 * len(ORDERINGS)
    assert with_orderings(bare, table(document, 0), queries) == sentences
    assert with_orderings(sentences, table(document, 0), queries) == sentences
