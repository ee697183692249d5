"""A first schema from a table that is public, or from the private one, which says so in the file.

Every range, list and span is then that of the table. From a public table that is a public fact;
from the private one each is marked, and no release by such a schema is more than declared.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reticent.data import csv_file, identifiers
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
MOST_CLASSES: Final = 20
"""A label with more different numbers is a number to predict."""
_YES_NO: Final = (("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("1", "0"))
"""What is read as true and false, in any case of letters."""
TRUE_FALSE: Final = 'type = "true-false"'
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, kw_only=True)
class Draft:
    """The text of a schema file, and lines about what was guessed."""

    text: str
    notes: tuple[str, ...]


def draft_schema(
    path: Path, *, label: str | Sequence[str] | None, person: str | None, source: str
) -> Draft:
    """A schema of all columns of a table; ``source`` stands behind each fact.

    ``label`` names one column, of classes or of numbers, or several that are true or false.
    """
    form, notes = _form_of(path)
    dialect = csv_file.Dialect(separator=form.separator, encoding=form.encoding)
    labels = (label,) if isinstance(label, str) else tuple(label or ())
    cells = open_cells(path, dialect, tuple(filter(None, (*labels, person))))
    for role, name in (*(("label", one) for one in labels), ("person", person)):
        if name is not None and name not in cells.names:
            raise InputError(f"--{role} must be a column of {path.name}, got {name!r}")
    form = form.of_typed_files if cells.typed else form
    columns = [
        _column(name, _texts_of(cells, name), form, (labels, person)) for name in cells.names
    ]
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
    spellings: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Of true and of false, beyond the usual ones."""


def _form_of(path: Path) -> tuple[FileForm, list[str]]:
    """Separator, encoding and decimal mark of a text table, by its first lines."""
    if path.suffix.lower() in (".npz", ".parquet") or not path.is_file():
        return FileForm(), []
    encoding = "utf-8" if _decodes(path, "utf-8") else "latin-1"
    with csv_file.Dialect(encoding=encoding).opened(path) as file:
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
        with csv_file.Dialect().opened(path) as file:
            content = file.read(1 << 20)
            content[: max(0, len(content) - 4)].decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _texts_of(cells: FileCells, name: str) -> Texts:
    column = cells.read(name, 0)
    if isinstance(column, Numbers):
        return Texts.of(map(text_of, column.values.tolist()))
    return column


def _column(
    name: str, cells: Texts, form: FileForm, named: tuple[tuple[str, ...], str | None]
) -> _Drafted:
    used = {int(place) for place in set(cells.places.tolist())}
    texts = [text.strip() for place, text in enumerate(cells.distinct) if place in used and text]
    gaps = tuple(text for text in _GAPS if text in texts)
    values = sorted({text for text in texts if text and text not in gaps})
    empty = len(texts) < len(used) or "" in texts or bool(gaps)
    labels, person = named
    head = f"[columns.{name if _PLAIN.fullmatch(name) else _written(name)}]"
    if name in labels:
        return _label(name, head, values, form, several=len(labels) > 1)
    if name == person:
        return _Drafted(lines=(head, 'role = "person"'))
    if reason := _not_a_feature(name, values, len(cells)):
        note = f"column {name!r} is left out: {reason}"
        return _Drafted(lines=(head, f'role = "ignored"        # {reason}'), notes=(note,))
    spellings = _true_false(values, form)
    lines = [TRUE_FALSE] if spellings else list(_kind_lines(values, form))
    if empty:
        lines.append('gap = "indicator"' if 'type = "text"' not in lines else "")
    notes = (f"column {name!r} is a text: the encoder minilm reads it",)
    texts_alone = 'type = "text"' in lines
    return _Drafted(
        lines=(head, *filter(None, lines)),
        gaps=gaps,
        notes=notes if texts_alone else (),
        spellings=spellings or ((), ()),
    )


def _label(name: str, head: str, values: list[str], form: FileForm, *, several: bool) -> _Drafted:
    """Classes; a number where there are many of them; true or false where there are several."""
    role = 'role = "label"'
    if several:
        spellings = _true_false(values, form)
        if spellings is None:
            raise InputError(
                f"--label must name columns that are true or false where it names several, got"
                f" {name!r}, which is not"
            )
        return _Drafted(lines=(head, role, TRUE_FALSE), spellings=spellings)
    numbers = _all(values, form.number)
    rule = f"a label with more than {MOST_CLASSES} different numbers is a number to predict"
    if len(set(numbers)) > MOST_CLASSES:
        low, high = round_range(min(numbers), max(numbers))
        lines = (head, role, 'type = "number"', f"range = [{low:.15g}, {high:.15g}]")
        return _Drafted(
            lines=lines, notes=(f"label {name!r}: {rule}; if it is classes, write classes = [...]",)
        )
    notes = (f"label {name!r}: classes; {rule}, this one has not as many",) if numbers else ()
    return _Drafted(lines=(head, role, f"classes = {_written(values)}"), notes=notes)


def _true_false(
    values: list[str], form: FileForm
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Which spellings of true and of false must be said besides; None where it is not both."""
    for pair in (*_YES_NO, ("1.0", "0.0")):
        sides = [tuple(v for v in values if v.casefold() == word) for word in pair]
        if all(sides) and sum(map(len, sides)) == len(values):
            true, false = sides
            return (
                tuple(v for v in true if v not in form.true),
                tuple(v for v in false if v not in form.false),
            )
    known = set(values) <= {*form.true, *form.false} and len(values) > 1
    return ((), ()) if known else None


def _not_a_feature(name: str, values: list[str], size: int) -> str:
    """Why a column is hardly a feature; nothing where it may be one."""
    if len(values) < 2:
        return "a constant"
    if identifiers.looks_like_identifier(name):
        return "its name is that of an identifier"
    if is_identifier(values, size):
        return "all whole numbers and all different, as an identifier"
    return ""


def is_identifier(values: list[str], size: int) -> bool:
    """Whether so many records have as many different whole numbers."""
    return size >= _FEW and len(values) == size and all(re.fullmatch(r"-?\d+", v) for v in values)


def _kind_lines(values: list[str], form: FileForm) -> Iterator[str]:
    if numbers := _all(values, form.number):
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
    spellings = {
        side: sorted({text for column in columns for text in column.spellings[place]})
        for place, side in enumerate(("true", "false"))
    }
    if changed or gaps or any(spellings.values()):
        yield ""
        yield "[file]"
        for name, value in changed.items():
            yield f"{name} = {_written(value)}"
        if gaps:
            yield f"gaps = {_written(gaps)}"
        for side, more in spellings.items():
            if more:
                yield f"{side} = {_written([*getattr(form, side), *more])}"


def _written(value: str | list[str]) -> str:
    """As TOML writes texts and lists of them."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


__all__ = ["Draft", "draft_schema", "is_identifier", "round_range"]
