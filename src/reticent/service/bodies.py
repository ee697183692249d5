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
_NUMBERS: Final = frozenset((int, float))


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
        raise problems.Refused(problems.NOT_JSON) from None


async def _read(request: Request, most: int) -> bytes:
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length[:20]) > most:
        raise problems.Refused(problems.TOO_LARGE)
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise problems.Refused(problems.TOO_LARGE)
            parts.append(part)
    except ClientDisconnect:
        raise problems.Refused(problems.NOT_JSON) from None
    return b"".join(parts)


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a request asks about, checked: rows of features, raw texts or images, or raw records."""

    rows: Floats | None = None
    raw: Array | None = None
    records: list[dict[str, Any]] | None = None


def native_inputs(document: dict[str, Any], model: Model) -> Inputs:
    """Of ``{"inputs": [[…], …]}``; or raw texts, images or records, where the model takes them."""
    if model.schema is not None and "records" in document:
        return Inputs(records=_records(document))
    if model.raw is not None and set(document) == {model.raw.kind.field}:
        return Inputs(raw=model.raw.kind.read(document[model.raw.kind.field], MOST_ROWS))
    if set(document) != {"inputs"}:
        raise problems.Refused(problems.WRONG_FIELDS)
    return Inputs(rows=feature_rows(document["inputs"], model.features))


def feature_rows(values: Any, features: int) -> Floats:
    """Rows of so many numbers, 1 to 64 of them."""
    fits = (
        isinstance(values, list)
        and 1 <= len(values) <= MOST_ROWS
        and all(
            isinstance(row, list) and len(row) == features and set(map(type, row)) <= _NUMBERS
            for row in values
        )
    )
    if not fits:
        raise problems.Refused(problems.WRONG_ROWS)
    return np.array(values, dtype=np.float64)


def _records(document: dict[str, Any]) -> list[dict[str, Any]]:
    records: Any = document["records"]
    fits = (
        set(document) == {"records"}
        and isinstance(records, list)
        and 1 <= len(records) <= MOST_ROWS
        and all(isinstance(record, dict) for record in records)
    )
    if not fits:
        raise problems.Refused(problems.WRONG_RECORDS)
    return list(records)


def prepared_rows(records: list[dict[str, Any]], schema: Schema) -> Floats:
    """Rows of raw records, each prepared by the schema as ``predict`` does it."""
    from reticent.data.schema import json_records, prepare
    from reticent.training.encoders.schema_texts import vectors_not_kept

    try:
        cells = json_records.json_cells(records, schema.form)
        data = prepare.prepared_cells(cells, schema, purpose="queries", encode=vectors_not_kept)
    except InputError:  # its text may hold what was sent
        raise problems.Refused(problems.WRONG_RECORDS) from None
    return data.features.astype(np.float64, copy=False)


def idempotency_key(request: Request) -> str | None:
    """The header, if there is one."""
    keys = request.headers.getlist("idempotency-key")
    if not keys:
        return None
    if len(keys) > 1 or not _KEY.fullmatch(keys[0]):
        raise problems.Refused(problems.WRONG_KEY)
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
        raise problems.Refused(problems.WRONG_QUERY)
    return int(text)
