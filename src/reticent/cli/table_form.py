"""How a command reads its tables: by a schema of public facts, or by the words of its options."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.cli import output, private_table
from reticent.cli.private_table import listed, read_private
from reticent.cli.progress import progress_line
from reticent.data.identifiers import identifiers_among
from reticent.validation import InputError

if TYPE_CHECKING:
    from reticent.data import Dataset, Schema, dataset
    from reticent.protect import Release


@dataclass(frozen=True, kw_only=True)
class TableForm:
    """How every table of a command is read: by its schema, or by the words of its options."""

    label: str | None = None
    """The one column of classes, or of numbers; None where there are several labels."""
    labels: list[str] = field(default_factory=list)
    """All columns of labels."""
    target: tuple[float, float] | None = None
    """The ends of the public range of a label that is a number."""
    unit: str = ""
    person: str | None = None
    classes: list[str] | None = None
    embedding: str | None = None
    encoder: str | None = None
    text: str | None = None
    features: list[str] | None = None
    drop: list[str] = field(default_factory=list)
    schema: Schema | None = None

    @classmethod
    def of(cls, schema: Path | None, **options: Any) -> TableForm:
        """The form of a command's options; beside a schema nothing that it holds is said."""
        typed = options.pop("classes", None)
        options |= {"classes": None if typed is None else listed(typed)}
        columns = {name: column_names(options.pop(name, None)) for name in ("features", "drop")}
        public, spread = options.pop("public", None), options.pop("target_range", None)
        if schema is None:
            named = options | _label_columns(options.get("label"), spread)
            return cls(**named, features=columns["features"], drop=columns["drop"] or [])
        beside = options | columns | {"public": public, "target-range": spread}
        given = [name for name, value in beside.items() if value is not None]
        if given:
            raise InputError(f"--{given[0]} must not be given beside --schema, which says it all")
        return cls.by(_loaded(schema))

    @classmethod
    def of_release(cls, own: Schema | None, schema: Path | None, **options: Any) -> TableForm:
        """The form in which a release reads raw tables: by its own schema, where it has one.

        What is said besides must be what that schema says.
        """
        if own is None:
            return cls.of(schema, **options)
        if schema is not None and _loaded(schema).sha256 != own.sha256:
            raise InputError("--schema must be that of the release's certificate, got another")
        form = cls.by(own)
        for name, value in options.items():
            if value not in (None, []) and value != getattr(form, name, None):
                raise InputError(
                    f"--{name} must not be given: the release has a schema, which says it all"
                )
        return form

    @classmethod
    def by(cls, schema: Schema) -> TableForm:
        """The form of a schema."""
        target = schema.target
        return cls(
            label=None if schema.label is None else schema.label.name,
            labels=[column.name for column in schema.labels],
            target=None if target is None else (target.low, target.high),
            unit="" if target is None else target.unit,
            person=None if schema.person is None else schema.person.name,
            classes=list(schema.classes) or None,
            schema=schema,
        )

    @property
    def task(self) -> dataset.LabelTask:
        """What the labels are: classes, a number, or several that are true or false."""
        if len(self.labels) > 1:
            return "multilabel"
        return "classification" if self.target is None else "regression"

    def or_label(self, usual: str) -> TableForm:
        """The same with the usual column of labels, where neither option nor schema names any."""
        if self.schema is not None or self.labels:
            return self
        return replace(self, label=usual, labels=[usual])

    def required_label(self) -> str:
        """The column of classes, which a command needs."""
        self.required_labels()
        if self.label is None or self.task != "classification":
            what = "several labels" if self.label is None else "a number"
            raise InputError(
                f"--label must be one column of classes here, got {what}: protect, run and predict"
                " take such"
            )
        return self.label

    def required_labels(self) -> tuple[str, ...]:
        """The columns of labels, of which a command needs one at least."""
        if not self.labels:
            where = "in the schema" if self.schema is not None else "(or --schema)"
            raise InputError(f"--label must be said {where}, the column of labels, got none")
        return tuple(self.labels)

    def bound_or(self, bound: float | None) -> float | None:
        """R as it follows from the schema, or as it was typed."""
        if self.schema is None:
            return bound
        if bound is not None:
            raise InputError("--bound must not be given beside --schema: it follows from the facts")
        return self.schema.bound

    def records_or(self, records: int | None) -> int | None:
        """N as the schema says it, or as it was typed."""
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
        identifiers = [] if chosen else identifiers_among(data.columns)
        if identifiers:
            output.print_warning(
                f"column {identifiers[0]!r} is a feature like any other, and its name is that of an"
                f" identifier: --drop {shlex.quote(identifiers[0])} leaves it out"
            )
        return data

    def read(self, path: Path, *, queries: bool = False, **changes: Any) -> Dataset:
        """The table; ``changes`` are other words for this one. Of queries the label may be gone."""
        if self.schema is not None:
            from reticent.training.encoders.schema_texts import read_with_schema

            with progress_line("encoding") as progress:
                purpose: Any = "queries" if queries else "records"
                return read_with_schema(path, self.schema, purpose=purpose, progress=progress)
        options = {
            name: changes.get(name, getattr(self, name))
            for name in ("label", "person", "embedding", "classes", "encoder", "text")
        }
        if self.task == "classification":
            return read_private(path, features=self.features, drop=self.drop, **options)
        return self._with_other_labels(path, options, queries=queries)

    def _with_other_labels(self, path: Path, options: dict[str, Any], *, queries: bool) -> Dataset:
        """Columns of numbers, or of 0 and 1, as labels; queries may lack them."""
        from reticent.data.columns import open_columns
        from reticent.data.label_columns import with_label_columns

        there = open_columns(path).names
        known = not queries or all(name in there for name in self.labels)
        alone = options["embedding"] is not None or options["text"] is not None
        left_out = [] if alone else [name for name in self.labels if name in there]
        data = read_private(
            path,
            **options | {"label": None, "classes": None},
            features=self.features,
            drop=[*self.drop, *left_out],
        )
        if not known:
            return data
        return with_label_columns(data, path, self.labels, numbers=self.task == "regression")


