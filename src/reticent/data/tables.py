"""Users' own files: a label column, perhaps a person column, and features."""

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from reticent.arrays import Array, Floats, Integers, is_file_backed
from reticent.data.columns import Columns, arrow_columns, is_number, no_length, open_columns
from reticent.data.dataset import Dataset, where
from reticent.data.frames import FRAME, frame_table
from reticent.validation import InputError, text, texts


def read_table(  # noqa: PLR0913 - one argument for each role of a column
    path: str | os.PathLike[str] | Any,
    *,
    label: str | None,
    person: str | None = None,
    embedding: str | None = None,
    classes: Sequence[str | int] | None = None,
    text_column: str | None = None,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
) -> Dataset:
    """A data set from .npz, .csv (.csv.gz) or .parquet; no pickle is ever opened.

    In place of a file, a folder that ``datasets`` saved, or a frame of polars, pandas or whatever
    gives an Arrow stream.

    Labels are whole numbers or texts; ``label=None`` reads none. They are numbered in the order of
    the declared ``classes``, or else of the sorted labels: then the list of classes is itself
    private, and a proven release refuses it. With declared classes a table without records is read
    as well: it is a neighbour of a table with one, and a release may not tell them apart.
    ``embedding`` names a column of lists (in CSV a JSON list) or an array of an .npz file; without
    it all other columns are features, in file order, or those of ``features``, in their order, or
    all but those of ``drop``. ``text_column`` names a column of texts, which
    are the inputs then; an empty one is a text as well. Features are float64, each the nearest to
    its own cell, so that no record changes another; images stay bytes, or are float32. A large
    array of an .npz file stays in the file (``archive``), as float32 where it is: whoever computes
    makes float64 of it, block by block, and float32 numbers are float64 numbers.
    """
    roles = {"label": label, "person": person, "embedding": embedding, "text": text_column}
    chosen = _Chosen.of(features, drop, roles)
    source = Path(path) if isinstance(path, (str, os.PathLike)) else path
    table = _opened(source, roles, chosen, public_classes=classes is not None)
    names, labels = _labelled(table, label, classes)
    persons = None if person is None else _identities(table, person, role="person")
    columns, inputs = _inputs(table, roles, chosen)
    if labels is not None and len(inputs) != len(labels):
        raise InputError(
            f"{table.file} must have a label for each record, got {len(labels)} labels"
        )
    data = Dataset(
        name=table.file,
        source=f"the user's file {table.file}",
        inputs=inputs,
        labels=labels,
        classes=names,
        public_classes=classes is not None,
        persons=persons,
        columns=columns if table.header else (),
    )
    return data if table.header else replace(data, columns=columns)  # by now no message names them


class _Chosen(NamedTuple):
    """Which columns are features: these, or all but those that are dropped and have a role."""

    features: tuple[str, ...] | None
    drop: tuple[str, ...]

    @classmethod
    def of(
        cls, features: Sequence[str] | None, drop: Sequence[str], roles: dict[str, str | None]
    ) -> Self:
        """Each named once, and for one thing."""
        named = None if features is None else texts("features", list(features))
        left_out = texts("drop", list(drop))
        if named is not None and (not named or len(set(named)) < len(named)):
            raise InputError("features must be different columns, at least one, got others")
        if (named is not None or left_out) and (roles["embedding"] or roles["text"]):
            raise InputError("features and drop must not be given beside embedding or text")
        for role, name in roles.items():
            if name is not None and name in (*(named or ()), *left_out):
                raise InputError(f"{name!r} must be one thing, got {role} and feature or drop")
        if both := set(named or ()) & set(left_out):
            raise InputError(f"{sorted(both)[0]!r} must be one thing, got feature and drop")
        return cls(named, left_out)

    def names(self, table: Columns, others: set[str | None]) -> list[str]:
        """The columns to read as features: those chosen, or all but ``others`` and the dropped."""
        if self.features is not None:
            return list(self.features)
        return [name for name in table.names if name not in others and name not in self.drop]


