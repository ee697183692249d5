"""A schema from TOML or plain values, and back: every field is known, checked and named."""

import datetime
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from reticent.data.schema import form, label_facts
from reticent.data.schema.column import Column, Gap, Role
from reticent.data.schema.kinds import Category, Date, Kind, Number, TrueFalse
from reticent.data.schema.schema import Schema
from reticent.data.schema.vectors import ENCODED, KINDS, NumberList, Text
from reticent.files import existing_file
from reticent.read_limit import bounded_bytes
from reticent.strict_json import parsed
from reticent.validation import InputError, describe, finite

_MOST: Final = 8 << 20
_TOP: Final = ("title", "records", "invalid", "source", "sources", "labels", "file", "columns")
_COMMON: Final = ("name", "role", "type", "source", "gap")
Values = Mapping[str, Any]


def read_schema(path: Path) -> Schema:
    """The schema of a TOML file, or of a JSON file with the same fields."""
    content = bounded_bytes(existing_file(path, role="schema"), most=_MOST, role="schema")
    if path.suffix.lower() == ".json":  # as certificates hold it
        return schema_of(parsed(content, source=path.name))
    try:
        values = tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError(f"{path.name} must be a TOML file in UTF-8, got another file") from None
    except (ValueError, RecursionError) as error:  # ValueError: a number of 4,300 digits too
        reason = str(error).splitlines()[0][:120]
        raise InputError(f"{path.name} must be a TOML file, got an error: {reason}") from None
    try:
        return schema_of(values)
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None


def schema_of(values: object) -> Schema:
    """A schema from plain values: a TOML document, or what ``to_dict`` gives."""
    top = _mapping("schema", values)
    _refuse_unknown("schema", top, _TOP)
    sources = _mapping("sources", top.get("sources", {}))
    _refuse_unknown("sources", sources, ("records",))
    usual = _text("source", top.get("source", ""))
    return Schema(
        columns=tuple(_column(one, usual) for one in _columns(top.get("columns"))),
        records=top.get("records"),
        records_source=_text("records", sources.get("records", usual)),
        title=_text("title", top.get("title", "")),
        invalid=_text("invalid", top.get("invalid", "refuse")),  # type: ignore[arg-type]
        form=_form(_mapping("file", top.get("file", {}))),
        label_facts=label_facts.label_facts_of(_mapping("labels", top.get("labels", {})), usual),
    )


def plain_schema(schema: Schema) -> dict[str, Any]:
    """All fields written out, columns as a list: their order is that of the features."""
    return {
        "title": schema.title,
        "records": schema.records,
        "sources": {"records": schema.records_source},
        "invalid": schema.invalid,
        "file": _plain_fields(schema.form),
        "columns": [_plain_column(column) for column in schema.columns],
    } | schema.label_facts.to_dict()


def _columns(value: object) -> list[Values]:
    """From [columns.NAME] tables, or a list of columns with their names."""
    if isinstance(value, Mapping):
        return [{"name": name, **_mapping(f"columns.{name}", one)} for name, one in value.items()]
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        return value
    raise InputError("columns must be tables such as [columns.age], got none")


def _column(values: Values, usual: str) -> Column:
    name = values.get("name")
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"a column must have a name, got {describe(name)}")
    try:
        return _checked_column(name, values, usual)
    except InputError as error:
        inner = str(error)
        raise InputError(inner if repr(name) in inner else f"column {name!r}: {inner}") from None


