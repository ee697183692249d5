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
    chunk = {3: {1: 5, 5: values, 6: 8 * values}}  # parquet.thrift: DOUBLE, values, bytes
    monkeypatch.setattr(parquet_file, "_footer", lambda _path: {4: [{1: [chunk] * number}]})
    assert parquet_file._batch_rows(Path("table.parquet")) > 1
    larger = {3: {1: 5, 5: 2 * values, 6: 16 * values}}
    monkeypatch.setattr(parquet_file, "_footer", lambda _path: {4: [{1: [larger] * number}]})
    with pytest.raises(InputError, match="--read-limit"):
        parquet_file._batch_rows(Path("table.parquet"))
