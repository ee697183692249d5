"""The study of adapters that start from a head: rows, and whose records chose the constants."""

import dataclasses

import numpy as np
import pytest

from reticent.data import Dataset
from reticent.studies import warm_start
from reticent.studies.trained import Cells, Run
from tests.training.fine_tuning.tiny_bert import write_tiny_bert


@pytest.fixture
def spec(tmp_path):
    folder = write_tiny_bert(tmp_path / "bert", layers=2)
    return warm_start.WarmStart(
        on="questions", records=40, queries="test", skipped=20, length=8, epsilons=(8.0,),
        architecture=f"{folder}#lora-last", delta=1e-4, draws=2, head_draws=2, epochs=1.0,
        exact=False,
    )  # fmt: skip


def questions(places):
    texts = np.array(["who was the king", "where is the city"])
    return Dataset(
        name="questions", source="a test", inputs=texts[places % 2],
        labels=places % 2, classes=("person", "place"),
        public_classes=True,
    )  # fmt: skip


@pytest.mark.slow
def test_head_its_share_and_adapters_stand_side_by_side(spec, tmp_path, monkeypatch):
    sizes = {"questions-train": 60, "questions-test": 10}
    monkeypatch.setattr(warm_start, "load", lambda name, folder: questions(np.arange(sizes[name])))
    cells = tmp_path / "cells.json"
    table = warm_start.study(spec, Run(cells=Cells(cells))).tables[0]
    assert [row[:2] for row in table.rows] == [
        ("no privacy", warm_start.HEAD), ("no privacy", warm_start.WARM),
        ("proven", warm_start.HEAD), ("proven", warm_start.SHARE), ("declared", warm_start.WARM),
    ]  # fmt: skip
    assert [row[6] == "–" for row in table.rows] == [True, False, True, False, False]
    assert warm_start.study(spec, Run(cells=Cells(cells))).tables[0] == table


def test_private_records_are_none_of_those_that_the_constants_were_chosen_on(spec, monkeypatch):
    """Of SST-2, the first 6,000 of a public order were looked at."""
    taken = []

    class _StopError(Exception):
        pass

    class _Train:
        def __len__(self):
            return 67_349

        def take(self, places):
            taken.append(places)
            raise _StopError

    monkeypatch.setattr(warm_start, "load", lambda name, folder: _Train())
    one = warm_start.SPECS["sst2"]
    with pytest.raises(_StopError):
        warm_start._data(dataclasses.replace(one, architecture=spec.architecture), Run())
    looked_at = np.random.default_rng(0).permutation(67_349)[: warm_start.TUNED]
    assert len(taken[0]) == one.records == len(set(taken[0].tolist()))
    assert not set(taken[0].tolist()) & set(looked_at.tolist())


def test_the_share_is_of_the_squared_shift():
    one = warm_start.SPECS["trec"]
    assert one.share(3.0) < 3.0
    whole = dataclasses.replace(one, head_share=1.0)
    assert whole.share(3.0) == pytest.approx(3.0, rel=1e-6)
