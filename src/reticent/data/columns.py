"""The columns of an .npz, .csv or .parquet file as plain arrays, each converted when asked for.

No cell is shown in a message: cells are private.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from reticent.arrays import Array
from reticent.data import cells, dataset, frames
from reticent.data.archive import archive
from reticent.data.csv_file import CsvFile
from reticent.files import existing_file
from reticent.read_limit import refuse_above_limit
from reticent.validation import InputError

_SHOWN: Final = 20
_LONGEST: Final = 60


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Names in file order, and the way to one column: numbers, texts, or an array per record."""

    file: str
    names: tuple[str, ...]
    read: Callable[[str], Array]
    header: bool = True
    """Whether these are names for sure; the first row of a CSV file may be a record."""

    def __post_init__(self) -> None:
        """Refuse two columns of one name."""
        twice = [name for name, times in Counter(self.names).items() if times > 1]
        if twice:
            shown = repr(twice[0]) if self.header else "a name"
            raise InputError(f"{self.file} must name its columns differently, got {shown} twice")

    def column(self, name: str, *, role: str) -> Array:
        """One column; if there is none of that name, the error lists those that surely are."""
        self.refuse_unknown(name, role=role)
        return self.read(name)

    def refuse_unknown(self, name: str, *, role: str) -> None:
        """Before a cell is read: without its column of persons a table has texts as features."""
        if name not in self.names:
            raise InputError(
                f"{role} must be a column of {self.file}, got {name!r}: {self._others()}"
            )

    def _others(self) -> str:
        """What there is instead; cells of a record are shown by no message."""
        if self.header:
            return f"it has {_listed(self.names)}"
        return _without_header(self.names) or (
            f"its first row has {len(self.names)} others, which are not shown since they would be"
            " a record's if the header were missing"
        )


def open_columns(
    path: Path,
    *,
    texts: Iterable[str] = (),
    guessed: Iterable[str] | None = None,
    named_columns: Iterable[str] = (),
    only: Iterable[str] | None = None,
) -> Columns:
    """The columns of a file, by the ending of its name.

    CSV has no types. The columns ``texts`` are texts. The columns ``guessed`` get the type that all
    their cells have, so that one record more may turn the label "01" of another from 1 into "01":
    no proven release may rest on them. All other columns are float64; without ``guessed`` they are
    guessed too, and with ``only`` these alone are float64 and the rest is texts. A CSV file has a
    header for sure if it has one of the ``named_columns``, or of ``texts`` or ``guessed``;
    otherwise no message shows its first row.
    """
    if frames.is_saved_dataset(path):
        return arrow_columns(path.name, frames.read_saved_dataset(path))
    existing_file(path)
    for ending, opener in _OPENERS.items():
        if path.name.lower().endswith(ending):
            if path.stat().st_size == 0:
                raise InputError(f"{path.name} must hold records, got an empty file")
            asked = _Kinds(
                frozenset(texts),
                None if guessed is None else frozenset(guessed),
                None if only is None else frozenset(only),
            )
            return opener(path, asked, asked.texts | (asked.guessed or set()) | set(named_columns))
    raise InputError(f"path must end in {', '.join(_OPENERS)}, got {path.name!r}")


class _Kinds(NamedTuple):
    """Which columns of a CSV file are texts, and which are guessed; None: all others."""

    texts: frozenset[str]
    guessed: frozenset[str] | None
    only: frozenset[str] | None


def _npz(path: Path, _kinds: _Kinds, _named_columns: frozenset[str]) -> Columns:
    arrays = archive(path)

    def read(name: str) -> Array:
        array = arrays[name]
        if array.dtype.kind not in "biufU" or array.ndim == 0:
            raise InputError(
                f"{path.name} must hold numbers or texts,"
                f" got {array.dtype} of shape {array.shape} in {name!r}"
            )
        return array.astype(np.uint8) if array.dtype.kind == "b" else array

    return Columns(file=path.name, names=tuple(arrays), read=read)


def _csv(path: Path, kinds: _Kinds, named_columns: frozenset[str]) -> Columns:
    arrow = arrow_of(path)
    file = CsvFile.open(path, named_columns=named_columns)
    guessed = frozenset(file.names) if kinds.guessed is None else kinds.guessed
    types = dict.fromkeys((name for name in file.names if name not in guessed), arrow.float64())
    rest = {} if kinds.only is None else set(types) - kinds.only
    types.update(dict.fromkeys({*kinds.texts, *rest}, arrow.string()))
    table = cache(lambda: file.table(types))  # when names are known to be no cells, or never

    def read(name: str) -> Array:
        place = _Place(path.name, file.called(name))
        return _converted(place, table().column(name).combine_chunks())

    return Columns(file=path.name, names=file.names, read=read, header=file.header)


def _parquet(path: Path, _kinds: _Kinds, _named_columns: frozenset[str]) -> Columns:
    arrow_of(path)
    from reticent.data.parquet_file import ParquetColumns

    table = ParquetColumns(path)
    return Columns(file=path.name, names=table.names, read=partial(_gathered, table))


