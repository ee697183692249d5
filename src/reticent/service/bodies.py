"""Bodies of requests: read up to a limit, parsed strictly, turned into rows.

A number is a JSON number: neither a text nor a truth value, and finite. Fields are those that are
listed, and nothing is read from a request that was not checked here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from starlette.requests import ClientDisconnect, Request

from reticent.arrays import Array, Floats
from reticent.service import problems
from reticent.service.problems import Refused
from reticent.strict_json import parsed_object
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.data import Schema
    from reticent.service.models import Model

MOST_ROWS: Final = 64
_LETTERS_OF_A_NUMBER: Final = 40
_LETTERS_OF_A_CELL: Final = 1024
_ENVELOPE: Final = 16_384
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_NUMBERS: Final = frozenset((int, float))
INPUT: Final = "input"
DATATYPES: Final = ("FP64", "FP32")


async def read_object(request: Request, model: Model) -> dict[str, Any]:
    """The JSON object of a request for answers of a model."""
    each = (model.features + 1) * _LETTERS_OF_A_NUMBER
    if model.raw is not None:
        each = max(each, model.raw.kind.most_bytes)
    if model.schema is not None:
        each = max(each, _LETTERS_OF_A_CELL * len(model.schema.columns))
    most = MOST_ROWS * each + _ENVELOPE
    content = await _read(request, most)
    try:
        return parsed_object(content, source="body")
    except InputError:
        raise Refused(problems.NOT_JSON) from None


async def _read(request: Request, most: int) -> bytes:
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length[:20]) > most:
        raise Refused(problems.TOO_LARGE)
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise Refused(problems.TOO_LARGE)
            parts.append(part)
    except ClientDisconnect:
        raise Refused(problems.NOT_JSON) from None
    return b"".join(parts)


def native_rows(document: dict[str, Any], model: Model) -> Floats | Array:
    """The rows of ``{"inputs": [[…], …]}``; or raw ``texts`` or ``images``, where it takes them."""
    if model.raw is not None and set(document) == {model.raw.kind.field}:
        return model.raw.kind.read(document[model.raw.kind.field], MOST_ROWS)
    if set(document) != {"inputs"}:
        raise Refused(problems.WRONG_FIELDS)
    return _rows(document["inputs"], model.features)


def raw_rows(document: dict[str, Any], schema: Schema) -> Floats:
    """The rows of ``{"records": [{…}, …]}``, each prepared by the schema as ``predict`` does it."""
    from reticent.data.schema.json_records import json_cells
    from reticent.data.schema.prepare import prepared_cells
    from reticent.training.encoders.schema_texts import vectors_not_kept

    records: Any = document["records"]
    fits = (
        set(document) == {"records"}
        and isinstance(records, list)
        and 1 <= len(records) <= MOST_ROWS
        and all(isinstance(record, dict) for record in records)
    )
    if not fits:
        raise Refused(problems.WRONG_RECORDS)
    try:
        cells = json_cells(records, schema.form)
        data = prepared_cells(cells, schema, purpose="queries", encode=vectors_not_kept)
    except InputError:
        raise Refused(problems.WRONG_RECORDS) from None
    return data.features.astype(np.float64, copy=False)


@dataclass(frozen=True)
class InferRequest:
    """A request of the Open Inference Protocol, version 2."""

    rows: Floats
    id: str | None
    outputs: frozenset[str] | None
    """Those that are asked for; None for all."""


def infer_request(
    document: dict[str, Any], *, features: int, outputs: frozenset[str]
) -> InferRequest:
    """The one tensor of such a request, with its id and the outputs that it names."""
    known = {"id", "parameters", "inputs", "outputs"}
    named = document.get("id")
    tensors: Any = document.get("inputs")
    fits = (
        set(document) <= known
        and (named is None or (isinstance(named, str) and _ID.fullmatch(named)))
        and isinstance(document.get("parameters", {}), dict)
        and isinstance(tensors, list)
        and len(tensors) == 1
        and isinstance(tensors[0], dict)
    )
    if not fits:
        raise Refused(problems.WRONG_FIELDS)
    wanted = _outputs(document.get("outputs"), outputs)
    return InferRequest(_tensor(tensors[0], features), named, wanted)


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
        raise Refused(problems.WRONG_FIELDS)
    return names or None


def _tensor(tensor: dict[str, Any], features: int) -> Floats:
    if (
        not {"name", "shape", "datatype", "data"} <= set(tensor)
        or not set(tensor) <= {"name", "shape", "datatype", "data", "parameters"}
        or tensor["name"] != INPUT
        or tensor["datatype"] not in DATATYPES
        or not isinstance(tensor.get("parameters", {}), dict)
    ):
        raise Refused(problems.WRONG_FIELDS)
    shape, data = tensor["shape"], tensor["data"]
    fits = isinstance(shape, list) and len(shape) == 2 and all(type(one) is int for one in shape)
    if not fits or not 1 <= shape[0] <= MOST_ROWS or shape[1] != features:
        raise Refused(problems.WRONG_ROWS)
    if not isinstance(data, list):
        raise Refused(problems.WRONG_ROWS)
    if data and type(data[0]) is not list:  # flat, row by row
        if len(data) != shape[0] * shape[1]:
            raise Refused(problems.WRONG_ROWS)
        data = [data[at : at + features] for at in range(0, len(data), features)]
    rows = _rows(data, features)
    if len(rows) != shape[0]:
        raise Refused(problems.WRONG_ROWS)
    return rows


def _rows(values: Any, features: int) -> Floats:
    fits = (
        isinstance(values, list)
        and 1 <= len(values) <= MOST_ROWS
        and all(
            isinstance(row, list) and len(row) == features and set(map(type, row)) <= _NUMBERS
            for row in values
        )
    )
    if not fits:
        raise Refused(problems.WRONG_ROWS)
    return np.array(values, dtype=np.float64)


def idempotency_key(request: Request) -> str | None:
    """The header, if there is one."""
    keys = request.headers.getlist("idempotency-key")
    if not keys:
        return None
    if len(keys) > 1 or not _KEY.fullmatch(keys[0]):
        raise Refused(problems.WRONG_KEY)
    return keys[0]


def asked_answers(request: Request) -> int | None:
    """``?answers=n``, if it is there, and nothing else."""
    query = request.query_params.multi_items()
    if not query:
        return None
    names = [name for name, _ in query]
    text = query[0][1]
    digits = text.isascii() and text.isdigit() and 1 <= len(text) <= 10
    if names != ["answers"] or not digits or not 1 <= int(text) <= 10**9:
        raise Refused(problems.WRONG_QUERY)
    return int(text)