def _checked_column(name: str, values: Values, usual: str) -> Column:
    role = _role(values.get("role", "feature"))
    source = _text("source", values.get("source", usual))
    if role in (Role.PERSON, Role.IGNORED):
        _refuse_unknown("it", values, ("name", "role", "source"))
        return Column(name=name, role=role)
    if role is Role.LABEL:
        return Column(name=name, role=role, kind=_label(values), source=source)
    type_name = values.get("type")
    if not isinstance(type_name, str) or type_name not in KINDS:
        raise InputError(f"type must be one of {', '.join(KINDS)}, got {describe(type_name)}")
    reader, known = _READERS[type_name]
    _refuse_unknown(f"a column of type {type_name}", values, (*_COMMON, *known))
    kind = reader(values)
    usual_gap: Any = {"constant": ""} if isinstance(kind, Text) else "refuse"
    gap = _gap(values.get("gap", usual_gap))
    return Column(name=name, role=role, kind=kind, gap=gap, source=source)


def _role(value: object) -> Role:
    try:
        return Role(str(value))
    except ValueError:
        raise InputError(f"role must be one of {', '.join(Role)}, got {describe(value)}") from None


def _gap(value: object) -> Gap:
    if value == "refuse":
        return Gap()
    if value == "indicator":
        return Gap(indicator=True)
    if isinstance(value, Mapping) and set(value) == {"constant"}:
        return Gap(constant=_cell(value["constant"]))
    raise InputError(f"gap must be refuse, indicator or {{ constant = … }}, got {describe(value)}")


