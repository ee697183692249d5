"""What goes in and out, as JSON schemas for the OpenAPI document; ``bodies`` enforces them."""

from typing import Any

from reticent.data.schema import Category, Column, Date, Number, NumberList, TrueFalse
from reticent.service import models, raw, tensors
from reticent.service.bodies import MOST_ROWS

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


def rows_of(model: models.Model) -> Schema:
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
    """The OpenAPI entry of a route whose answer 200 is JSON of this schema."""
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


def native_request(model: models.Model) -> Schema:
    """``{"inputs": [[…], …]}``, or raw records, texts or images where the model takes them."""
    forms = [object_of(["inputs"], inputs=rows_of(model))]
    if model.raw is not None:
        kind = model.raw.kind
        forms.append(object_of([kind.field], **{kind.field: kind.schema(MOST_ROWS)}))
    if model.schema is not None:
        forms.append(object_of(["records"], records=_records(model.schema.features)))
    return forms[0] if len(forms) == 1 else {"oneOf": forms}


def _records(columns: tuple[Column, ...]) -> Schema:
    """Objects with a cell for each column; others in them are not read."""
    record = {
        "type": "object",
        "required": [column.name for column in columns],
        "properties": {column.name: _cell(column) for column in columns},
    }
    return {"type": "array", "items": record, "minItems": 1, "maxItems": MOST_ROWS}


def _cell(column: Column) -> Schema:
    """As JSON writes a value of the column, or the text that a file of the schema's form has."""
    kind = column.kind
    forms: list[Schema] = [{"type": "string"}]
    if isinstance(kind, Number):
        forms.insert(0, {"type": "number"})
    elif isinstance(kind, TrueFalse):
        forms.insert(0, {"type": "boolean"})
    elif isinstance(kind, Category) and not kind.other:
        forms.insert(0, {"enum": list(kind.values)})
    elif isinstance(kind, Date):
        forms.insert(0, {"type": "string", "format": "date"})
    elif isinstance(kind, NumberList):
        of = {"minItems": kind.length, "maxItems": kind.length}
        forms.insert(0, {"type": "array", "items": {"type": "number"}, **of})
    return {"anyOf": forms if column.gap.refused else [*forms, {"type": "null"}]}


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


def infer_request(model: models.Model) -> Schema:
    """A request of the Open Inference Protocol with the tensors of one form, in any order."""
    named = object_of(["name"], name={"enum": sorted(model.gives)}, parameters={"type": "object"})
    forms = [_tensors(slots) for slots in tensors.forms_of(model).values()]
    return object_of(
        ["inputs"],
        id={"type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$"},
        parameters={"type": "object"},
        inputs=forms[0] if len(forms) == 1 else {"anyOf": forms},
        outputs={"type": "array", "items": named},
    )


def _tensors(slots: tuple[tensors.Slot, ...]) -> Schema:
    return {
        "type": "array",
        "prefixItems": [_tensor(slot) for slot in slots],
        "items": {"anyOf": [_tensor(slot) for slot in slots]},
        "minItems": len(slots),
        "maxItems": len(slots),
    }


def _tensor(slot: tensors.Slot) -> Schema:
    """One of each datatype; elements stand in one list, or nested as the shape says."""
    kinds = {
        "FP64": {"type": "number"}, "FP32": {"type": "number"}, "INT64": {"type": "integer"},
        "UINT8": {"type": "integer", "minimum": 0, "maximum": 255}, "BOOL": {"type": "boolean"},
        "BYTES": {"type": "string"},
    }  # fmt: skip
    assert set(kinds) == set(tensors.JSON_TYPES)
    if slot.form == raw.TEXTS:
        kinds["BYTES"] = {"type": "string", "minLength": 1, "maxLength": raw.MOST_TEXT}
    rows: Schema = {"type": "integer", "minimum": 1, "maximum": MOST_ROWS}
    variants = [
        object_of(
            ["name", "shape", "datatype", "data"],
            name={"const": slot.name},
            shape={
                "type": "array",
                "prefixItems": [rows, *({"const": one} for one in row)],
                "minItems": 1 + len(row),
                "maxItems": 1 + len(row),
            },
            datatype={"const": datatype},
            parameters={"type": "object"},
            data={"type": "array", "items": {"anyOf": [kinds[datatype], {"type": "array"}]}},
        )
        for datatype in slot.datatypes
        for row in slot.rows_of(datatype)
    ]
    return variants[0] if len(variants) == 1 else {"anyOf": variants}


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
