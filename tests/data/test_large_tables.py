"""The usual limit on reading allows a table of 200,000 × 512 numbers in binary files."""

from pathlib import Path

import numpy as np
import pytest

from reticent.data import archive, parquet_file
from reticent.read_limit import DEFAULT, VARIABLE, size_of
from reticent.validation import InputError

RECORDS, FEATURES = 200_000, 512


@pytest.fixture(autouse=True)
def usual_limit(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


def test_in_npz():
    rows = archive._Header(shape=(RECORDS, FEATURES), kind=np.dtype(np.float64), length=128)
    labels = archive._Header(shape=(RECORDS,), kind=np.dtype(np.int64), length=128)
    assert 8 * RECORDS * FEATURES <= rows.needed
    assert rows.needed + labels.needed <= size_of(DEFAULT)


@pytest.mark.parametrize("columns", [(FEATURES, RECORDS), (1, FEATURES * RECORDS)])
def test_in_parquet(monkeypatch, columns):
    """A column for each feature, or one column of lists."""
    number, values = columns
    for times, fits in ((1, True), (3, False)):
        # parquet.thrift: of a column's part DOUBLE, values, bytes; records of a group and of all
        chunk = {3: {1: 5, 5: times * values, 6: 8 * times * values}}
        footer = {3: times * RECORDS, 4: [{1: [chunk] * number, 3: times * RECORDS}]}
        monkeypatch.setattr(parquet_file, "_footer", lambda _path, footer=footer: footer)
        declared = parquet_file._Chunks.of(Path("table.parquet"))
        assert declared.rows > 1
        if fits:
            declared.refuse_large(Path("table.parquet"))
        else:
            with pytest.raises(InputError, match="--read-limit"):
                declared.refuse_large(Path("table.parquet"))
