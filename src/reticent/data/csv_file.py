"""A CSV file as an Arrow table in which each cell is a function of its own text.

Left alone, Arrow finds the type of a column by looking at all its cells, and reads the file in
blocks, whose ends depend on the lengths of all rows before. Here the types are said beforehand, no
block ends between CR and LF, and what cannot be read in blocks is read as one.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from reticent.data.dataset import where
from reticent.read_limit import read_limit, refuse_above_limit
from reticent.validation import InputError

BLOCK: Final = 1 << 22
_COLUMN: Final = 10_000
"""Bytes that Arrow takes for a column of one cell, as measured."""
_LARGEST_BLOCK: Final = 2**31 - 1
_TRIMMED: Final = " \t"
"""What Arrow leaves out around a number."""


_UNPACKERS: Final[dict[str, Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_DAMAGED: Final = (UnicodeDecodeError, OSError, EOFError, zlib.error, lzma.LZMAError)


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a text table is written; by default as CSV in UTF-8.

    ``names`` are those of the columns where the file has no header. Lines that begin with
    ``comment`` are left out; a record is a line then, and a quote is an ordinary sign.
    """

    separator: str = ","
    encoding: str = "utf-8"
    comment: str = ""
    names: tuple[str, ...] | None = None

    def opened(self, path: Path) -> _Readable:
        """The bytes of the table, unpacked and in UTF-8, without comments."""
        unpack = _UNPACKERS.get(path.suffix.lower())
        file: Any = path.open("rb") if unpack is None else unpack(path)
        if codecs.lookup(self.encoding).name == "utf-8" and not self.comment:
            return file  # type: ignore[no-any-return]
        return _Blocks(file, self)

    def blocks(self, file: _Readable) -> Iterator[bytes]:
        """The same in blocks of some length."""
        blocks = iter(partial(file.read, BLOCK), b"")
        if codecs.lookup(self.encoding).name != "utf-8":
            blocks = _in_utf8(blocks, self.encoding)
        return _without_comments(blocks, self.comment.encode()) if self.comment else blocks


class _Readable(Protocol):
    """What bytes are read from."""

    def read(self, size: int = -1, /) -> bytes:
        """So many bytes, or all."""

    def close(self) -> None:
        """Give up the file or stream that bytes are read from."""

    def __enter__(self) -> Any: ...

    def __exit__(self, *error: object) -> Any: ...


