"""The cells of a file by column: texts, each distinct one once, or numbers stored as such.

A text file has texts alone. What a file with types of its own stores is taken as it is, or as a
text that depends on that cell alone: whole numbers as 17, whether they are stored as fractions or
not (a gap elsewhere turns whole numbers into fractions), others as 0.5, dates in ISO 8601.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from reticent.arrays import Array, Flags, Floats, Integers
from reticent.data.archive import archive
from reticent.data.columns import arrow_of, decoded_dictionary
from reticent.data.csv_file import CsvFile, Dialect
from reticent.data.frames import is_saved_dataset, read_saved_dataset
from reticent.files import existing_file
from reticent.read_limit import refuse_above_limit
from reticent.validation import InputError

_EXACT: Final = 2.0**53


@dataclass(frozen=True)
class Texts:
    """Distinct texts, None for a gap, and for each record the place of its own among them."""

    distinct: list[str | None]
    places: Integers

    def __len__(self) -> int:
        return len(self.places)

    @classmethod
    def of(cls, cells: Iterable[str | None]) -> Texts:
        """From one text a record."""
        seen: dict[str | None, int] = {}
        places = [seen.setdefault(cell, len(seen)) for cell in cells]
        return cls(list(seen), np.array(places, dtype=np.int64))


@dataclass(frozen=True)
class Numbers:
    """A number or a row of them for each record; gaps have none, and invalid ones another shape."""

    values: Floats
    gaps: Flags
    valid: Flags

    def __len__(self) -> int:
        return len(self.values)

    @property
    def finite(self) -> Flags:
        """Which records have finite numbers alone."""
        finite = np.isfinite(self.values)
        return np.asarray(finite if self.values.ndim == 1 else finite.all(axis=1))


@dataclass(frozen=True, kw_only=True)
class FileCells:
    """A file that was opened: the names of its columns, and the way to the cells of one.

    ``read`` is told the column and how many numbers a list of it has: 0 for texts, 1 for a number.
    """

    file: str
    names: tuple[str, ...]
    read: Callable[[str, int], Texts | Numbers]
    typed: bool = True
    """Whether the file has types of its own, and no form of numbers."""


def open_cells(path: Path, dialect: Dialect, names: tuple[str, ...]) -> FileCells:
    """By the ending of its name .npz or .parquet; every other file is a text table.

    ``names`` are those of the columns: of a text file without a header, in their order.
    """
    if is_saved_dataset(path):
        return arrow_cells(path.name, read_saved_dataset(path))
    existing_file(path)
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} must hold records, got an empty file")
    for ending, opener in _OPENERS.items():
        if path.name.lower().endswith(ending):
            return opener(path)
    return _text_table(path, dialect, names)


def _text_table(path: Path, dialect: Dialect, names: tuple[str, ...]) -> FileCells:
    arrow = arrow_of(path)
    file = CsvFile.open(path, named_columns=frozenset(names), dialect=dialect)
    table = cache(lambda: file.table(dict.fromkeys(file.names, arrow.string())))

    def read(name: str, numbers: int) -> Texts:  # noqa: ARG001 - a text file has no numbers
        return _of_strings(table().column(name).combine_chunks())

    return FileCells(file=path.name, names=file.names, read=read, typed=False)


def _of_strings(column: Any) -> Texts:
    coded = column.dictionary_encode()
    if hasattr(coded, "combine_chunks"):  # an empty column is in no chunk
        coded = coded.combine_chunks()
    places = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
    distinct: list[str | None] = [*coded.dictionary.to_pylist(), None]
    return Texts(distinct, places.astype(np.int64))


def _npz(path: Path) -> FileCells:
    arrays = archive(path)

    def read(name: str, numbers: int) -> Texts | Numbers:
        array = arrays[name]
        if numbers and array.dtype.kind in "biuf":
            return _of_array(path.name, name, array, numbers)
        if len(array) == 0:
            return Texts.of([])
        if array.ndim != 1 or array.dtype.kind not in "biufUM":
            raise InputError(
                f"{path.name} must hold one value a record in {name!r}, got {array.dtype} of shape"
                f" {array.shape}"
            )
        return Texts.of(map(text_of, array.tolist()))

    return FileCells(file=path.name, names=tuple(arrays), read=read)


def _of_array(file: str, name: str, array: Array, numbers: int) -> Numbers:
    if len(array) == 0:  # whatever type and shape a file gives to no records
        return no_numbers(numbers)
    width = array.shape[1:]
    if width != (() if numbers == 1 else (numbers,)):
        raise InputError(
            f"{file} must hold {numbers} number{'' if numbers == 1 else 's'} a record in {name!r},"
            f" got shape {array.shape}"
        )
    return _numbers(array.astype(np.float64))


def no_numbers(numbers: int) -> Numbers:
    """Of a table without records."""
    return _numbers(np.zeros((0,) if numbers == 1 else (0, numbers)))


def _numbers(values: Floats) -> Numbers:
    """NaN is a gap where a cell is one number."""
    gaps = np.isnan(values) if values.ndim == 1 else np.zeros(len(values), dtype=bool)
    return Numbers(values, gaps, np.ones(len(values), dtype=bool))


def text_of(cell: object) -> str | None:
    """The text of a cell of any plain type; None for a gap.

    >>> [
    ...     text_of(cell)
    ...     for cell in (7, 7.0, 0.5, True, "a", float("nan"), datetime.date(2020, 1, 2))
    ... ]
    ['7', '7', '0.5', 'true', 'a', None, '2020-01-02']
    """
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, float):
        return str(int(cell)) if abs(cell) < _EXACT and cell.is_integer() else repr(cell)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, (datetime.date, datetime.datetime)):
        return cell.isoformat()
    return cell if isinstance(cell, str) else str(cell)


def _parquet(path: Path) -> FileCells:
    arrow_of(path)
    from reticent.data.parquet_file import ParquetColumns

    table = ParquetColumns(path)
    return _arrow_cells(path.name, table.names, table.whole)


def arrow_cells(file: str, table: Any) -> FileCells:
    """The cells of an Arrow table, from whichever file or frame it came."""
    return _arrow_cells(
        file, tuple(table.column_names), lambda name: table.column(name).combine_chunks()
    )


def _arrow_cells(file: str, names: tuple[str, ...], column: Callable[[str], Any]) -> FileCells:
    """Of each column, an Arrow array that is made when it is asked for."""

    def read(name: str, numbers: int) -> Texts | Numbers:
        import pyarrow

        try:
            return _of_arrow(file, name, column(name), numbers)
        except pyarrow.ArrowException:
            raise InputError(
                f"{file} must hold plain values, got a damaged column {name!r}"
            ) from None

    return FileCells(file=file, names=names, read=read)


def _of_arrow(file: str, name: str, column: Any, numbers: int) -> Texts | Numbers:
    import pyarrow
    from pyarrow import types

    if len(column) == 0:
        return no_numbers(numbers) if numbers else Texts.of([])
    if types.is_dictionary(column.type):
        column = decoded_dictionary(file, column)
    kind = column.type
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if numbers == 1 and is_number:
        plain = column.cast(pyarrow.float64(), safe=False)
        return _numbers(plain.to_numpy(zero_copy_only=False).astype(np.float64))
    if numbers > 1 and (types.is_list(kind) or types.is_large_list(kind)):
        return _lists(file, column.to_pylist(), numbers)
    if numbers > 1 and types.is_fixed_size_list(kind):
        return _lists(file, column.to_pylist(), numbers)
    if types.is_string(kind) or types.is_large_string(kind):
        return _of_strings(column)
    if types.is_timestamp(kind):
        column = column.cast(pyarrow.timestamp("us", tz=kind.tz), safe=False)
    elif not (is_number or types.is_boolean(kind) or types.is_date(kind) or types.is_null(kind)):
        raise InputError(f"{file} must hold plain values, got {kind} in column {name!r}")
    return Texts.of(map(text_of, column.to_pylist()))


def _lists(file: str, cells: list[Any], length: int) -> Numbers:
    """A list of another length, or with a gap in it, makes its record invalid."""
    refuse_above_limit(file, 8 * len(cells) * length)
    values = np.zeros((len(cells), length))
    gaps, valid = np.zeros(len(cells), dtype=bool), np.ones(len(cells), dtype=bool)
    for place, cell in enumerate(cells):
        if cell is None:
            gaps[place] = True
        elif len(cell) == length and all(isinstance(one, (int, float)) for one in cell):
            values[place] = cell
        else:
            valid[place] = False
    return Numbers(values, gaps, valid)


_OPENERS: Final[dict[str, Callable[[Path], FileCells]]] = {".npz": _npz, ".parquet": _parquet}
