"""The study of fine-tuning: an encoder and a head on the same texts, with paired intervals."""

import dataclasses

import numpy as np
import pytest

from reticent.data import Dataset
from reticent.studies import fine_tuning
from reticent.studies.tasks import Task
from reticent.studies.trained import Cells, Run
from reticent.training.networks import token_encoder
from tests.training.fine_tuning.tiny_bert import write_tiny_bert


@pytest.mark.slow
def test_head_and_encoder_stand_side_by_side(tmp_path, monkeypatch):
    spec = fine_tuning.FineTuning(
        on="questions", records=60, architecture=f"{write_tiny_bert(tmp_path / 'bert')}#head",
        length=8, epsilons=(8.0,), delta=1e-4, draws=2, head_draws=2, batch=20, epochs=1.0,
        exact=False,
    )  # fmt: skip
    texts = np.array(["who was the king", "where is the city"] * 30)
    tokens = token_encoder(spec.architecture, 8).encode(texts)
    one = Dataset(
        name="questions", source="a test", inputs=tokens, labels=np.array([0, 1] * 30),
        classes=("person", "place"), public_classes=True,
    )  # fmt: skip
    truth = np.array(["person", "place"] * 30)
    frozen = Task(private=one, queries=tokens.astype(np.float64), truth=truth)
    data = fine_tuning._Texts(one, tokens.astype(np.float64), frozen)
    monkeypatch.setattr(fine_tuning, "_data", lambda *_: data)
    table = fine_tuning.study(spec, Run(cells=Cells(tmp_path / "cells.json"))).tables[0]
    assert [row[:3] for row in table.rows] == [
        ("no privacy", "noisy-gradient", "–"),
        ("no privacy", spec.architecture, "–"),
        ("proven", "noisy-gradient", "8"),
        ("declared", spec.architecture, "8"),
    ]
    assert [row[6] == "–" for row in table.rows] == [True, False, True, False]
    again = fine_tuning.study(spec, Run(cells=Cells(tmp_path / "cells.json"))).tables[0]
    assert again == table  # fresh noise would differ: every cell was kept


def test_gains_are_paired_by_query():
    """The same queries are hit in every draw but one in ten: no spread but of those."""
    ours = np.tile(np.arange(400) % 2 == 0, (3, 1))
    theirs = ours & (np.arange(400) % 20 != 0)
    value, low, high = map(float, fine_tuning.paired_interval(ours, theirs))
    assert value == 0.05
    assert 0.02 < low < value < high < 0.08
    alone = [float(one) for one in fine_tuning.paired_interval(ours, None)]
    assert alone[0] == 0.5
    assert alone[2] - alone[1] > high - low


def test_constants_are_those_of_the_literature():
    spec = fine_tuning.SPECS["trec"]
    assert (spec.records, spec.delta, spec.clip) == (5_452, 1e-5, 0.1)
    options = spec.fine_tuned(1.0).options
    steps = spec.epochs * spec.records / spec.batch
    assert options["learning_rate"] * steps == pytest.approx(4e-4 * 673.49)
    assert dataclasses.asdict(spec)["draws"] >= 3
