"""The study of attribute inference: one row an encoder, members beside others."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from reticent import strict_json
from reticent.data import load
from reticent.results.table import Cell, Limits, Table
from reticent.studies import attribute_inference
from reticent.studies.attacked_encoders import PRIVACIES, SPECS, trained_encoder
from reticent.studies.index import entry
from reticent.studies.index.dpcl import attributes
from reticent.studies.trained import Run
from reticent.training.encoders.base import FunctionEncoder


def test_rows_have_members_others_and_the_gap(monkeypatch):
    asked = []

    def trained(spec, data, privacy, seed):
        asked.append((privacy, seed, len(data)))
        return FunctionEncoder(lambda images: np.reshape(images, (len(images), -1)))

    monkeypatch.setattr(attribute_inference.attacked_encoders, "trained_encoder", trained)
    table = attribute_inference.study(attribute_inference.SPECS["digits"], Run()).tables[0]
    assert asked == [(privacy, seed, 300) for seed in range(5) for privacy in PRIVACIES]
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["privacy"] for row in rows] == list(PRIVACIES)
    for row in rows:
        members, others, gap, common = (
            float(row[name].split()[0]) for name in ("members", "others", "gap", "most common")
        )
        assert gap == pytest.approx(members - others, abs=2e-3)
        assert others > common + 0.5


def verdict(*gaps):
    """Of a document with these gaps, as the index reads it."""
    table = Table(
        title="",
        columns=("privacy", "gap"),
        rows=tuple(
            (
                privacy,
                Cell(f"{middle:.3f} ± {half:.3f}", Limits(middle, middle - half, middle + half)),
            )
            for privacy, (middle, half) in zip(PRIVACIES, gaps, strict=True)
        ),
    )
    return attributes.take({"tables": [table.to_dict()]})


def test_the_row_of_the_index_follows_from_the_gap_of_the_proven_encoder():
    assert verdict((0.3, 0.01), (0.2, 0.01), (-0.01, 0.011)).holds
    assert not verdict((0.0, 0.01), (0.0, 0.01), (0.03, 0.02)).holds
    assert not verdict((0.0, 0.01), (0.0, 0.01), (-0.03, 0.02)).holds


def test_the_committed_table_has_one_recipe_before_and_after():
    """Same recipe, seeds and steps; what is printed is told from what stands in the file."""
    document = strict_json.read(Path("results/attribute-inference-digits.json"))
    rows = entry.rows_of(document)
    assert [row["privacy"] for row in rows] == list(PRIVACIES)
    assert {row["encoder"].split(",")[0] for row in rows} == {"spectral"}
    assert {row["seeds"] for row in rows} == {"5"}
    gaps = [[float(part) for part in row["gap"].split(" ± ")] for row in rows]
    assert attributes.take(document).holds == (abs(gaps[-1][0]) <= gaps[-1][1])
    for row, (middle, _) in zip(rows, gaps, strict=True):
        members, others = (float(row[name].split(" ± ")[0]) for name in ("members", "others"))
        assert middle == pytest.approx(members - others, abs=2e-3)


@pytest.mark.slow
def test_with_and_without_noise_the_recipe_is_the_same_and_the_first_weights_saw_nothing():
    spec = dataclasses.replace(SPECS["digits"], steps=2)
    images = load("digits").take(np.arange(300))
    features = {
        privacy: trained_encoder(spec, images, privacy, 0).encode(images.images[:20])
        for privacy in PRIVACIES
    }
    again = trained_encoder(spec, images.take(np.arange(150, 300)), "untrained", 0)
    assert np.array_equal(features["untrained"], again.encode(images.images[:20]))
    moved = {
        privacy: float(np.linalg.norm(features[privacy] - features["untrained"]))
        for privacy in ("none", "proven")
    }
    assert 0 < moved["none"]
    assert 0 < moved["proven"] != moved["none"]  # by noise, as likely back as on
