"""A whole table asked of a service, in parts that it takes: raw where the model has a schema."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reticent.data import Schema, read_table
from reticent.data.schema.file_cells import open_cells
from reticent.data.schema.json_records import json_records
from reticent.protect import feature_names, public_facts
from reticent.service.client import Service, ServiceError
from reticent.validation import InputError

AT_ONCE: Final = 64
"""Rows of one request at most (``bodies.MOST_ROWS``)."""


@dataclass(frozen=True, kw_only=True)
class AskedTable:
    """A label or a number for each row, what was charged for all, and what is promised."""

    answers: list[Any]
    charged: int
    guarantee: str


def ask_table(url: str, queries: Path, *, key: str | None = None) -> AskedTable:
    """Ask the service at an address about each row of a file.

    Args:
        url: Where the service listens.
        queries: A raw table where the model's certificate has a schema, else rows of features,
            whose columns are found by their names where the certificate names them.
        key: The caller's key, with the scopes ask and read.
    """
    service = Service(url, key)
    answers: list[Any] = []
    charged = 0
    try:
        certificate = service.certificate()
        schema = public_facts.schema_of_document(certificate.get(public_facts.SCHEMA))
        for reply in _replies(service, queries, schema, certificate):
            answers += reply["labels"] if reply["labels"] is not None else reply["values"]
            charged += reply["charged"]
        promised = str(service.guarantee()["line"])
    except ServiceError as refusal:
        raise InputError(f"{url} must answer, got {refusal}") from None
    except OSError as error:
        raise InputError(f"{url} must be a service that listens, got: {error.strerror}") from None
    return AskedTable(answers=answers, charged=charged, guarantee=promised)


def _replies(
    service: Service, queries: Path, schema: Schema | None, certificate: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    if schema is not None:
        names = tuple(column.name for column in schema.columns)
        records = json_records(open_cells(queries, schema.dialect, names), schema)
        for part in _parts(records):
            yield service.ask_records(part)
        return
    data = read_table(queries, label=None)
    expected = tuple(map(str, certificate.get("columns", ())))
    for part in _parts(
        feature_names.in_order(data.features.astype("float64"), data.columns, expected)
    ):
        yield service.ask(part)


def _parts(rows: Any) -> Iterator[Any]:
    for start in range(0, len(rows), AT_ONCE):
        yield rows[start : start + AT_ONCE]