@dataclass(frozen=True, kw_only=True)
class TableOptions:
    """How a command's tables are read, as it was typed."""

    schema: private_table.SchemaFile = None
    label: private_table.Label = None
    features: private_table.FeatureColumns = None
    drop: private_table.DropColumns = None
    embedding: private_table.Embedding = None
    text: private_table.EncodedText = None
    encoder: private_table.EncoderName = None

    def form(self, **more: Any) -> TableForm:
        """The form of these options and of more that the command has."""
        return TableForm.of(**self._typed(), **more)

    def form_of(self, own: Schema | None) -> TableForm:
        """The form in which a release reads raw tables: by its own schema, where it has one."""
        return TableForm.of_release(own, **self._typed())

    def _typed(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, kw_only=True)
class PersonTableOptions(TableOptions):
    """The same of a table that may say whose each record is."""

    person: private_table.Person = None


@dataclass(frozen=True, kw_only=True)
class LabelTableOptions(PersonTableOptions):
    """The same of a table whose labels are classes, a number, or several."""

    label: private_table.Labels = None
    target_range: private_table.TargetRange = None
    classes: private_table.Classes = None


def common_schema(releases: Sequence[Release]) -> Schema | None:
    """That of all releases: they are of one table."""
    first = releases[0].schema
    if any(one.schema != first for one in releases):
        raise InputError("released must be of one schema, got several")
    return first


def _loaded(path: Path) -> Schema:
    from reticent.data import Schema

    return Schema.load(path)


def _label_columns(typed: str | None, spread: str | None) -> dict[str, Any]:
    """--label as one column or several, and the range of a number."""
    names = column_names([typed]) if typed is not None else []
    if spread is None:
        one = names[0] if names and len(names) == 1 else None
        return {"label": one, "labels": names or []}
    if names is None or len(names) != 1:
        raise InputError("--target-range must be said with one --label, the number to predict")
    return {"label": names[0], "labels": names, "target": range_of(spread)}


def range_of(typed: str) -> tuple[float, float]:
    """The public range of a label, as it was typed: LOW,HIGH.

    >>> range_of("0, 350")
    (0.0, 350.0)
    """
    from reticent.data.schema.kinds import check_range

    try:
        low, high = map(float, typed.split(","))
    except ValueError:
        raise InputError(f"--target-range must be LOW,HIGH, got {typed!r}") from None
    check_range(low, high)
    return low, high


def column_names(typed: list[str] | None) -> list[str] | None:
    """Columns that were typed, comma-separated and by turns; quotes hold a comma together."""
    if not typed:
        return None
    rows = csv.reader(typed, skipinitialspace=True)
    return [name.strip() for row in rows for name in row if name.strip()]