class _Blocks:
    """Bytes that come in blocks of any length, read in others."""

    def __init__(self, file: _Readable, dialect: Dialect) -> None:
        self._file = file
        self._coming = dialect.blocks(file)
        self._rest = b""

    def read(self, size: int = -1, /) -> bytes:
        """At most so many bytes; none at the end."""
        while not self._rest:
            block = next(self._coming, None)
            if block is None:
                return b""
            self._rest = block
        cut = len(self._rest) if size < 0 else size
        block, self._rest = self._rest[:cut], self._rest[cut:]
        return block

    def close(self) -> None:
        """Close the file below, whether or not all its blocks were read."""
        self._file.close()

    def __enter__(self) -> _Blocks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _in_utf8(blocks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    for block in blocks:
        yield decoder.decode(block).encode()
    yield decoder.decode(b"", final=True).encode()


def _without_comments(blocks: Iterator[bytes], sign: bytes) -> Iterator[bytes]:
    rest = b""
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        yield b"".join(line + b"\n" for line in lines if not line.startswith(sign))
    if not rest.startswith(sign):
        yield rest


class _Rows(io.RawIOBase):
    """The bytes of a file, then a row of empty cells; no block ends between CR and LF.

    At the end of a block Arrow takes CR LF for one line end, also inside a quoted cell.
    """

    def __init__(self, path: Path, dialect: Dialect, last_row: bytes) -> None:
        super().__init__()
        self._file = dialect.opened(path)
        self._rest = b""
        self._tail = b"\n" + last_row + b"\n"

    def read(self, size: int = -1) -> bytes:
        """The next block, full unless it is the last."""
        size = _LARGEST_BLOCK if size < 0 else size
        block, self._rest = self._rest, b""
        while len(block) < size and (more := self._more(size - len(block))):
            block += more
        if len(block) > 1 and block.endswith(b"\r"):
            block, self._rest = block[:-1], b"\r"
        return block

    def _more(self, size: int) -> bytes:
        more = self._file.read(size)
        if not more:
            more, self._tail = self._tail[:size], self._tail[size:]
        return more

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()


@dataclass(frozen=True, kw_only=True)
class CsvFile:
    """A CSV file whose header was read; its cells are read when asked for."""

    path: Path
    names: tuple[str, ...]
    size: int
    """Bytes, unpacked."""
    header: bool
    """Whether the first row surely names the columns: it has a name that the user said."""
    dialect: Dialect = Dialect()

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        named_columns: frozenset[str] = frozenset(),
        dialect: Dialect | None = None,
    ) -> CsvFile:
        """Read the header; whatever is not UTF-8 is refused, since Arrow would show it."""
        form = Dialect() if dialect is None else dialect
        size = _checked_size(path, form)
        for block in _blocks(size):
            names = form.names or _Reading(path, form).names(block)
            if names is not None:
                header = bool(named_columns & set(names))
                return cls(path=path, names=names, size=size, header=header, dialect=form)
        refuse_above_limit(path.name, 2 * size)  # then it was not tried as one block
        raise InputError(_not_csv(path, form))

    def table(self, types: dict[str, Any]) -> Any:
        """All rows, each column in its type; a column without one is guessed from all its cells.

        A cell that is no number where one must be is named by row and column, and not shown.
        """
        import pyarrow

        rows = self._read(types)
        if rows is not None:
            return rows
        text = self._read(dict.fromkeys(self.names, pyarrow.string()))
        numbers = [name for name, kind in types.items() if kind == pyarrow.float64()]
        if text is not None:
            for name in numbers:
                _refuse_no_number(self.path.name, self.called(name), text.column(name))
        refuse_above_limit(self.path.name, 2 * self.size)
        raise InputError(_not_csv(self.path, self.dialect))

    def called(self, name: str) -> str:
        """A column in a message: by its place where its name may be a cell."""
        return repr(name) if self.header else f"{self.names.index(name)} (counting from 0)"

    def _read(self, types: dict[str, Any]) -> Any | None:
        """None where a cell is not of its type, or the file is no table.

        A block may be too small for a row, and Arrow loses its place where one ends within two
        quotes: then all is one block, so that the outcome does not depend on where blocks end.
        """
        for block in _blocks(self.size):
            table = _Reading(self.path, self.dialect).table(block, types, fields=len(self.names))
            if table is not None:
                return table
        return None


@dataclass(frozen=True)
class _Reading:
    """One reading of a file by Arrow, in blocks of some size; rows of another width are noted."""

    path: Path
    dialect: Dialect
    uneven: list[Any] = field(default_factory=list)

    def names(self, block: int) -> tuple[str, ...] | None:
        import pyarrow
        from pyarrow import csv

        try:
            with (
                _Rows(self.path, self.dialect, b"") as rows,
                csv.open_csv(rows, **self._options(block)) as file,
            ):
                return tuple(file.schema.names)
        except (pyarrow.ArrowException, OSError, MemoryError):
            self._refuse_uneven()
            return None

    def table(self, block: int, types: dict[str, Any], *, fields: int) -> Any | None:
        import pyarrow
        from pyarrow import csv

        empty = b'""' if fields == 1 else self.dialect.separator.encode() * (fields - 1)
        try:
            with _Rows(self.path, self.dialect, empty) as rows:
                table = csv.read_csv(rows, **self._options(block, types))
        except (pyarrow.ArrowException, OSError, MemoryError):
            self._refuse_uneven()
            return None
        last = [column[-1].as_py() for column in table.columns]
        is_empty_row = all(cell is None or cell == "" for cell in last)
        return table.slice(0, table.num_rows - 1) if is_empty_row else None  # else a quote is open

    def _options(self, block: int, types: dict[str, Any] | None = None) -> dict[str, Any]:
        from pyarrow import csv

        def note(row: Any) -> str:
            self.uneven.append(row)
            return "error"

        return {
            # only without threads are rows numbered
            "read_options": csv.ReadOptions(
                use_threads=False, block_size=block, column_names=self.dialect.names
            ),
            "parse_options": csv.ParseOptions(
                delimiter=self.dialect.separator,
                quote_char=False if self.dialect.comment else '"',
                newlines_in_values=not self.dialect.comment,
                invalid_row_handler=note,
            ),
            "convert_options": csv.ConvertOptions(
                null_values=[""],
                strings_can_be_null=False,
                true_values=[],
                false_values=[],
                column_types=types or {},
            ),
        }

    def _refuse_uneven(self) -> None:
        """A row of another width is refused at once; Arrow's own message would show the row."""
        if self.uneven:
            row, ahead = self.uneven[0], 2 if self.dialect.names is None else 1
            raise InputError(
                f"{self.path.name} must have {row.expected_columns} fields in each row,"
                f" got {row.actual_columns} in {where(row.number - ahead)}"
            ) from None


