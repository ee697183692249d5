"""A first schema from a table that is public, or from the private one, which says so in the file.

Every range, list and span is then that of the table. From a public table that is a public fact;
from the private one each is marked, and no release by such a schema is more than declared.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reticent.data.csv_file import Dialect
from reticent.data.identifiers import looks_like_identifier
from reticent.data.schema.file_cells import FileCells, Numbers, Texts, open_cells, text_of
from reticent.data.schema.form import FileForm, InvalidCellError
from reticent.data.schema.kinds import Date
from reticent.validation import InputError

MOST_VALUES: Final = 60
"""More different texts are no list of categories."""
_FEW: Final = 20
"""With fewer records nothing is called an identifier by its cells."""
_FORMATS: Final = ("", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d")
_SEPARATORS: Final = ",;\t|"
_GAPS: Final = ("?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "-")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, kw_only=True)
class Draft:
    """The text of a schema file, and lines about what was guessed."""

    text: str
    notes: tuple[str, ...]


def draft_schema(path: Path, *, label: str | None, person: str | None, source: str) -> Draft:
    """A schema of all columns of a table; ``source`` stands behind each fact."""
    form, notes = _form_of(path)
    dialect = Dialect(separator=form.separator, encoding=form.encoding)
    cells = open_cells(path, dialect, tuple(filter(None, (label, person))))
    for role, name in (("label", label), ("person", person)):
        if name is not None and name not in cells.names:
            raise InputError(f"--{role} must be a column of {path.name}, got {name!r}")
    form = form.of_typed_files if cells.typed else form
    columns = [_column(name, _texts_of(cells, name), form, (label, person)) for name in cells.names]
    lines = [
        f"# A draft from {path.name}: look at every line before it is used.",
        f"source = {_written(source)}",
        "# records = 1000        about how many private records there are; a source for it:",
        "# [sources]",
        '# records = "…"',
        *_written_form(form, columns),
    ]
    for column in columns:
        lines += ["", *column.lines]
        notes += column.notes
    return Draft(text="\n".join(lines) + "\n", notes=tuple(notes))


@dataclass(frozen=True, kw_only=True)
class _Drafted:
    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


def _form_of(path: Path) -> tuple[FileForm, list[str]]:
    """Separator, encoding and decimal mark of a text table, by its first lines."""
    if path.suffix.lower() in (".npz", ".parquet") or not path.is_file():
        return FileForm(), []
    encoding = "utf-8" if _decodes(path, "utf-8") else "latin-1"
    with Dialect(encoding=encoding).opened(path) as file:
        first = file.read(1 << 16).decode("utf-8", "replace")
    header = first.partition("\n")[0]
    separator = max(_SEPARATORS, key=header.count)
    rest = first.splitlines()[1:50]
    commas = sum(bool(re.search(r"(^|;|\t|\|)\s*-?\d+,\d+\s*($|;|\t|\|)", line)) for line in rest)
    decimal = "," if separator != "," and commas else "."
    notes = []
    if (separator, encoding, decimal) != (",", "utf-8", "."):
        notes.append(
            f"guessed: separator {separator!r}, decimal {decimal!r}, encoding {encoding}, which"
            " stand in the file"
        )
    return FileForm(separator=separator, encoding=encoding, decimal=decimal), notes


def _decodes(path: Path, encoding: str) -> bool:
    try:
        with Dialect().opened(path) as file:
            content = file.read(1 << 20)
            content[: max(0, len(content) - 4)].decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _texts_of(cells: FileCells, name: str) -> Texts:
    found = cells.read(name, 0)
    if isinstance(found, Numbers):
        return Texts.of(map(text_of, found.values.tolist()))
    return found


def _column(
    name: str, cells: Texts, form: FileForm, named: tuple[str | None, str | None]
) -> _Drafted:
    used = {int(place) for place in set(cells.places.tolist())}
    texts = [text.strip() for place, text in enumerate(cells.distinct) if place in used and text]
    gaps = tuple(text for text in _GAPS if text in texts)
    values = sorted({text for text in texts if text and text not in gaps})
    empty = len(texts) < len(used) or "" in texts or bool(gaps)
    label, person = named
    head = f"[columns.{name if _PLAIN.fullmatch(name) else _written(name)}]"
    if name == label:
        return _Drafted(lines=(head, 'role = "label"', f"classes = {_written(values)}"))
    if name == person:
        return _Drafted(lines=(head, 'role = "person"'))
    if reason := _not_a_feature(name, values, len(cells)):
        note = f"column {name!r} is left out: {reason}"
        return _Drafted(lines=(head, f'role = "ignored"        # {reason}'), notes=(note,))
    lines = list(_kind_lines(values, form))
    if empty:
        lines.append('gap = "indicator"' if 'type = "text"' not in lines else "")
    notes = (f"column {name!r} is a text: the encoder minilm reads it",)
    texts_alone = 'type = "text"' in lines
    return _Drafted(
        lines=(head, *filter(None, lines)), gaps=gaps, notes=notes if texts_alone else ()
    )


def _not_a_feature(name: str, values: list[str], size: int) -> str:
    """Why a column is hardly a feature; nothing where it may be one."""
    if len(values) < 2:
        return "a constant"
    if looks_like_identifier(name):
        return "its name is that of an identifier"
    if is_identifier(values, size):
        return "all whole numbers and all different, as an identifier"
    return ""


def is_identifier(values: list[str], size: int) -> bool:
    """Whether so many records have as many different whole numbers."""
    return size >= _FEW and len(values) == size and all(re.fullmatch(r"-?\d+", v) for v in values)


def _kind_lines(values: list[str], form: FileForm) -> Iterator[str]:
    if set(values) <= {*form.true, *form.false}:
        yield 'type = "true-false"'
    elif numbers := _all(values, form.number):
        low, high = round_range(min(numbers), max(numbers))
        yield 'type = "number"'
        yield f"range = [{low:.15g}, {high:.15g}]"
    elif dates := _date_lines(values):
        yield from dates
    elif len(values) <= MOST_VALUES and not _are_sentences(values):
        yield 'type = "category"'
        yield f"values = {_written(values)}"
        yield "other = true"
    else:
        yield 'type = "text"'
        yield 'encoder = "minilm"'


def _are_sentences(values: list[str]) -> bool:
    """Whether they have four words and more, on average."""
    return sum(len(value.split()) for value in values) >= 4 * len(values)


def _all(values: list[str], parse: Any) -> list[Any]:
    """All values as ``parse`` reads them, or none of them."""
    try:
        return [parse(value) for value in values]
    except (InvalidCellError, ValueError):
        return []


def _date_lines(values: list[str]) -> list[str]:
    for form in _FORMATS:
        kind = Date(start="0001-01-01", end="9999-12-31", format=form)
        days = _all(values, lambda cell, kind=kind: kind.moment(cell).date())
        if days:
            span = f'span = ["{min(days).year:04d}-01-01", "{max(days).year:04d}-12-31"]'
            return ['type = "date"', span, *([f"format = {_written(form)}"] if form else [])]
    return []


def round_range(low: float, high: float) -> tuple[float, float]:
    """A range of round numbers around another; 0 where it is near.

    >>> round_range(17, 87.5), round_range(3.2, 3.9)
    ((0.0, 90.0), (3.2, 3.9))
    """
    if not low < high:
        return low - 1, low + 1
    step = 10.0 ** math.floor(math.log10(high - low))
    ends = math.floor(low / step) * step, math.ceil(high / step) * step
    first, last = (float(f"{end:.12g}") for end in ends)
    return (0.0 if 0 <= first <= step else first), last


def _written_form(form: FileForm, columns: list[_Drafted]) -> Iterator[str]:
    gaps = sorted({gap for column in columns for gap in column.gaps})
    changed = {
        name: getattr(form, name)
        for name in ("separator", "decimal", "encoding")
        if getattr(form, name) != getattr(FileForm(), name)
    }
    if changed or gaps:
        yield ""
        yield "[file]"
        for name, value in changed.items():
            yield f"{name} = {_written(value)}"
        if gaps:
            yield f"gaps = {_written(gaps)}"


def _written(value: str | list[str]) -> str:
    """As TOML writes texts and lists of them."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


__all__ = ["Draft", "draft_schema", "is_identifier", "round_range"]
