"""How a command reads its tables: by a schema of public facts, or by the words of its options."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.cli.output import print_warning
from reticent.cli.private_table import listed, read_private
from reticent.cli.progress import progress_line
from reticent.data.identifiers import identifiers_among
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.data import Dataset, Schema
    from reticent.protect import Release


@dataclass(frozen=True, kw_only=True)
class TableForm:
    """How every table of a command is read: by its schema, or by the words of its options."""

    label: str | None = None
    person: str | None = None
    classes: list[str] | None = None
    embedding: str | None = None
    encoder: str | None = None
    text: str | None = None
    features: list[str] | None = None
    drop: list[str] = field(default_factory=list)
    schema: Schema | None = None

    @classmethod
    def of(cls, schema: Path | None, **said: Any) -> TableForm:
        """The form of a command's options; beside a schema nothing that it holds is said."""
        typed = said.pop("classes", None)
        said |= {"classes": None if typed is None else listed(typed)}
        columns = {name: _names(said.pop(name, None)) for name in ("features", "drop")}
        around = said.pop("public", None)
        if schema is None:
            return cls(**said, features=columns["features"], drop=columns["drop"] or [])
        beside = said | columns | {"public": around}
        given = [name for name, value in beside.items() if value is not None]
        if given:
            raise InputError(f"--{given[0]} must not be given beside --schema, which says it all")
        return cls.by(_loaded(schema))

    @classmethod
    def of_release(cls, own: Schema | None, schema: Path | None, **said: Any) -> TableForm:
        """The form in which a release reads raw tables: by its own schema, where it has one.

        What is said besides must be what that schema says.
        """
        if own is None:
            return cls.of(schema, **said)
        if schema is not None and _loaded(schema).sha256 != own.sha256:
            raise InputError("--schema must be that of the release's certificate, got another")
        form = cls.by(own)
        for name, value in said.items():
            if value not in (None, []) and value != getattr(form, name, None):
                raise InputError(
                    f"--{name} must not be given: the release has a schema, which says it all"
                )
        return form

    @classmethod
    def by(cls, schema: Schema) -> TableForm:
        """The form of a schema."""
        return cls(
            label=None if schema.label is None else schema.label.name,
            person=None if schema.person is None else schema.person.name,
            classes=list(schema.classes) or None,
            schema=schema,
        )

    def said_label(self) -> str:
        """The column of labels, which a command needs."""
        if self.label is None:
            where = "in the schema" if self.schema is not None else "(or --schema)"
            raise InputError(f"--label must be said {where}, the column of labels, got none")
        return self.label

    def said_bound(self, bound: float | None) -> float | None:
        """R as it follows from the schema, or as it was said."""
        if self.schema is None:
            return bound
        if bound is not None:
            raise InputError("--bound must not be given beside --schema: it follows from the facts")
        return self.schema.bound

    def said_records(self, records: int | None) -> int | None:
        """N as the schema says it, or as it was said."""
        if self.schema is None or self.schema.records is None:
            return records
        if records is not None:
            raise InputError("--records must not be given beside --schema, which holds it")
        return self.schema.records

    def read_private(self, path: Path) -> Dataset:
        """The private table; a line points at columns that are called like an identifier.

        Names are public, cells are not: these are not looked at.
        """
        data = self.read(path)
        chosen = self.schema is not None or self.features is not None
        found = [] if chosen else identifiers_among(data.columns)
        if found:
            print_warning(
                f"column {found[0]!r} is a feature like any other, and its name is that of an"
                f" identifier: --drop {shlex.quote(found[0])} leaves it out"
            )
        return data

    def read(self, path: Path, *, queries: bool = False, **changes: Any) -> Dataset:
        """The table; ``changes`` are other words for this one. Of queries the label may be gone."""
        if self.schema is not None:
            from reticent.training.encoders.schema_texts import read_with_schema

            with progress_line("encoding") as progress:
                purpose: Any = "queries" if queries else "records"
                return read_with_schema(path, self.schema, purpose=purpose, progress=progress)
        said = {
            name: changes.get(name, getattr(self, name))
            for name in ("label", "person", "embedding", "classes", "encoder", "text")
        }
        return read_private(path, features=self.features, drop=self.drop, **said)


def common_schema(releases: Sequence[Release]) -> Schema | None:
    """That of all releases: they are of one table."""
    first = releases[0].schema
    if any(one.schema != first for one in releases):
        raise InputError("released must be of one schema, got several")
    return first


def _loaded(path: Path) -> Schema:
    from reticent.data import Schema

    return Schema.load(path)


def _names(typed: list[str] | None) -> list[str] | None:
    """Columns that were typed, comma-separated and by turns; quotes hold a comma together."""
    if not typed:
        return None
    rows = csv.reader(typed, skipinitialspace=True)
    return [name.strip() for row in rows for name in row if name.strip()]
