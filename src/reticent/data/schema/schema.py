"""A schema: the public facts of a table, from which everything else about it follows.

Encoding, scaling, the bound on a row's norm and the names of features are functions of the schema,
and each row of features is a function of its own record: no statistic of the table enters. So files
that differ in one record become tables of features that differ in one row (docs/theory.md D.8).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from reticent.data import csv_file, dataset
from reticent.data.schema.column import PRIVATE, Column, Role, is_private
from reticent.data.schema.form import FileForm
from reticent.data.schema.kinds import Category, Number, TrueFalse
from reticent.data.schema.label_facts import LabelFacts
from reticent.data.schema.vectors import Text
from reticent.validation import InputError, count, line

Invalid = Literal["refuse", "leave-out"]
_LARGEST: Final = 1_000_000
"""Columns of features that a schema may make."""


class Fact(NamedTuple):
    """Something public about the table, and where it comes from."""

    what: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Columns with their roles and kinds, how the file is written, and about how many records.

    A record with a cell that is no value of its column, or with a gap where none may be, is invalid
    by itself: the table is refused then, or, with ``invalid="leave-out"``, such records do not
    count (neighbours are then add-remove: a replaced record may be one that does not count).

    Read one with ``Schema.load("table.toml")``; docs/guide/schema.md describes the file.
    """

    columns: tuple[Column, ...]
    records: int | None = None
    records_source: str = ""
    title: str = ""
    invalid: Invalid = "refuse"
    form: FileForm = field(default_factory=FileForm)
    label_facts: LabelFacts = field(default_factory=LabelFacts)

    def __post_init__(self) -> None:
        """Labels of one task, one person at most, at least one feature, no name twice."""
        if any(type(column) is not Column for column in self.columns):
            raise InputError("columns must be columns of a schema, got others")
        names = Counter(column.name for column in self.columns)
        if twice := [name for name, times in names.items() if times > 1]:
            raise InputError(f"columns must be named differently, got {twice[0]!r} twice")
        if len(self._of(Role.PERSON)) > 1:
            raise InputError(
                f"a schema must have one person at most, got {len(self._of(Role.PERSON))}"
            )
        if not self.names:
            raise InputError("a schema must have a feature, got none")
        if len(self.names) > _LARGEST:
            raise InputError(f"a schema must make at most {_LARGEST} features, got more")
        if len(set(self.names)) < len(self.names):
            raise InputError("features must be named differently, got a name twice")
        if self.invalid not in ("refuse", "leave-out"):
            raise InputError(f"invalid must be refuse or leave-out, got {self.invalid!r}")
        self._check_label()
        self._check_label_facts()
        self._check_records()

    def _check_label(self) -> None:
        """One label of classes or one number; of several labels each is true or false."""
        kind = None if self.label is None else self.label.kind
        if len(self.labels) > 1:
            if odd := [one.name for one in self.labels if not isinstance(one.kind, TrueFalse)]:
                raise InputError(
                    f"several labels must be true or false each, got another type for {odd[0]!r}"
                )
        elif isinstance(kind, Number):
            if kind.log or kind.zero is not None:
                raise InputError("a label must have its range and unit alone, got scale or zero")
        elif kind is not None and (not isinstance(kind, Category) or len(kind.values) < 2):
            raise InputError(
                f"the label {self.labels[0].name!r} must have classes, at least two, or be a number"
            )

    def _check_label_facts(self) -> None:
        share = self.label_facts.rarest_share
        if share is None:
            return
        if self.task != "classification":
            raise InputError(f"rarest_share must be of a label with classes, got {self.task}")
        if share * len(self.classes) > 1:
            raise InputError(
                f"rarest_share must be <= 1/{len(self.classes)}, one class of"
                f" {len(self.classes)}, got {share}"
            )

    def _check_records(self) -> None:
        if self.title:
            line("title", self.title)
        if self.records is None:
            return
        if count("records", self.records) > 2**53:
            raise InputError("records must be <= 2**53, got more")
        if not self.records_source.strip():
            raise InputError(
                "records must say where it comes from, got no source: [sources] records = …"
            )
        line("source of records", self.records_source)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """The schema of a TOML file, or of a JSON file with the same fields."""
        from reticent.data.schema.parsing import read_schema

        return read_schema(Path(path))

    @classmethod
    def example(cls, name: str) -> Schema:
        """One of those that come with the package (``EXAMPLES``)."""
        return cls.load(example_path(name))

    @classmethod
    def from_dict(cls, values: object) -> Schema:
        """From plain values, as they stand in a TOML file or in a certificate."""
        from reticent.data.schema.parsing import schema_of

        return schema_of(values)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, all of them written out: as they stand in a certificate."""
        from reticent.data.schema.parsing import plain_schema

        return plain_schema(self)

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of its canonical JSON, by which a certificate names it."""
        return digest_of(self.to_dict())

    @property
    def features(self) -> tuple[Column, ...]:
        """The columns that become features."""
        return self._of(Role.FEATURE)

    @property
    def labels(self) -> tuple[Column, ...]:
        """The columns whose role is label, several where a record has several."""
        return self._of(Role.LABEL)

    @property
    def label(self) -> Column | None:
        """The one column of labels; None where there is none, or where there are several."""
        return self.labels[0] if len(self.labels) == 1 else None

    @property
    def task(self) -> dataset.LabelTask:
        """What is to be learnt: one of the classes, a number, or several labels at once."""
        if len(self.labels) > 1:
            return "multilabel"
        is_number = self.label is not None and isinstance(self.label.kind, Number)
        return "regression" if is_number else "classification"

    @property
    def target(self) -> Number | None:
        """The number that is to be predicted, with its public range."""
        kind = None if self.label is None else self.label.kind
        return kind if isinstance(kind, Number) else None

    @property
    def person(self) -> Column | None:
        """The column that says whose a record is."""
        return next(iter(self._of(Role.PERSON)), None)

    @property
    def classes(self) -> tuple[str, ...]:
        """The public classes, or the names of several labels; none where there is no such label."""
        if len(self.labels) > 1:
            return tuple(column.name for column in self.labels)
        kind = None if self.label is None else self.label.kind
        return kind.values if isinstance(kind, Category) else ()

    @property
    def names(self) -> tuple[str, ...]:
        """Of all features, in their order."""
        return tuple(name for column in self.features for name in column.names)

    @property
    def bound(self) -> float:
        """R: no row of features is longer, since no column's part is; rounded up a little."""
        return math.sqrt(math.fsum(column.bound**2 for column in self.features)) * (1 + 2.0**-40)

    @property
    def texts(self) -> tuple[Column, ...]:
        """The columns of texts, which need an encoder."""
        return tuple(column for column in self.features if isinstance(column.kind, Text))

    @property
    def dialect(self) -> csv_file.Dialect:
        """How the bytes of a text file are read."""
        names = None if self.form.header else tuple(column.name for column in self.columns)
        return csv_file.Dialect(
            separator=self.form.separator,
            encoding=self.form.encoding,
            comment=self.form.comment,
            names=names,
        )

    @property
    def facts(self) -> tuple[Fact, ...]:
        """All that it says about the table, fact by fact."""
        facts = [
            Fact(f"{column.name} ({column.kind.fact()})", column.source)
            for column in self.columns
            if column.kind is not None and column.role is Role.FEATURE
        ]
        facts += [self._label_fact(column) for column in self.labels]
        if self.records is not None:
            facts.append(Fact(f"about {self.records} records", self.records_source))
        facts += [Fact(what, self.label_facts.source) for what in self.label_facts.facts]
        return tuple(facts)

    def _label_fact(self, column: Column) -> Fact:
        assert column.kind is not None
        if isinstance(column.kind, Category):
            return Fact(f"the {len(self.classes)} classes", column.source)
        return Fact(f"the label {column.name} ({column.kind.fact()})", column.source)

    @property
    def inferred(self) -> tuple[str, ...]:
        """The facts that were taken from the private records."""
        return tuple(fact.what for fact in self.facts if is_private(fact.source))

    @property
    def stated(self) -> tuple[str, ...]:
        """A line for each source, with the facts that come from it, for a guarantee."""
        sources: dict[str, list[str]] = {}
        for what, source in self.facts:
            sources.setdefault(source, []).append(what)
        return (
            "the schema's facts were fixed without a look at the private records, but for those"
            f" whose source is the {PRIVATE}",
            *(f"{', '.join(facts)}: by {source}" for source, facts in sources.items()),
        )

    def _of(self, role: Role) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.role is role)


EXAMPLES: Final = ("adult",)
"""Schemas of published data sets, whose facts are from public documents."""


def example_path(name: str) -> Path:
    """The file of an example."""
    if name not in EXAMPLES:
        raise InputError(f"example must be one of {', '.join(EXAMPLES)}, got {name!r}")
    return Path(__file__).with_name(f"{name}.toml")


def digest_of(values: dict[str, Any]) -> str:
    """SHA-256 of plain values as canonical JSON: sorted, without spaces, in UTF-8."""
    written = json.dumps(
        values, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()
