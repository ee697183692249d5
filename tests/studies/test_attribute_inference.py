"""The study of attribute inference: one row an encoder, members beside others."""

import numpy as np
import pytest

from reticent.studies import attribute_inference
from reticent.studies.trained import Run
from reticent.training.encoders.base import FunctionEncoder


def test_rows_have_members_others_and_the_gap(monkeypatch):
    asked = []

    def trained(spec, data, privacy, seed):
        asked.append((privacy, seed, len(data)))
        return FunctionEncoder(lambda images: np.reshape(images, (len(images), -1)))

    monkeypatch.setattr(attribute_inference.attacked_encoders, "trained_encoder", trained)
    table = attribute_inference.study(attribute_inference.SPECS["digits"], Run()).tables[0]
    assert asked == [(privacy, seed, 300) for seed in range(5) for privacy in ("none", "proven")]
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["privacy"] for row in rows] == ["none", "proven"]
    for row in rows:
        members, others, gap, common = (
            float(row[name].split()[0]) for name in ("members", "others", "gap", "most common")
        )
        assert gap == pytest.approx(members - others, abs=2e-3)
        assert others > common + 0.5
