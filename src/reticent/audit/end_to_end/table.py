"""A small table in memory, its neighbours, and how it is written: csv, npz or parquet.

The end-to-end audit starts from bytes on disk, so that nothing between a file and a sum is left
out: types of columns, memory layouts, formats of numbers. Cells are Python values; what type a file
stores them in is decided as a user's program would, from all cells of a column, which is just what
one record may change.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from reticent.arrays import Array

Cell = Any
Row = Mapping[str, Cell]
FORMATS: Final = ("csv", "npz", "parquet")
_INT64: Final = range(-(2**63), 2**63)


@dataclass(frozen=True, kw_only=True)
class Writing:
    """How a file of one format may look without saying anything else.

    ``numbers`` formats floats in CSV, ``order`` is the memory layout of arrays in .npz, ``narrow``
    stores columns in the smallest type that holds their cells. The rest is what a schema may say
    of a text file; ``gap`` stands for None.
    """

    numbers: str = "r"
    order: str = "C"
    narrow: bool = False
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    gap: str = ""
    header: bool = True


@dataclass(frozen=True)
class Table:
    """Columns of equal length, by name and in order; ``types`` are storage types to keep.

    ``shapes`` are those of cells that are arrays: a table without records has them too.
    """

    columns: Mapping[str, Sequence[Cell]]
    types: Mapping[str, Any] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def row(self, place: int) -> dict[str, Cell]:
        """One record, cell by cell in the order of the columns."""
        return {name: cells[place] for name, cells in self.columns.items()}

    def take(self, places: Sequence[int]) -> Table:
        """The records at these places, in this order."""
        return replace(
            self, columns={name: [cells[i] for i in places] for name, cells in self.columns.items()}
        )

    def without(self, places: Sequence[int]) -> Table:
        """The table without the records at these places."""
        left_out = set(places)
        return self.take([place for place in range(len(self)) if place not in left_out])

    def with_row(self, place: int, row: Row) -> Table:
        """One record more, before the one at ``place``."""
        return replace(
            self,
            columns={
                name: [*cells[:place], row[name], *cells[place:]]
                for name, cells in self.columns.items()
            },
        )

    def write(self, path: Path, writing: Writing) -> Path:
        """In the format that the ending of ``path`` says."""
        _WRITERS[path.suffix](self, path, writing)
        return path


def write_csv(table: Table, path: Path, writing: Writing) -> None:
    """Texts as they are, floats in the format asked for."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n", delimiter=writing.separator)
    if writing.header:
        writer.writerow(table.columns)
    for place in range(len(table)):
        writer.writerow([_csv_cell(cells[place], writing) for cells in table.columns.values()])
    path.write_text(out.getvalue(), encoding=writing.encoding)


def _csv_cell(cell: Cell, writing: Writing) -> str:
    if cell is None or isinstance(cell, str):
        return writing.gap if cell is None else cell
    if isinstance(cell, (int, np.integer)) or writing.numbers == "r":
        written = repr(cell) if isinstance(cell, (int, float)) else repr(cell.item())
    else:
        written = format(float(cell), writing.numbers)
    return written.replace(".", writing.decimal)


def write_npz(table: Table, path: Path, writing: Writing) -> None:
    """One array for each column; rows of a two-dimensional one are cells that are arrays."""
    arrays = {
        name: np.asarray(
            _array(cells, table.types.get(name), writing).reshape(
                len(table), *table.shapes.get(name, ())
            ),
            order=writing.order,  # type: ignore[call-overload]
        )
        for name, cells in table.columns.items()
    }
    np.savez(path, allow_pickle=False, **arrays)


def write_parquet(table: Table, path: Path, writing: Writing) -> None:
    """One Arrow column for each."""
    import pyarrow
    from pyarrow import parquet

    columns = {}
    for name, cells in table.columns.items():
        kind = table.types.get(name)
        plain = cells if kind is not None else _array(cells, None, writing)
        columns[name] = pyarrow.array(plain, type=kind)
    parquet.write_table(pyarrow.table(columns), path)


def _array(cells: Sequence[Cell], kind: Any, writing: Writing) -> Array:
    """The cells of a column in the type that holds all of them."""
    if kind is not None:
        return np.array(list(cells), dtype=kind)
    if cells and isinstance(cells[0], np.ndarray):
        stacked = np.stack([np.asarray(cell) for cell in cells])
        return _narrowed(stacked) if writing.narrow else stacked
    if any(isinstance(cell, str) for cell in cells):
        return np.array(["" if cell is None else _plain_text(cell) for cell in cells])
    if any(cell is None for cell in cells):  # as pandas does: with a gap, numbers are fractions
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    whole = all(isinstance(cell, (int, np.integer)) and int(cell) in _INT64 for cell in cells)
    array = np.array(list(cells), dtype=np.int64 if whole and cells else np.float64)
    return _narrowed(array) if writing.narrow else array


def _plain_text(cell: Cell) -> str:
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


def _narrowed(array: Array) -> Array:
    """In the first smaller type that loses nothing of it."""
    with np.errstate(over="ignore", invalid="ignore"):
        for kind in (np.uint8, np.int16, np.float32):
            small = array.astype(kind)
            if small.astype(array.dtype).tobytes() == array.tobytes():
                return small
    return array


_WRITERS: Final = {".csv": write_csv, ".npz": write_npz, ".parquet": write_parquet}
