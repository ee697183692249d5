"""The Open Inference Protocol, version 2: which tensors a model takes, and those of a request.

Rows of features are one tensor, ``input``. Where an encoder is packaged, ``texts`` are BYTES and
``images`` UINT8 or FP32; where the model has a schema, a raw table is one tensor for each column.
A request has the tensors of one of these forms, in any order.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from reticent.data.schema import Column, Number, NumberList, TrueFalse
from reticent.service import problems
from reticent.service.bodies import MOST_ROWS, Inputs, feature_rows
from reticent.service.raw import INTEGERS, NUMBERS, RawKind, elements, texts_of

if TYPE_CHECKING:
    from reticent.service.models import Model

FEATURES: Final = "input"
JSON_TYPES: Final[dict[str, frozenset[type]]] = {
    "FP64": NUMBERS,
    "FP32": NUMBERS,
    "INT64": INTEGERS,
    "UINT8": INTEGERS,
    "BOOL": frozenset((bool,)),
    "BYTES": frozenset((str,)),
}
"""What JSON writes the elements of a datatype as."""
_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_NEEDED: Final = {"name", "shape", "datatype", "data"}


@dataclass(frozen=True)
class Slot:
    """A tensor that a model takes: its datatypes, the usual one first, and the shape of a row."""

    name: str
    datatypes: tuple[str, ...]
    row: tuple[int, ...]
    form: str
    """Of which form of a request it is: features, texts, images or record."""

    def rows_of(self, datatype: str) -> tuple[tuple[int, ...], ...]:
        """The shapes that a row may have: one text or cell also as a list of one."""
        row = () if datatype == "BYTES" else self.row
        return ((), (1,)) if row == () else (row,)

    def described(self) -> dict[str, Any]:
        """As the model's metadata have it."""
        return {
            "name": self.name,
            "datatype": self.datatypes[0],
            "shape": [-1, *self.row],
            "parameters": {"form": self.form},
        }


def forms_of(model: Model) -> dict[str, tuple[Slot, ...]]:
    """The forms that a request may have, by name; two never have the same tensors."""
    features = Slot(FEATURES, ("FP64", "FP32"), (model.features,), "features")
    forms: dict[str, tuple[Slot, ...]] = {"features": (features,)}
    if model.raw is not None:
        forms[model.raw.kind.field] = (_raw_slot(model.raw.kind),)
    if model.schema is not None:
        record = tuple(map(_column_slot, model.schema.features))
        taken = [{slot.name for slot in slots} for slots in forms.values()]
        if {slot.name for slot in record} not in taken:  # a lone column may be named as they are
            forms["record"] = record
    return forms


def _raw_slot(kind: RawKind) -> Slot:
    if kind.shape is None:
        return Slot(kind.field, ("BYTES",), (), kind.field)
    return Slot(kind.field, ("UINT8", "FP32"), kind.shape.shape, kind.field)


def _column_slot(column: Column) -> Slot:
    """BYTES are cells as a file writes them, of every column: a gap is an empty one."""
    if isinstance(column.kind, NumberList):
        return Slot(column.name, ("FP64", "BYTES"), (column.kind.length,), "record")
    usual = "BYTES"
    if isinstance(column.kind, Number):
        usual = "FP64"
    elif isinstance(column.kind, TrueFalse):
        usual = "BOOL"
    others = ("BYTES", "FP64", "INT64", "BOOL")
    return Slot(column.name, tuple(dict.fromkeys((usual, *others))), (), "record")


@dataclass(frozen=True)
class InferRequest:
    """A request of the protocol."""

    inputs: Inputs
    id: str | None
    outputs: frozenset[str] | None
    """Those that are asked for; None for all."""


