"""A schema's part in a release: which public numbers follow from it, and what is stated of it.

``released_by`` and ``verify`` both ask here, so a certificate says of its schema what the code
says, or does not hold.
"""

import dataclasses
from typing import Any, Final

from reticent.data.schema import Schema, kinds
from reticent.data.schema.column import is_private
from reticent.data.schema.schema import digest_of
from reticent.guarantee import Relation
from reticent.protect.recipe import Recipe
from reticent.protect.registry import CLASSIFICATION, MULTILABEL, REGRESSION
from reticent.protect.terms import Source, Terms
from reticent.validation import InputError, describe

SCHEMA: Final = "schema"
_FIELDS: Final = {"sha256", "facts"}


def followed_by(terms: Terms, schema: Schema | None, recipe: Recipe) -> Terms:
    """The terms with the sources of the schema, and of the numbers that follow from it.

    A fact that was taken from the private records is inferred, and so is what follows from it.
    """
    if schema is None:
        return terms
    numbers = recipe.to_dict() | {"records": recipe.records, "classes": recipe.classes}
    sources = {
        name: Source.INFERRED if inferred else Source.SCHEMA
        for name, (value, inferred) in _following(schema).items()
        if numbers.get(name) == value and terms.sources.get(name) is not Source.INFERRED
    }
    own = Source.INFERRED if schema.inferred else Source.SAID
    return dataclasses.replace(terms, sources={**terms.sources, **sources, SCHEMA: own})


def _following(schema: Schema) -> dict[str, tuple[Any, bool]]:
    """What a schema says of public numbers, and whether it was taken from the private records."""
    labels = any(column.inferred for column in schema.labels)
    facts = any(column.inferred for column in schema.features)
    target = schema.target
    spread = {} if target is None else target_options(target.low, target.high)
    return {
        "records": (schema.records, is_private(schema.records_source)),
        "classes": (1 if target is not None else len(schema.classes), labels),
        "bound": (schema.bound, facts),
        **{name: (value, labels) for name, value in spread.items()},
    }


def inferred_facts(schema: Schema) -> tuple[str, ...]:
    """The public numbers that are declared at most, where its facts are of the private records."""
    if not schema.inferred:
        return ()
    following = _following(schema)
    return (SCHEMA, *(name for name, (_, inferred) in following.items() if inferred))


def misfits(schema: Schema | None, recipe: Recipe, classes: list[str], terms: Terms) -> list[str]:
    """Where a release is not one of records that its schema prepared."""
    if schema is None:
        return ["the schema is missing"] if SCHEMA in terms.sources else []
    problems = []
    if type(schema) is not Schema:
        problems.append("the schema is none of this package")
    if len(schema.names) != recipe.features:
        problems.append(
            f"the schema makes {len(schema.names)} features, and the recipe has {recipe.features}"
        )
    if recipe.task == "classification" and list(schema.classes) != classes:
        problems.append("the classes are not those of the schema")
    labelled = bool(schema.labels) and recipe.task in (CLASSIFICATION, REGRESSION)
    if labelled and _task(recipe) != schema.task:
        problems.append(f"the schema is for {schema.task}, and the recipe for {_task(recipe)}")
    if schema.invalid == "leave-out" and terms.relation is not Relation.ADD_REMOVE:
        problems.append(
            "the schema leaves invalid records out, so neighbours must be add-remove: a replaced"
            " record may be one that does not count"
        )
    if followed_by(terms, schema, recipe) != terms:
        problems.append("the sources are not those of the schema")
    return problems


def _task(recipe: Recipe) -> str:
    """What its labels are: of a sigmoid head there are several."""
    several = recipe.to_dict().get("outputs") == "sigmoid"
    return MULTILABEL if several else recipe.task


def target_options(low: float, high: float) -> dict[str, float]:
    """The middle and the half of a label's public range, as recipes of numbers take them.

    >>> target_options(0.0, 100.0)
    {'target_bound': 50.0, 'target_centre': 50.0}
    """
    kinds.check_range(low, high)
    return {"target_bound": high / 2 - low / 2, "target_centre": high / 2 + low / 2}


def document_of_schema(schema: Schema) -> dict[str, Any]:
    """As it stands in a certificate: all facts, and the hash of their canonical JSON."""
    return {"sha256": schema.sha256, "facts": schema.to_dict()}


def schema_of_document(values: object) -> Schema | None:
    """The schema of a certificate, if its hash is that of its facts."""
    if values is None:
        return None
    if not isinstance(values, dict) or set(values) != _FIELDS:
        raise InputError(f"schema must have {', '.join(sorted(_FIELDS))}, got {describe(values)}")
    schema = Schema.from_dict(values["facts"])
    if values["sha256"] != schema.sha256 or digest_of(values["facts"]) != schema.sha256:
        raise InputError("schema must have the hash of its facts, got another")
    return schema
