"""What goes in and out, as JSON schemas for the OpenAPI document; ``bodies`` enforces them."""

from __future__ import annotations

from typing import Any

from reticent.service.bodies import DATATYPES, INPUT, MOST_ROWS
from reticent.service.models import Model

Schema = dict[str, Any]

IDEMPOTENCY_KEY: Schema = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key with the same rows is charged once, however often it is sent.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
}
ANSWERS: Schema = {
    "name": "answers",
    "in": "query",
    "required": False,
    "description": "Would so many answers fit?",
    "schema": {"type": "integer", "minimum": 1, "maximum": 10**9},
}


def rows_of(model: Model) -> Schema:
    """1 to 64 rows of numbers."""
    row = {
        "type": "array",
        "items": {"type": "number"},
        "minItems": model.features,
        "maxItems": model.features,
    }
    return {"type": "array", "items": row, "minItems": 1, "maxItems": MOST_ROWS}


def body_of(schema: Schema) -> Schema:
    """As the body of a request."""
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def answered_with(schema: Schema, description: str) -> dict[int | str, dict[str, Any]]:
    """As the response 200."""
    content = {"application/json": {"schema": schema}}
    return {200: {"description": description, "content": content}}


def object_of(required: list[str], **properties: Schema) -> Schema:
    """An object of these fields alone."""
    return {
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }


def native_request(model: Model) -> Schema:
    """``{"inputs": [[…], …]}``, or raw records, texts or images where the model takes them."""
    forms = [object_of(["inputs"], inputs=rows_of(model))]
    if model.raw is not None:
        kind = model.raw.kind
        forms.append(object_of([kind.field], **{kind.field: kind.schema(MOST_ROWS)}))
    if model.schema is not None:
        columns = [column.name for column in model.schema.features]
        forms.append(object_of(["records"], records=_records(columns)))
    return forms[0] if len(forms) == 1 else {"oneOf": forms}


def _records(columns: list[str]) -> Schema:
    """Objects with a cell for each column."""
    cell: Schema = {"type": ["string", "number", "boolean", "null", "array"]}
    record = {"type": "object", "required": columns, "properties": dict.fromkeys(columns, cell)}
    return {"type": "array", "items": record, "minItems": 1, "maxItems": MOST_ROWS}


def native_answer() -> Schema:
    """Labels or values, logits where they are released, what it cost and what is left."""
    nullable_list: Schema = {"type": ["array", "null"], "items": {}}
    receipt = object_of(["number", "hash"], number={"type": "integer"}, hash={"type": "string"})
    promise = object_of(
        ["epsilon", "delta", "grade"],
        epsilon={"type": "number"},
        delta={"type": "number"},
        grade={"type": "string"},
    )
    return object_of(
        ["labels", "values", "logits", "each", "charged", "receipt", "left", "replayed"],
        labels=nullable_list,
        values=nullable_list,
        logits=nullable_list,
        each={"anyOf": [promise, {"type": "null"}]},
        charged={"type": "integer"},
        receipt={"anyOf": [receipt, {"type": "null"}]},
        left={"type": ["integer", "null"]},
        replayed={"type": "boolean"},
    )


def infer_request(model: Model) -> Schema:
    """A request of the Open Inference Protocol with one tensor."""
    tensor = object_of(
        ["name", "shape", "datatype", "data"],
        name={"const": INPUT},
        shape={
            "type": "array",
            "prefixItems": [
                {"type": "integer", "minimum": 1, "maximum": MOST_ROWS},
                {"const": model.features},
            ],
            "minItems": 2,
            "maxItems": 2,
        },
        datatype={"enum": list(DATATYPES)},
        parameters={"type": "object"},
        data={"type": "array"},
    )
    named = object_of(["name"], name={"enum": sorted(model.gives)}, parameters={"type": "object"})
    return object_of(
        ["inputs"],
        id={"type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$"},
        parameters={"type": "object"},
        inputs={"type": "array", "items": tensor, "minItems": 1, "maxItems": 1},
        outputs={"type": "array", "items": named},
    )


def infer_answer() -> Schema:
    """The response of that protocol; receipt and cost stand in its parameters."""
    return object_of(
        ["model_name", "outputs", "parameters"],
        model_name={"type": "string"},
        id={"type": "string"},
        parameters={"type": "object"},
        outputs={"type": "array", "items": {"type": "object"}},
    )


def budget() -> Schema:
    """What a client has used and has left."""
    return object_of(
        ["used", "limit", "left"],
        used={"type": "integer"},
        limit={"type": ["integer", "null"]},
        left={"type": ["integer", "null"]},
        fits={"type": "boolean"},
    )
