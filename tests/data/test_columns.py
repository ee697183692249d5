"""Files that are no tables, whatever their columns are for."""

import pyarrow as pa
import pytest
from pyarrow import parquet

from reticent.data.columns import open_columns
from reticent.validation import InputError


def test_parquet_with_two_columns_of_one_name(tmp_path):
    path = tmp_path / "table.parquet"
    array = pa.array([1, 2])
    parquet.write_table(pa.Table.from_arrays([array, array, array], names=["x", "y", "x"]), path)
    with pytest.raises(
        InputError, match=r"table.parquet must name its columns differently, got 'x'"
    ):
        open_columns(path)


@pytest.mark.parametrize("name", ["table.pkl", "table.pt", "table.xlsx", "table"])
def test_other_formats_are_refused_unopened(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(InputError, match=rf"path must end in .npz, .csv, .*, got '{name}'"):
        open_columns(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(
        InputError, match=r"none.csv must be a file that can be read, got: No such file"
    ):
        open_columns(tmp_path / "none.csv")