def _refuse_no_number(file: str, called: str, column: Any) -> None:
    """Name the first cell that is no number, as Arrow reads numbers."""
    from pyarrow import compute

    cells = compute.utf8_trim(column, _TRIMMED)
    row, end = 0, len(cells)
    if _all_numbers(cells):
        return
    while end - row > 1:  # it is in row … end − 1
        middle = (row + end) // 2
        row, end = (middle, end) if _all_numbers(cells.slice(row, middle - row)) else (row, middle)
    kind = "text" if str(cells[row]).strip() else "an empty cell"
    raise InputError(
        f"{file} must hold numbers in its feature columns, got {kind} in {where(row)},"
        f" column {called}: leave it out (--drop), describe it in a --schema, or choose"
        " a column of lists (--embedding)"
    )


def _all_numbers(cells: Any) -> bool:
    import pyarrow

    try:
        cells.cast(pyarrow.float64())
    except pyarrow.ArrowInvalid:
        return False
    return True


def _blocks(size: int) -> tuple[int, ...]:
    """The usual size, and one for the whole file and the row that is appended, if memory allows."""
    whole = min(2 * size + BLOCK, _LARGEST_BLOCK)
    return (BLOCK, whole) if 2 * size <= read_limit() else (BLOCK,)


def _checked_size(path: Path, dialect: Dialect) -> int:
    """How many bytes there are, all of them UTF-8, of a table that fits into memory.

    Each cell takes 8 bytes as it is read and 8 in the features; each column has builders of its
    own. Separators within quotes count as well: the sum is at least what is needed.
    """
    decoder, size, separators = codecs.getincrementaldecoder("utf-8")(), 0, 0
    sign = dialect.separator.encode()
    header = _HeaderWidth(sign)
    try:
        with dialect.opened(path) as file:
            while block := file.read(BLOCK):
                decoder.decode(block)
                header.see(block)
                size += len(block)
                separators += block.count(sign) + block.count(b"\n")
                refuse_above_limit(path.name, 16 * separators + _COLUMN * header.fields)
            decoder.decode(b"", final=True)
    except _DAMAGED:
        raise InputError(_not_csv(path, dialect)) from None
    return size


@dataclass
class _HeaderWidth:
    """How many fields the first row has, as far as it was seen; quotes may hold line ends."""

    sign: bytes
    fields: int = 1
    quoted: bool = False
    ended: bool = False

    def see(self, block: bytes) -> None:
        """Take the next block of the file into account."""
        while block and not self.ended:
            part, quote, block = block.partition(b'"')
            if not self.quoted:
                line, end, _ = part.replace(b"\r", b"\n").partition(b"\n")
                self.fields += line.count(self.sign)
                self.ended = bool(end)
            self.quoted ^= bool(quote)


def _not_csv(path: Path, dialect: Dialect) -> str:
    name = codecs.lookup(dialect.encoding).name.upper()
    return f"{path.name} must be a CSV table in {name}, got one that cannot be read"