def _gathered(table: Any, name: str) -> Array:
    """A column of numbers or lists, part by part into one array; texts at once."""
    from pyarrow import types

    kind, called = table.kind(name), repr(name)
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    if not table.records or not (is_number or _is_list(kind)):
        return _converted(_Place(table.path.name, called), table.whole(name))
    values: Array = np.empty(0)
    at = _Place(table.path.name, called)
    for part in table.parts(name):
        if at.first == 0 and _is_list(kind):
            at = at._replace(length=part.value_lengths()[0].as_py())
        converted = _converted(at, part)
        if at.first == 0:
            values = np.empty((table.records, *converted.shape[1:]), dtype=converted.dtype)
        if converted.shape[1:] != values.shape[1:]:  # lists of lists
            _refuse_uneven(at, values.shape[1], converted.shape[1], at.first)
        values[at.first : at.first + len(converted)] = converted
        at = at._replace(first=at.first + len(converted))
    return values


class _Place(NamedTuple):
    """Where cells stand, for messages, and how long lists before them were."""

    file: str
    called: str
    first: int = 0
    length: int | None = None


def arrow_columns(file: str, table: Any) -> Columns:
    """The columns of an Arrow table, from whichever file or frame it came."""

    def read(name: str) -> Array:
        return _converted(_Place(file, repr(name)), table.column(name).combine_chunks())

    return Columns(file=file, names=tuple(table.column_names), read=read)


_OPENERS: Final[dict[str, Callable[[Path, _Kinds, frozenset[str]], Columns]]] = {
    ".npz": _npz,
    ".csv": _csv,
    ".csv.gz": _csv,
    ".parquet": _parquet,
}


def arrow_of(path: Path) -> Any:
    """pyarrow, or the line that says how to install it."""
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise InputError(
            f"pyarrow must be installed to read {path.name}: pip install 'reticent[tables]'"
        ) from None
    return pyarrow


def _converted(at: _Place, column: Any) -> Array:
    """A column that was read as numpy; what Arrow says about it may show cells."""
    import pyarrow

    try:
        return _plain(at, column)
    except pyarrow.ArrowException:
        raise InputError(
            f"{at.file} must hold numbers or texts, got a damaged column {at.called}"
        ) from None


def _plain(at: _Place, column: Any) -> Array:
    """An Arrow column as numpy; dates and other types are refused."""
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = decoded_dictionary(at.file, column)
    _refuse_missing(at, column)
    if len(column) == 0 and types.is_null(column.type):  # a CSV file of a header alone
        return np.zeros(0)
    if types.is_integer(column.type) or types.is_floating(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if types.is_boolean(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.uint8)
    if types.is_string(column.type) or types.is_large_string(column.type):
        return _texts(at.file, column)
    if _is_list(column.type):
        return _stacked(at, column)
    raise InputError(
        f"{at.file} must hold numbers or texts, got {column.type} in column {at.called}"
    )


def decoded_dictionary(file: str, column: Any) -> Any:
    """Each record with its own copy of what it points to, if there is room for all of them."""
    from pyarrow import compute, types

    if types.is_string(column.type.value_type) or types.is_large_string(column.type.value_type):
        longest = compute.max(compute.binary_length(column.dictionary)).as_py() or 0
        refuse_above_limit(file, len(column) * longest)
    return column.dictionary_decode()


def _texts(file: str, column: Any) -> Array:
    from pyarrow import compute

    longest = compute.max(compute.utf8_length(column)).as_py() or 0
    refuse_above_limit(file, 12 * len(column) * longest)  # UCS-4, sorted and numbered
    return cells.text_array(file, column.to_pylist())


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _stacked(at: _Place, column: Any) -> Array:
    """Lists of numbers as the rows of one array."""
    from pyarrow import types

    if len(column) == 0 and types.is_fixed_size_list(column.type):
        return np.zeros((0, column.type.list_size), dtype=np.float32)
    lengths = np.asarray(column.value_lengths().to_numpy(zero_copy_only=False))
    if len(lengths) == 0:
        raise InputError(no_length(at.file, at.called))
    length = int(lengths[0]) if at.length is None else at.length
    uneven = np.flatnonzero(lengths != length)
    if len(uneven):
        row = int(uneven[0])
        _refuse_uneven(at, length, lengths[row], at.first + row)
    values = column.flatten()
    if values.null_count:
        _refuse_gap(at, _first_null(values) // max(1, length))
    return _plain(at._replace(length=None), values).reshape(len(lengths), -1)


def _refuse_uneven(at: _Place, length: int, other: int, row: int) -> None:
    raise InputError(
        f"{at.file} must hold lists of one length in column {at.called}, got {length} numbers"
        f" first and {other} in {dataset.where(row)}"
    )


def no_length(file: str, called: str) -> str:
    """Why a column of lists without records is refused."""
    return f"{file} must hold a record that shows the length of {called}, got none"


def _refuse_missing(at: _Place, column: Any) -> None:
    if column.null_count:
        _refuse_gap(at, _first_null(column))


def _refuse_gap(at: _Place, row: int) -> None:
    raise InputError(
        f"{at.file} must have no gaps, got one in {dataset.where(at.first + row)},"
        f" column {at.called}"
    )


def _first_null(column: Any) -> int:
    return int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))


def _without_header(names: tuple[str, ...]) -> str | None:
    """Why these are hardly names, but cells of a record, which no message may show."""
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        return "it has one column; columns must be separated by commas"
    if any(map(is_number, names)):
        return f"it has {len(names)} columns, some with numbers for names; is its header missing?"
    return None


def is_number(text: str) -> bool:
    """Whether a cell is one, NaN and infinity included."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _listed(names: Iterable[str]) -> str:
    all_names = [repr(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…") for name in names]
    more = f" and {len(all_names) - _SHOWN} more" if len(all_names) > _SHOWN else ""
    return ", ".join(all_names[:_SHOWN]) + more
