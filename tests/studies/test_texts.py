"""Texts end to end: real sentences through MiniLM, members drawn anew by each seed."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from reticent.studies import texts
from reticent.studies.trained import Cells, Run

WORDS = ("red", "old", "tall", "green", "small", "quiet", "cold", "fast", "blue", "warm")
SMALL = replace(
    texts.SPECS["sst2"],
    sizes={"private": 60, "others": 40, "own": 30},
    epsilons=(2.0,),
    shadows=10,
    draws=2,
    seeds=2,
)


@pytest.fixture
def folder(tmp_path):
    """A file in SST-2's layout: what a sentence praises or blames is its label."""
    (tmp_path / "text").mkdir()
    rows = [
        ("train", str(good), f"the {one} {two} film is {'a joy' if good else 'dull and bad'}")
        for one in WORDS
        for two in WORDS
        if one != two
        for good in (0, 1)
    ]
    with (tmp_path / "text" / "sst2.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("split", "label", "text"), *rows])
    return tmp_path


@pytest.mark.slow
def test_each_seed_draws_its_members_and_is_kept(folder, monkeypatch):
    monkeypatch.setenv("RETICENT_CACHE", str(folder / "cache"))
    run = Run(folder=folder, cells=Cells(folder / "cells.json"))
    (table,) = texts.study(SMALL, run).tables
    assert run.steps.done == run.steps.whole == 2
    assert [row[0] for row in table.rows] == ["10", "11"]
    assert table.rows[0][1:] != table.rows[1][1:]
    assert all(float(row[4]) > 0.9 for row in table.rows)  # joy from blame: a head finds it
    assert "60 private, 40 others, 30 own of 2 classes" in table.notes[2]
    assert "proven" in table.notes[2]
    kept = Run(folder=folder, cells=Cells(folder / "cells.json"))
    assert texts.study(SMALL, kept).tables == (table,)  # fresh noise would differ


def test_the_pool_is_the_same_for_every_seed_and_of_the_size_of_all_roles(folder):
    run = Run(folder=folder)
    one, other = texts.pool(SMALL, run), texts.pool(replace(SMALL, first_seed=50), run)
    assert len(one) == 130
    np.testing.assert_array_equal(one.inputs, other.inputs)
    assert len(set(one.inputs.tolist())) == 130


def test_parts_of_the_published_data_are_taken_as_one(folder):
    with (folder / "text" / "sst2.csv").open("a", newline="") as file:
        csv.writer(file).writerow(("dev", "1", "one more"))
    whole = replace(SMALL, parts=("train", "dev"), sizes={"private": 181})
    assert texts.pool(whole, Run(folder=folder)).inputs.tolist()[-1] == "one more"
