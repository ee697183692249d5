"""Frames of other libraries and folders that ``datasets`` saved, read as their files would be."""

import datetime
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import ipc

from reticent.data import Schema, read_by_schema, read_table
from reticent.data.frames import frame_table, read_saved_dataset
from reticent.validation import InputError

SAVED = Path(__file__).parent / "saved_dataset"
"""Written by ``datasets.Dataset.save_to_disk`` itself, two files of three records in all."""
SCHEMA = """
source = "a codebook"
[columns.age]
type = "number"
range = [0, 100]
gap = "indicator"
[columns.city]
type = "category"
values = ["Bern", "Chur"]
other = true
[columns.born]
type = "date"
span = [1920-01-01, 2020-12-31]
[columns.smoker]
type = "true-false"
[columns.ill]
role = "label"
classes = ["no", "yes"]
"""
COLUMNS = {
    "age": [41.0, None, 20.0],
    "city": ["Bern", "Genf", "Chur"],
    "born": [datetime.date(1979, 1, 2), datetime.date(2000, 2, 3), datetime.date(1999, 12, 31)],
    "smoker": [True, False, False],
    "ill": ["yes", "no", "no"],
}


class Stream:
    """A frame that gives an Arrow stream and nothing else, as polars does: texts are views."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Interchanged:
    """A frame that knows the interchange protocol and nothing else."""

    def __init__(self, frame):
        self._frame = frame

    def __dataframe__(self, **options):
        return self._frame.__dataframe__(**options)


def viewed(table):
    """With texts as polars has them, and a category."""
    city = table["city"].cast(pa.string_view())
    coded = table["ill"].combine_chunks().dictionary_encode()
    names = coded.dictionary.cast(pa.string_view())
    ill = pa.DictionaryArray.from_arrays(coded.indices.cast(pa.uint8()), names)
    table = table.set_column(table.column_names.index("city"), "city", city)
    return table.set_column(table.column_names.index("ill"), "ill", ill)


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "facts.toml"
    path.write_text(SCHEMA)
    return Schema.load(path)


@pytest.fixture(scope="module")
def expected(schema, tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "table.csv"
    pd.DataFrame(COLUMNS).to_csv(path, index=False)
    return read_by_schema(path, schema)


def frames():
    table = pa.table(COLUMNS)
    frame = pd.DataFrame(COLUMNS)
    shuffled = frame.loc[[2, 1, 0]]  # with an index that is no range
    return {
        "pyarrow": table,
        "pandas": frame,
        "pandas with an index": shuffled.loc[[0, 1, 2]],
        "a stream with views": Stream(viewed(table)),
    }


@pytest.mark.parametrize("kind", frames())
def test_a_frame_becomes_what_its_file_becomes(kind, schema, expected):
    found = read_by_schema(frames()[kind], schema)
    assert np.array_equal(found.features, expected.features)
    assert found.labels.tolist() == expected.labels.tolist() == [1, 0, 0]
    assert found.columns == expected.columns


class Indexed(Stream):
    """A frame of an older pandas, whose stream has its index unless that is reset."""

    def __init__(self, table):
        super().__init__(table.append_column("__index_level_0__", pa.array([2, 0, 1])))
        self._plain = table

    def reset_index(self, *, drop):
        assert drop
        return Stream(self._plain)


def test_an_index_is_no_column(schema, expected):
    found = read_by_schema(Indexed(pa.table(COLUMNS)), schema)
    assert np.array_equal(found.features, expected.features)


def test_the_interchange_protocol_is_enough():
    frame = pa.table({"a": [1.5, 2.5], "b": [1, 2], "kind": [0, 1]})
    found = read_table(Interchanged(frame), label="kind", classes=[0, 1])
    assert found.features.tolist() == [[1.5, 1.0], [2.5, 2.0]]
    assert (found.columns, found.labels.tolist()) == (("a", "b"), [0, 1])


@pytest.mark.parametrize("value", [3, [1, 2], np.zeros((2, 2)), None])
def test_what_is_no_table_is_refused(value, schema):
    with pytest.raises(InputError, match="table must be a file or a frame"):
        read_by_schema(value, schema)


def test_a_column_of_mixed_cells_is_refused_without_showing_them():
    frame = pd.DataFrame({"a": ["zqxjkv", 1, [2]]}, dtype=object)
    with pytest.raises(InputError, match="one type each") as refusal:
        frame_table(frame)
    assert "zqxjkv" not in str(refusal.value)


def test_a_saved_folder_is_read_by_name_and_by_schema(schema, expected):
    found = read_by_schema(SAVED, schema)
    assert np.array_equal(found.features, expected.features)
    assert found.labels.tolist() == [1, 0, 0]
    plain = read_table(SAVED, label="ill", features=["smoker"], classes=["no", "yes"])
    assert plain.features.tolist() == [[1.0], [0.0], [0.0]]


def test_splits_must_be_named(tmp_path, schema):
    shutil.copytree(SAVED, tmp_path / "both" / "train")
    (tmp_path / "both" / "dataset_dict.json").write_text('{"splits": ["train"]}')
    with pytest.raises(InputError, match="folder of splits: name one"):
        read_by_schema(tmp_path / "both", schema)
    assert len(read_by_schema(tmp_path / "both" / "train", schema)) == 3


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"_data_files": []},
        {"_data_files": [{"filename": "../facts.toml"}]},
        {"_data_files": [{"filename": "not-there.arrow"}]},
        {"_data_files": [{"filename": 3}]},
        {"_data_files": "data.arrow"},
    ],
)
def test_a_state_that_names_no_files_of_its_own_is_refused(state, tmp_path):
    (tmp_path / "facts.toml").write_text("private")
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "state.json").write_text(json.dumps(state))
    with pytest.raises(InputError, match="must name"):
        read_saved_dataset(folder)


def written(folder, table, **options):
    folder.mkdir()
    with ipc.new_stream(
        folder / "data.arrow", table.schema, options=ipc.IpcWriteOptions(**options)
    ) as out:
        out.write_table(table)
    (folder / "state.json").write_text('{"_data_files": [{"filename": "data.arrow"}]}')
    return folder


def test_a_packed_file_is_refused_before_it_grows(tmp_path):
    coded = pa.table({"a": pa.array(["x" * 100] * 1000).dictionary_encode()})
    plain = written(tmp_path / "plain", coded)
    assert read_saved_dataset(plain).num_rows == 1000
    for kind, table in {"zeros": pa.table({"a": np.zeros(1 << 16)}), "coded": coded}.items():
        packed = written(tmp_path / kind, table, compression="zstd")
        with pytest.raises(InputError, match="must not be compressed"):
            read_saved_dataset(packed)


def test_a_file_cut_short_is_refused(tmp_path):
    folder = written(tmp_path / "cut", pa.table({"a": np.arange(1000.0)}))
    whole = (folder / "data.arrow").read_bytes()
    for end in (0, 7, 300, len(whole) // 2):
        (folder / "data.arrow").write_bytes(whole[:end])
        with pytest.raises(InputError, match="must be a whole Arrow file"):
            read_saved_dataset(folder)


def test_a_file_that_says_it_has_more_rows_than_fit_is_refused(tmp_path, monkeypatch):
    folder = written(tmp_path / "nulls", pa.table({"a": pa.nulls(10_000_000)}))
    monkeypatch.setenv("RETICENT_READ_LIMIT", "64M")
    with pytest.raises(InputError, match="must take at most"):
        read_saved_dataset(folder)
