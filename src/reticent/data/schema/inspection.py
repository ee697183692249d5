"""What a schema makes of a table, in words: for its owner, before anything is released.

What is said of a table is computed from its records without noise: it is as private as they are.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reticent.arrays import Array, Flags
from reticent.data.identifiers import looks_like_identifier
from reticent.data.schema import draft, kinds, prepare
from reticent.data.schema.column import Column, Role
from reticent.data.schema.file_cells import FileCells, Numbers, Texts, open_cells
from reticent.data.schema.form import InvalidCellError
from reticent.data.schema.schema import Schema


@dataclass(frozen=True, kw_only=True)
class Inspected:
    """Lines about a table, and how many of its records are invalid."""

    notes: tuple[str, ...]
    invalid: int
    problems: tuple[str, ...]


def named_notes(schema: Schema) -> tuple[str, ...]:
    """By the schema alone: features that are called like identifiers, and facts read off."""
    notes = [
        f"column {column.name!r} is a feature, and its name is that of an identifier"
        for column in schema.features
        if looks_like_identifier(column.name)
    ]
    if not schema.labels:
        notes.append('no column has role = "label": nothing can be learnt from it')
    if schema.records is None:
        notes.append("about how many records there are is not said: commands need --records")
    return tuple(notes)


def inspect_table(path: Path, schema: Schema) -> Inspected:
    """Gaps, invalid cells, cells out of range, constants and identifiers, by column."""
    cells = open_cells(path, schema.dialect, tuple(column.name for column in schema.columns))
    known = {column.name for column in schema.columns}
    problems = [f"column {n!r} is not in the schema" for n in cells.names if n not in known]
    problems += [
        f"column {column.name!r} is not in {cells.file}"
        for column in schema.columns
        if column.name not in cells.names and column.role is not Role.IGNORED
    ]
    notes: list[str] = []
    invalid = None
    for column in schema.columns:
        if column.name in cells.names and column.role is not Role.IGNORED:
            column_notes, wrong = _of_column(cells, column, schema)
            notes += column_notes
            invalid = wrong if invalid is None else invalid | wrong
    number = 0 if invalid is None else int(invalid.sum())
    return Inspected(notes=tuple(notes), invalid=number, problems=tuple(problems))


def _of_column(cells: FileCells, column: Column, schema: Schema) -> tuple[list[str], Flags]:
    content = prepare.cells_of(cells, column, numbers=True)
    if isinstance(content, Numbers):
        texts = Texts.of(map(repr, content.values.tolist())) if content.values.ndim == 1 else None
        gaps, wrong = content.gaps, ~(content.valid & content.finite) & ~content.gaps
        outside = _outside(column, content.values)
    else:
        texts = content
        gaps, wrong, outside = _of_texts(content, column, schema, typed=cells.typed)
    if column.gap.refused or column.role is not Role.FEATURE:
        wrong = wrong | gaps
    notes = []
    for number, what in (
        (int(gaps.sum()), "a gap"),
        (int((wrong & ~gaps).sum()), "no value of its column"),
        (outside, "out of the range, and cut to it"),
    ):
        if number:
            notes.append(f"column {column.name!r}: {number} of {len(content)} cells are {what}")
    if texts is not None and column.role is Role.FEATURE:
        notes += _odd(column, texts)
    return notes, wrong


def _of_texts(
    texts: Texts, column: Column, schema: Schema, *, typed: bool
) -> tuple[Flags, Flags, int]:
    form = schema.form.of_typed_files if typed else schema.form
    gaps = np.zeros(len(texts.distinct), dtype=bool)
    wrong, outside = gaps.copy(), gaps.copy()
    for place, text in enumerate(texts.distinct):
        cell = "" if text is None else text.strip()
        gaps[place] = form.is_gap(cell)
        if gaps[place] or column.kind is None:
            continue
        try:
            value = column.kind.parse(cell, form)
        except InvalidCellError:
            wrong[place] = True
        else:
            outside[place] = (
                isinstance(column.kind, kinds.Number) and _outside(column, np.array([value])) > 0
            )
    return gaps[texts.places], wrong[texts.places], int(outside[texts.places].sum())


def _outside(column: Column, values: Array) -> int:
    if not isinstance(column.kind, kinds.Number):
        return 0
    return int(((values < column.kind.low) | (values > column.kind.high)).sum())


def _odd(column: Column, texts: Texts) -> list[str]:
    used = np.unique(texts.places)
    values = [(texts.distinct[place] or "").strip() for place in used.tolist()]
    if len(values) == 1 and len(texts) > 1:
        return [f"column {column.name!r} is a constant in this table: it tells nothing"]
    if draft.is_identifier(sorted(set(values)), len(texts)):
        return [f"column {column.name!r} looks like an identifier: whole numbers, all different"]
    return []
