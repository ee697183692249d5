"""From a raw table to features and labels by a schema, record by record.

What a record becomes, and whether it is valid, is a function of its own cells and of the schema:
each cell is read by itself (``Column.encoded``), and the parts stand side by side.
"""

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np

from reticent.arrays import Array, Flags, Floats
from reticent.data.cells import text_array
from reticent.data.dataset import Dataset, where
from reticent.data.frames import FRAME, frame_table
from reticent.data.schema.column import Column, TextEncoder
from reticent.data.schema.file_cells import FileCells, Texts, arrow_cells, open_cells
from reticent.data.schema.schema import Schema
from reticent.data.schema.vectors import NumberList
from reticent.read_limit import refuse_above_limit
from reticent.validation import InputError

Purpose = Literal["records", "queries"]


def read_by_schema(
    table: str | os.PathLike[str] | Any,
    schema: Schema,
    *,
    purpose: Purpose = "records",
    encode: TextEncoder | None = None,
) -> Dataset:
    """A data set of float64 features from a raw table.

    The table is a file (.npz, .parquet, or a text table), a folder that ``datasets`` saved, or a
    frame of polars, pandas or whatever gives an Arrow stream.

    Columns are found by their names, in whatever order; one that the schema does not name is
    refused. Of ``queries`` label and person may be missing, other columns are ignored, and an
    invalid record is always refused: each query has an answer. ``encode`` makes vectors of texts,
    one at a time (``training.encoders.schema_texts``).
    """
    if isinstance(table, (str, os.PathLike)):
        names = tuple(column.name for column in schema.columns)
        cells = open_cells(Path(table), schema.dialect, names)
    else:
        cells = arrow_cells(FRAME, frame_table(table))
    return prepared_cells(cells, schema, purpose=purpose, encode=encode)


def prepared_cells(
    cells: FileCells,
    schema: Schema,
    *,
    purpose: Purpose = "records",
    encode: TextEncoder | None = None,
) -> Dataset:
    """``read_by_schema`` of cells that are there already: of a file, a frame, a request."""
    columns = _columns(cells, schema, purpose)
    prepared = _Prepared(cells, schema, len(cells_of(cells, columns[0], numbers=True)))
    prepared.fill(encode)
    labels = prepared.labels() if schema.labels and set(schema.labels) <= set(columns) else None
    persons = None if schema.person not in columns else prepared.persons()
    keep = prepared.kept(leave_out=schema.invalid == "leave-out" and purpose == "records")
    return Dataset(
        name=cells.file,
        source=f"the user's file {cells.file}, by a schema",
        inputs=prepared.features[keep],
        labels=None if labels is None else labels[keep],
        classes=schema.classes,
        persons=None if persons is None else persons[keep],
        columns=schema.names,
        schema=schema,
    )


def _columns(cells: FileCells, schema: Schema, purpose: Purpose) -> list[Column]:
    """The columns that are read, of which the file has each; the schema knows all others."""
    known = {column.name for column in schema.columns}
    if purpose == "records" and (strange := [name for name in cells.names if name not in known]):
        raise InputError(
            f"the schema must have every column of {cells.file}, got none for {strange[0]!r}: say"
            ' its role, role = "ignored" if it is not to be read'
        )
    more = [*schema.labels, *(() if schema.person is None else (schema.person,))]
    if purpose == "queries":
        more = [column for column in more if column.name in cells.names]
    columns = [*schema.features, *more]
    if missing := [column.name for column in columns if column.name not in cells.names]:
        raise InputError(
            f"{cells.file} must have the columns of the schema, got none named {missing[0]!r}"
        )
    return columns


def cells_of(cells: FileCells, column: Column, *, numbers: bool = False) -> Texts:
    """The cells of a column; with ``numbers`` those that are stored as such are taken so."""
    width = 0
    if numbers and column.reads_numbers:
        width = column.kind.length if isinstance(column.kind, NumberList) else 1
    return cells.read(column.name, width)  # type: ignore[return-value]


class _Prepared:
    """Features that are filled column by column, and which records are valid so far."""

    def __init__(self, cells: FileCells, schema: Schema, size: int) -> None:
        refuse_above_limit(cells.file, 16 * size * len(schema.names))
        self._cells = cells
        self._schema = schema
        self._form = schema.form.of_typed_files if cells.typed else schema.form
        self._invalid: tuple[int, str] | None = None
        self.valid: Flags = np.ones(size, dtype=bool)
        self.features: Floats = np.empty((size, len(schema.names)))

    def fill(self, encode: TextEncoder | None) -> None:
        """All features, in the order of the schema."""
        start = 0
        for column in self._schema.features:
            cells = cells_of(self._cells, column, numbers=True)
            if len(cells) != len(self.features):
                raise InputError(f"{self._cells.file} must have columns of one length, got others")
            encoded = column.encoded(cells, self._form, encode)
            stop = start + len(column.names)
            self.features[:, start:stop] = encoded.rows
            self._note(column, encoded.valid)
            start = stop

    def labels(self) -> Array:
        """The place of each label among the classes, its number, or 0 and 1, a column each."""
        label_columns = []
        for column in self._schema.labels:
            labels, valid = column.labels(cells_of(self._cells, column), self._form)
            self._note(column, valid)
            label_columns.append(labels)
        return label_columns[0] if len(label_columns) == 1 else np.column_stack(label_columns)

    def persons(self) -> Array:
        """Whose each record is: the text of the cell, without spaces around it."""
        column = self._schema.person
        assert column is not None
        cells = cells_of(self._cells, column)
        names = ["" if text is None else text.strip() for text in cells.distinct]
        gaps = np.array([self._form.is_gap(name) for name in names], dtype=bool)
        self._note(column, ~gaps[cells.places])
        return text_array(self._cells.file, names)[cells.places]

    def _note(self, column: Column, valid: Flags) -> None:
        """Remember the first record that is invalid, and why, without its cell."""
        if len(valid) != len(self.valid):
            raise InputError(f"{self._cells.file} must have columns of one length, got others")
        if not valid.all():
            row = int(np.argmin(valid))
            if self._invalid is None or row < self._invalid[0]:
                self._invalid = row, column.name
        self.valid &= valid

    def kept(self, *, leave_out: bool) -> Flags | slice:
        """Which records count: all of them, or those that are valid."""
        if self._invalid is None:
            return slice(None)
        if leave_out:
            return self.valid
        row, name = self._invalid
        column = next(one for one in self._schema.columns if one.name == name)
        rule = "a filled cell" if column.kind is None else column.kind.rule
        raise InputError(
            f"{self._cells.file} must hold {rule} in column {name!r}, got a gap or something else"
            f" in {where(row)}: mend it, or say in the schema what it means (gap, other,"
            " spellings, invalid)"
        )