def _opened(
    source: Path | Any, roles: dict[str, str | None], chosen: _Chosen, *, public_classes: bool
) -> Columns:
    """The file, with all its columns named; in CSV every feature is a number, cell by cell.

    A label of undeclared classes is guessed from all labels: nothing proven comes of it.
    """
    given = {role: text(role, name) for role, name in roles.items() if name is not None}
    if len(set(given.values())) < len(given):
        raise InputError(
            f"{', '.join(roles)} must be different columns, got {list(given.values())}"
        )
    guessed = set() if public_classes else {name for role, name in given.items() if role == "label"}
    if isinstance(source, Path):
        table = open_columns(
            source,
            texts={*given.values(), *chosen.drop} - guessed,
            guessed=None if {"embedding", "text"} & set(given) else guessed,  # nothing else is read
            named_columns=[*given.values(), *(chosen.features or ()), *chosen.drop],
            only=chosen.features,
        )
    else:
        table = arrow_columns(FRAME, frame_table(source))
    for role, name in given.items():
        table.refuse_unknown(name, role=role)
    for name in (*(chosen.features or ()), *chosen.drop):
        table.refuse_unknown(name, role="feature or drop")
    return table


def _labelled(
    table: Columns, label: str | None, classes: Sequence[str | int] | None
) -> tuple[tuple[str, ...], Integers | None]:
    """The classes, and the number of each record's class."""
    if label is None:
        return (), None
    label_cells = _identities(table, label, role="label")
    if len(label_cells) == 0 and classes is None:
        raise InputError(f"{table.file} must hold records, got none, and no classes were declared")
    names = _declared(classes) if classes is not None else tuple(map(str, np.unique(label_cells)))
    return names, _numbered(table, label_cells, names, label)


def _identities(table: Columns, name: str, *, role: str) -> Array:
    """A column of whole numbers or texts without empty cells; in CSV persons are texts."""
    values = table.column(name, role=role)
    if values.shape == (0,):
        return values.astype(np.int64)
    if values.ndim != 1 or values.dtype.kind not in "iuU":
        raise InputError(
            f"{role} column {name!r} must hold whole numbers or texts,"
            f" got {values.dtype} of shape {values.shape}"
            f"{': store 0 and not 0.0' if values.dtype.kind == 'f' else ''}"
        )
    blank = np.char.strip(values) == "" if values.dtype.kind == "U" else np.zeros(1, dtype=bool)
    if blank.any():
        row = int(np.argmax(blank))
        raise InputError(
            f"{role} column {name!r} must be filled, got an empty cell in {where(row)}"
        )
    return values


def _declared(classes: Sequence[str | int]) -> tuple[str, ...]:
    if isinstance(classes, str) or not classes:
        raise InputError(f"classes must be a list of all classes, got {classes!r}")
    return tuple(map(str, classes))


def _numbered(table: Columns, label_cells: Array, classes: tuple[str, ...], label: str) -> Integers:
    values, of_record = np.unique(label_cells, return_inverse=True)
    number = {name: position for position, name in enumerate(classes)}
    labels = np.array([number.get(str(value), -1) for value in values])[of_record]
    wrong = np.flatnonzero(labels < 0)
    if len(wrong):
        raise InputError(
            f"{table.file} must have labels of the {len(classes)} declared classes,"
            f" got another in {where(int(wrong[0]))}, column {label!r}{_hint(classes)}"
        )
    return labels.astype(np.int64)


def _hint(classes: tuple[str, ...]) -> str:
    """By the declared classes alone: what stands in the cell is not said."""
    if not all(name.isascii() and name.isdigit() for name in classes):
        return ""
    return ": 0.0 is another text than 0, unless a schema says so"


def _inputs(
    table: Columns, roles: dict[str, str | None], chosen: _Chosen
) -> tuple[tuple[str, ...], Array]:
    """The features, by their names where they have some; or the texts."""
    embedding, text_column = roles["embedding"], roles["text"]
    if text_column is not None and embedding is not None:
        raise InputError("embedding must not be given beside text, got both: records are one thing")
    if text_column is not None:
        return (), _texts(table, text_column)
    if embedding is not None:
        return _embedding(table, embedding)
    return _all_features(table, chosen.names(table, {roles["label"], roles["person"]}))


def _texts(table: Columns, name: str) -> Array:
    values = table.column(name, role="text")
    if values.shape == (0,):
        return values.astype(np.str_)
    if values.ndim != 1 or values.dtype.kind != "U":
        raise InputError(
            f"text column {name!r} must hold texts, got {values.dtype} of shape {values.shape}"
        )
    return values