def _cell(value: object) -> str:
    """A constant as a cell is written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(finite("constant", value)) if isinstance(value, float) else str(value)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return _text("constant", value)


def _label(values: Values) -> Kind:
    """Classes, or a label by its type: a number with its range, or true or false."""
    own, type_name = ("name", "role", "source"), values.get("type")
    if type_name is None:
        _refuse_unknown("a label", values, (*own, "classes", "spellings"))
        classes = _texts("classes", values.get("classes"))
        return Category(values=classes, spellings=_spellings(values))
    if type_name not in _LABELS:
        raise InputError(
            f"a label must have classes, or type {' or '.join(_LABELS)}, got {describe(type_name)}"
        )
    _refuse_unknown(f"a label of type {type_name}", values, (*own, "type", *_LABELS[type_name]))
    return _READERS[type_name][0](values)


def _number(values: Values) -> Number:
    low, high = _pair("range", values.get("range"))
    scale = values.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise InputError(f"scale must be linear or log, got {describe(scale)}")
    return Number(
        low=finite("range", low),
        high=finite("range", high),
        zero=_optional("zero", values),
        unit=_text("unit", values.get("unit", "")),
        log=scale == "log",
    )


def _category(values: Values) -> Category:
    return Category(
        values=_texts("values", values.get("values")),
        other=_flag("other", values.get("other", False)),
        spellings=_spellings(values),
    )


def _date(values: Values) -> Date:
    first, last = (_cell(end) for end in _pair("span", values.get("span")))
    return Date(start=first, end=last, format=_text("format", values.get("format", "")))


def _number_list(values: Values) -> NumberList:
    low, high = _pair("range", values.get("range"))
    return NumberList(
        length=values.get("length"),  # type: ignore[arg-type]
        low=finite("range", low),
        high=finite("range", high),
        zero=_optional("zero", values),
        norm=_optional("norm", values),
    )


def _text_column(values: Values) -> Text:
    encoder = _text("encoder", values.get("encoder", ""))
    length = values.get("length", ENCODED.get(encoder))
    if length is None:
        raise InputError(f"length must say how many numbers {encoder!r} makes of a text, got none")
    return Text(encoder=encoder, length=length, norm=finite("norm", values.get("norm", 1.0)))


_READERS: Final[dict[str, tuple[Callable[[Values], Kind], tuple[str, ...]]]] = {
    "number": (_number, ("range", "zero", "unit", "scale")),
    "category": (_category, ("values", "other", "spellings")),
    "true-false": (lambda _: TrueFalse(), ()),
    "date": (_date, ("span", "format")),
    "numbers": (_number_list, ("length", "range", "zero", "norm")),
    "text": (_text_column, ("encoder", "length", "norm")),
}


_LABELS: Final[dict[str, tuple[str, ...]]] = {
    Number.type: ("range", "unit"),
    TrueFalse.type: (),
}
"""Types of labels that have no classes, and their fields."""
_LABEL_FIELDS: Final = ("range", "unit")


def _form(values: Values) -> form.FileForm:
    known = {one.name for one in fields(form.FileForm)}
    _refuse_unknown("file", values, tuple(sorted(known)))
    given: dict[str, Any] = {}
    for name, value in values.items():
        if name in ("gaps", "true", "false"):
            given[name] = _texts(name, value, empty=True)
        elif name == "header":
            given[name] = _flag(name, value)
        else:
            given[name] = _text(name, value)
    return form.FileForm(**given)


def _spellings(values: Values) -> tuple[tuple[str, str], ...]:
    """Pairs of (text, value), from { value = ["text", …] }."""
    spellings = _mapping("spellings", values.get("spellings", {}))
    return tuple(
        (text, value) for value, others in spellings.items() for text in _texts("spellings", others)
    )


def _plain_column(column: Column) -> dict[str, Any]:
    plain: dict[str, Any] = {"name": column.name, "role": str(column.role)}
    if column.kind is None:
        return plain
    plain["source"] = column.source
    if column.role is Role.LABEL and isinstance(column.kind, Category):
        classes = {"classes": list(column.kind.values), "spellings": _spelled(column.kind)}
        return plain | classes
    if column.role is Role.LABEL:
        fields_of = {"type": column.kind.type} | _plain_kind(column.kind)
        return plain | {n: v for n, v in fields_of.items() if n == "type" or n in _LABEL_FIELDS}
    gap: Any = "indicator" if column.gap.indicator else "refuse"
    if column.gap.constant is not None:
        gap = {"constant": column.gap.constant}
    return plain | {"type": column.kind.type, "gap": gap} | _plain_kind(column.kind)


def _plain_kind(kind: Kind) -> dict[str, Any]:
    if isinstance(kind, Category):
        spelled = _spelled(kind)
        return {"values": list(kind.values), "other": kind.other, "spellings": spelled}
    if isinstance(kind, Date):
        return {"span": [kind.start, kind.end], "format": kind.format}
    plain = _plain_fields(kind)
    if isinstance(kind, (Number, NumberList)):
        plain["range"] = [plain.pop("low"), plain.pop("high")]
    if isinstance(kind, Number):
        plain["scale"] = "log" if plain.pop("log") else "linear"
    return {name: value for name, value in plain.items() if value is not None}


def _spelled(kind: Category) -> dict[str, list[str]]:
    by_value: dict[str, list[str]] = {}
    for text, value in kind.spellings:
        by_value.setdefault(value, []).append(text)
    return by_value


def _plain_fields(value: Any) -> dict[str, Any]:
    plain = {one.name: getattr(value, one.name) for one in fields(value)}
    return {name: list(one) if isinstance(one, tuple) else one for name, one in plain.items()}


def _mapping(name: str, value: object) -> Values:
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be a table, got {describe(value)}")
    return value


def _refuse_unknown(what: str, values: Values, known: tuple[str, ...]) -> None:
    if unknown := [name for name in values if name not in known]:
        raise InputError(
            f"{what} must have known fields only, got {unknown[0]!r}: {', '.join(known)}"
        )


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{name} must be a text, got {describe(value)}")
    return value


def _texts(name: str, value: object, *, empty: bool = False) -> tuple[str, ...]:
    if not isinstance(value, list) or not (value or empty):
        raise InputError(f"{name} must be a list of texts, got {describe(value)}")
    return tuple(_cell(one) if isinstance(one, int) else _text(name, one) for one in value)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{name} must be true or false, got {describe(value)}")
    return value


def _pair(name: str, value: object) -> tuple[Any, Any]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise InputError(f"{name} must be two values such as [0, 100], got {describe(value)}")
    return value[0], value[1]


def _optional(name: str, values: Values) -> float | None:
    return None if values.get(name) is None else finite(name, values[name])
