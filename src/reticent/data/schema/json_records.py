"""Raw records as JSON writes them: an object for each, from the name of a column to its cell."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reticent.data.schema.file_cells import FileCells, Numbers, Texts, text_of
from reticent.data.schema.form import FileForm
from reticent.data.schema.prepare import cells_of
from reticent.data.schema.schema import Schema
from reticent.validation import InputError

FILE = "the records"


def json_cells(records: Sequence[Mapping[str, Any]], form: FileForm) -> FileCells:
    """The cells of some records, in the columns that all of them name; a gap is null or "".

    A text is a cell as the file's ``form`` writes it. Numbers, truth values, null and lists of
    numbers stand for what such a file would have, so one record has one meaning in both.

    Args:
        records: At least one, each an object as ``json.loads`` gives it.
        form: How the schema's files write their cells.

    >>> records = [{"a": 1.5, "b": True}, {"a": "2,5", "b": None}]
    >>> cells = json_cells(records, FileForm(decimal=","))
    >>> [cells.read(name, 0).distinct for name in cells.names]
    [['1,5', '2,5'], ['true', None]]
    """
    names = tuple(name for name in records[0] if all(name in record for record in records))

    def read(name: str, numbers: int) -> Texts:  # noqa: ARG001 - cells are texts here
        return Texts.of(_text(record.get(name), form) for record in records)

    return FileCells(file=FILE, names=names, read=read, typed=False)


def _text(cell: object, form: FileForm) -> str | None:
    """What a text file of this form would have there."""
    if isinstance(cell, bool):
        words = form.true if cell else form.false
        if not words:
            raise InputError("records must hold no truth values: the schema has no words for them")
        return words[0]
    if isinstance(cell, (int, float)):
        return str(text_of(cell)).replace(".", form.decimal)
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, list) and all(type(one) in (int, float) for one in cell):
        return json.dumps(cell, allow_nan=False)
    raise InputError("records must hold texts, numbers, truth values or null, got something else")


def json_records(cells: FileCells, schema: Schema) -> list[dict[str, Any]]:
    """The features of a raw table as records for ``json_cells``: cell for cell, a null for a gap.

    Label, person and columns that the schema does not name are left out: nobody is told them.
    """
    columns: dict[str, list[Any]] = {}
    for column in schema.features:
        if column.name not in cells.names:
            raise InputError(
                f"{cells.file} must have the columns of the schema, got none named {column.name!r}"
            )
        columns[column.name] = _plain(cells_of(cells, column, numbers=True))
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _plain(cells: Texts | Numbers) -> list[Any]:
    if isinstance(cells, Texts):
        return [cells.distinct[place] for place in cells.places]
    if not ((cells.finite & cells.valid) | cells.gaps).all():
        raise InputError("queries must hold finite numbers, and lists of one length, got others")
    rows = zip(cells.values.tolist(), cells.gaps, strict=True)
    return [None if gap else value for value, gap in rows]