def _embedding(table: Columns, name: str) -> tuple[tuple[str, ...], Array]:
    values = table.column(name, role="embedding")
    if values.dtype.kind == "U" and values.ndim == 1:
        values = _from_json(table, name, values)
    if values.ndim not in (2, 3, 4) or values.dtype.kind not in "iuf":
        raise InputError(
            f"embedding column {name!r} must hold lists of numbers,"
            f" got {values.dtype} of shape {values.shape}"
        )
    return _block(name, values)


def _from_json(table: Columns, name: str, cells: Array) -> Floats:
    rows = [_json_row(table, name, row, cell) for row, cell in enumerate(cells.tolist())]
    if not rows:
        raise InputError(no_length(table.file, repr(name)))
    for row, values in enumerate(rows):
        if len(values) != len(rows[0]):
            raise InputError(
                f"{table.file} must hold lists of one length in column {name!r}, got"
                f" {len(rows[0])} numbers first and {len(values)} in {where(row)}"
            )
    return np.array(rows, dtype=np.float64)


def _json_row(table: Columns, name: str, row: int, cell: str) -> Floats:
    try:
        values = json.loads(cell)
        if isinstance(values, list) and all(type(value) in (int, float) for value in values):
            return np.array([float(value) for value in values], dtype=np.float64)
    except (ValueError, OverflowError, RecursionError):  # no JSON, or more digits than Python reads
        pass
    raise InputError(
        f"{table.file} must hold JSON lists of numbers in column {name!r},"
        f" got something else in {where(row)}"
    )


def _all_features(table: Columns, names: list[str]) -> tuple[tuple[str, ...], Array]:
    """All columns of features; they must be numbers."""
    if not names:
        raise InputError(f"{table.file} must have a column of features, got none beside the label")
    first = _feature(table, names[0], alone=len(names) == 1)
    if len(names) == 1:
        return _block(names[0], first)
    features = np.empty((len(first), len(names)))
    for place, name in enumerate(names):  # one at a time: a copy of all would be a second table
        values = first if place == 0 else _feature(table, name, alone=False)
        if len(values) != len(first):
            _refuse_uneven(table, names)
        features[:, place] = _as(np.float64, values)
    return tuple(names), features


def _feature(table: Columns, name: str, *, alone: bool) -> Array:
    """A column of numbers; an array or a list where it is ``alone``."""
    values = table.column(name, role="feature")
    _refuse_text(table, name, values)
    if values.ndim > 1 and not alone:
        raise InputError(
            f"{table.file} must have one column of features where it is an array or a list,"
            f" got {name!r} beside others: choose with embedding={name!r} (--embedding {name})"
        )
    return values


def _refuse_text(table: Columns, name: str, values: Array) -> None:
    if values.dtype.kind != "U" or len(values) == 0:
        return
    cells = enumerate(values.ravel().tolist())
    row = next((row for row, cell in cells if not is_number(cell)), 0)
    kind = "text" if values.ravel()[row].strip() else "an empty cell"
    raise InputError(
        f"{table.file} must hold numbers in its feature columns, got {kind} in {where(row)},"
        f" column {name!r}: leave it out (--drop), describe it in a --schema, or choose"
        " a column of lists (--embedding)"
    )


def _refuse_uneven(table: Columns, names: list[str]) -> None:
    """All columns are looked at once more, since other things wrong with them are said first."""
    lengths = {name: len(_feature(table, name, alone=False)) for name in names}
    raise InputError(f"{table.file} must have columns of one length, got {lengths}")


def _block(name: str, values: Array) -> tuple[tuple[str, ...], Array]:
    """One column as features; those of an array are named ``name[0]``, ``name[1]`` and so on.

    Images, which have three or four axes, go to encoders: they are bytes or float32.
    """
    if values.ndim == 1:
        return (name,), _as(np.float64, values[:, None])
    if values.ndim == 2:
        names = tuple(f"{name}[{i}]" for i in range(values.shape[1]))
        return names, values if is_file_backed(values) else _as(np.float64, values)
    images = values[..., None] if values.ndim == 3 else values  # grey ones have one channel
    return (), images if images.dtype == np.uint8 else _as(np.float32, images)


def _as(kind: type[np.floating[Any]], values: Array) -> Array:
    """The nearest number of that type, cell by cell."""
    with np.errstate(over="ignore"):  # what does not fit becomes infinite, and Dataset refuses it
        return values.astype(kind, copy=False)
