"""Parquet files are read part by part: the same cells, the same messages, and little memory."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from reticent.data import parquet_file, read_table
from reticent.data.columns import open_columns
from reticent.read_limit import VARIABLE
from reticent.validation import InputError

RECORDS = 23
LISTS = np.arange(RECORDS * 6, dtype=np.float64).reshape(RECORDS, 6)


@pytest.fixture(autouse=True)
def three_rows_at_a_time(monkeypatch):
    monkeypatch.setattr(parquet_file, "_ROWS", 3)


def written(folder, columns, **how):
    path = folder / "table.parquet"
    parquet.write_table(pa.table(columns), path, **how)
    return path


@pytest.mark.parametrize("group", [1, 5, 100])
@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.int16(), pa.bool_(), pa.string()])
def test_a_column_is_what_was_written(tmp_path, group, kind):
    values = [place % 2 for place in range(RECORDS)]
    cells = pa.array([str(one) for one in values] if kind == pa.string() else values)
    path = written(tmp_path, {"x": cells.cast(kind)}, row_group_size=group)
    found = open_columns(path).read("x")
    wanted = np.uint8 if kind == pa.bool_() else kind.to_pandas_dtype()
    assert found.dtype.kind == ("U" if kind == pa.string() else np.dtype(wanted).kind)
    assert found.astype(np.int64).tolist() == values


@pytest.mark.parametrize("group", [1, 5, 100])
@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float64()), pa.list_(pa.float64(), 6), pa.large_list(pa.float32())]
)
def test_lists_are_the_rows_of_one_array(tmp_path, group, kind):
    path = written(tmp_path, {"h": pa.array(LISTS.tolist(), kind)}, row_group_size=group)
    assert open_columns(path).read("h").tolist() == LISTS.tolist()


def test_lists_of_lists_are_flat(tmp_path):
    path = written(tmp_path, {"h": LISTS.reshape(RECORDS, 2, 3).tolist()})
    assert open_columns(path).read("h").tolist() == LISTS.tolist()


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ([1.0] * 5, "lists of one length in column 'h', got 6 numbers first and 5 in row 17 "),
        ([1.0] * 5 + [None], "no gaps, got one in row 17 .*, column 'h'"),
        (None, "no gaps, got one in row 17 .*, column 'h'"),
    ],
)
def test_a_wrong_list_is_named_by_its_row_in_the_file(tmp_path, cell, message):
    cells = LISTS.tolist()
    cells[17] = cell
    with pytest.raises(InputError, match=message):
        open_columns(written(tmp_path, {"h": cells})).read("h")


def test_lists_of_lists_of_another_length_in_a_later_part(tmp_path):
    cells = LISTS.reshape(RECORDS, 2, 3).tolist()
    cells[18:] = [[[1.0], [1.0]]] * (RECORDS - 18)
    with pytest.raises(InputError, match="column 'h', got 6 numbers first and 2 in row 18 "):
        open_columns(written(tmp_path, {"h": cells})).read("h")


def test_a_gap_among_numbers_is_named_by_its_row_in_the_file(tmp_path):
    numbers = [0.5] * RECORDS
    numbers[19] = None
    with pytest.raises(InputError, match=r"no gaps, got one in row 19 .*, column 'x'"):
        open_columns(written(tmp_path, {"x": numbers})).read("x")


def test_names_with_dots_are_columns_of_their_own(tmp_path):
    columns = {"a": [[1.0]] * 4, "a.list.element": [2.0] * 4, "a.list": [3.0] * 4}
    table = open_columns(written(tmp_path, columns))
    assert table.read("a").tolist() == [[1.0]] * 4
    assert table.read("a.list.element").tolist() == [2.0] * 4
    assert table.read("a.list").tolist() == [3.0] * 4


def test_dictionaries_of_parts_may_differ(tmp_path):
    words = pa.array([f"w{place // 2}" for place in range(RECORDS)]).dictionary_encode()
    path = written(tmp_path, {"x": np.arange(RECORDS), "y": words}, row_group_size=5)
    data = read_table(path, label="y")
    assert [data.classes[label] for label in data.labels] == words.to_pylist()


def test_columns_that_were_read_count_together(tmp_path, monkeypatch):
    """The footer may say less than the pages hold: what was read is counted, column by column."""
    columns = {f"c{place}": np.zeros(4_000) for place in range(8)}
    path = written(tmp_path, columns)
    monkeypatch.setattr(parquet_file._Chunks, "refuse_large", lambda *_: None)
    monkeypatch.setenv(VARIABLE, "180K")
    table = open_columns(path)
    for place in range(4):  # 32 KiB each, and that of the last one twice
        table.read(f"c{place}")
    table.read("c0")  # again: it counts once
    with pytest.raises(InputError, match="must take at most"):
        table.read("c4")


def test_a_footer_that_counts_other_records(tmp_path, monkeypatch):
    path = written(tmp_path, {"x": np.zeros(RECORDS)})
    for told in (RECORDS - 1, RECORDS + 1):
        table = parquet_file.ParquetColumns(path)
        monkeypatch.setattr(table, "_chunks", table._chunks._replace(records=told))
        with pytest.raises(InputError, match="must be a whole Parquet file"):
            list(table.parts("x"))


PEAK = """
import sys
import pyarrow.parquet
from reticent.data import read_table
from tests.peak_memory import peak_bytes
read_table(sys.argv[1], label="y", classes=["0", "1"], embedding=sys.argv[3] or None)
before = peak_bytes()
data = read_table(sys.argv[2], label="y", classes=["0", "1"], embedding=sys.argv[3] or None)
print((peak_bytes() - before) / data.features.nbytes)
"""


@pytest.mark.parametrize("embedding", ["", "h"])
def test_the_peak_is_about_the_size_of_the_array(tmp_path, embedding):
    """Of a column for each feature, or of one of lists; read whole it took three times as much."""
    values = np.random.default_rng(0).random((150_000, 128))
    paths = []
    for name, part in (("small", values[:1_000]), ("large", values)):
        lists = pa.FixedSizeListArray.from_arrays(pa.array(part.ravel()), 128)
        own = {"h": lists} if embedding else {f"c{i}": part[:, i] for i in range(128)}
        (tmp_path / name).mkdir()
        paths.append(written(tmp_path / name, {"y": np.arange(len(part)) % 2, **own}))
    told = [sys.executable, "-c", PEAK, *map(str, paths), embedding]
    done = subprocess.run(told, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 1.6