def infer_request(document: dict[str, Any], model: Model) -> InferRequest:
    """The tensors of such a request, with its id and the outputs that it names."""
    named = document.get("id")
    tensors: Any = document.get("inputs")
    fits = (
        set(document) <= {"id", "parameters", "inputs", "outputs"}
        and (named is None or (isinstance(named, str) and _ID.fullmatch(named)))
        and isinstance(document.get("parameters", {}), dict)
        and isinstance(tensors, list)
        and all(map(_is_tensor, tensors))
    )
    if not fits:
        raise problems.Refused(problems.WRONG_FIELDS)
    wanted = _outputs(document.get("outputs"), model.gives)
    by_name = {one["name"]: one for one in tensors}
    if len(by_name) < len(tensors):
        raise problems.Refused(problems.WRONG_FIELDS)
    return InferRequest(_inputs(by_name, model), named, wanted)


def _is_tensor(tensor: Any) -> bool:
    return (
        isinstance(tensor, dict)
        and _NEEDED <= set(tensor) <= _NEEDED | {"parameters"}
        and isinstance(tensor["name"], str)
        and isinstance(tensor["datatype"], str)
        and isinstance(tensor.get("parameters", {}), dict)
    )


def _outputs(asked: Any, known: frozenset[str]) -> frozenset[str] | None:
    if asked is None:
        return None
    fits = isinstance(asked, list) and all(
        isinstance(one, dict)
        and set(one) <= {"name", "parameters"}
        and isinstance(one.get("name"), str)
        and isinstance(one.get("parameters", {}), dict)
        for one in asked
    )
    names = frozenset(one["name"] for one in asked) if fits else frozenset()
    if not fits or not names <= known:
        raise problems.Refused(problems.WRONG_FIELDS)
    return names or None


def _inputs(tensors: dict[str, dict[str, Any]], model: Model) -> Inputs:
    """Of the one form whose tensors these are."""
    matching = [
        (form, slots)
        for form, slots in forms_of(model).items()
        if {slot.name for slot in slots} == set(tensors)
    ]
    if not matching:
        raise problems.Refused(problems.WRONG_FIELDS)
    ((form, slots),) = matching
    if form == "record":
        return Inputs(records=_records(slots, tensors))
    (slot,) = slots
    if form == "features":
        rows, flat = _elements(slot, tensors[slot.name], problems.WRONG_ROWS)
        width = model.features
        lists = [flat[at : at + width] for at in range(0, rows * width, width)]
        return Inputs(rows=feature_rows(lists, width))
    assert model.raw is not None
    _, flat = _elements(slot, tensors[slot.name], problems.WRONG_RAW)
    if model.raw.kind.shape is None:
        return Inputs(raw=texts_of(flat))
    return Inputs(raw=model.raw.kind.images_of(flat, NUMBERS))


def _records(slots: tuple[Slot, ...], tensors: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A record for each row of the columns, which are of one length."""
    columns: dict[str, list[Any]] = {}
    for slot in slots:
        rows, flat = _elements(slot, tensors[slot.name], problems.WRONG_RECORDS)
        width = len(flat) // rows
        lists = slot.row and width > 1
        cells = [flat[at : at + width] for at in range(0, len(flat), width)] if lists else flat
        columns[slot.name] = cells
    if len(set(map(len, columns.values()))) != 1:
        raise problems.Refused(problems.WRONG_RECORDS)
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _elements(
    slot: Slot, tensor: dict[str, Any], problem: problems.Problem
) -> tuple[int, list[Any]]:
    """How many rows a tensor has, and its elements in their order, flat or nested as they came."""
    datatype, shape, data = tensor["datatype"], tensor["shape"], tensor["data"]
    if datatype not in slot.datatypes:
        raise problems.Refused(problems.WRONG_FIELDS)
    whole = isinstance(shape, list) and all(type(one) is int for one in shape)
    if not whole or not shape or not 1 <= shape[0] <= MOST_ROWS or not isinstance(data, list):
        raise problems.Refused(problem)
    if tuple(shape[1:]) not in slot.rows_of(datatype):
        raise problems.Refused(problem)
    nested = bool(data) and type(data[0]) is list
    flat = elements(data, shape if nested else (math.prod(shape),))
    if flat is None or not set(map(type, flat)) <= JSON_TYPES[datatype]:
        raise problems.Refused(problem)
    return shape[0], flat
