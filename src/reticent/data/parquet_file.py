"""A Parquet file, column by column, looked at before it is read.

A page may say "the same value a billion times" in a few bytes. So the numbers of values that the
footer declares are added up first; texts, of which a dictionary may hold a long one, are read a few
rows at a time, and counted. What was read is checked, every offset and index: Arrow trusts them.
"""

import io
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from reticent.read_limit import read_limit, refuse_above_limit
from reticent.validation import InputError

_ROWS: Final = 1 << 16
_VALUES: Final = 1 << 20
"""Of lists, read at a time."""
_BUFFER: Final = 1 << 20
"""Bytes of a column that are read ahead; Arrow's own way is all that a row group has."""
_COLUMN: Final = 10_000  # as of a column of a CSV file
_TEXTS: Final = (6, 7)  # parquet.thrift: BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY
_DEEPEST: Final = 16
_GROWTH: Final = 64
"""A number of one byte in a footer takes so many in Python, at most."""


@contextmanager
def _refusing_damage(path: Path) -> Iterator[None]:
    """Whatever Arrow raises within it is said in one line, without a cell."""
    import pyarrow

    damaged = (pyarrow.ArrowException, OSError, ValueError, TypeError, LookupError, struct.error)
    try:
        yield
    except InputError:
        raise
    except (*damaged, AttributeError, OverflowError, MemoryError, NotImplementedError):
        raise InputError(
            f"{path.name} must be a whole Parquet file, got one cut short or another file"
        ) from None


class ParquetColumns:
    """The columns of a file that stays open: each is read when it is asked for, part by part.

    So Arrow never holds more than a part of one column, and whoever makes an array of the parts
    needs memory for that array alone.
    """

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self.path = path
        with _refusing_damage(path):
            self._chunks = _Chunks.of(path)
            self._chunks.refuse_large(path)
            self._file = parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
            self.names: tuple[str, ...] = tuple(self._file.schema_arrow.names)
        self._kept: dict[str, int] = {}

    @property
    def records(self) -> int:
        """As the footer declares; each column of a whole file has as many."""
        return self._chunks.records

    def kind(self, name: str) -> Any:
        """The Arrow type of a column."""
        return self._file.schema_arrow.field(name).type

    def parts(self, name: str) -> Iterator[Any]:
        """A column as Arrow arrays, checked, as many cells as the footer declares."""
        size = seen = 0
        others = sum(kept for other, kept in self._kept.items() if other != name)
        with _refusing_damage(self.path):
            for batch in self._file.iter_batches(
                batch_size=self._chunks.rows, columns=[name], use_threads=False
            ):
                batch.validate(full=True)
                part = batch.column(name)  # of "a" Arrow reads columns of the name "a.b", too
                size, seen = size + part.nbytes, seen + len(part)
                self._kept[name] = max(size, 8 * seen)
                refuse_above_limit(self.path.name, others + 2 * self._kept[name])
                if seen > self.records:
                    break
                if len(part):
                    yield part
            if seen != self.records:
                raise ValueError("another number of records than the footer declares")

    def whole(self, name: str) -> Any:
        """A column as one Arrow array."""
        import pyarrow

        with _refusing_damage(self.path):
            return pyarrow.chunked_array(self.parts(name), type=self.kind(name)).combine_chunks()


class _Chunks(NamedTuple):
    """What the footer declares.

    pyarrow's own view of a column in a damaged footer ends the process (a C++ exception that nobody
    catches), so the few fields that count are read here.
    """

    records: int
    values: list[int]
    """Of each part of a column."""
    sizes: list[int]
    """Bytes when unpacked."""
    rows: int
    """To read at a time."""

    @classmethod
    def of(cls, path: Path) -> Self:
        """Numbers alone: nothing is allocated yet."""
        footer = _footer(path)
        groups = footer.get(4, [])
        chunks = [column.get(3, {}) for group in groups for column in group.get(1, [])]
        values = [_size(chunk.get(5)) for chunk in chunks]
        sizes = [_size(chunk.get(6)) for chunk in chunks]
        texts = (size for chunk, size in zip(chunks, sizes, strict=True) if chunk.get(1) in _TEXTS)
        lists = (
            _size(column.get(3, {}).get(5)) // max(1, _size(group.get(3)))
            for group in groups
            for column in group.get(1, [])
        )
        rows = min(
            _ROWS,
            max(1, read_limit() // 8 // max(1, max(texts, default=0))),
            max(1, _VALUES // max(1, max(lists, default=0))),
        )
        return cls(_size(footer.get(3)), values, sizes, rows)

    def refuse_large(self, path: Path) -> None:
        """Each value takes 8 bytes, and those of the largest part of a column twice as many."""
        pairs = zip(self.values, self.sizes, strict=True)
        needed = sum(_COLUMN + max(8 * n, size) for n, size in pairs)
        refuse_above_limit(path.name, needed + 8 * max(self.values, default=0))


def _size(value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError("no size")
    return value


def _footer(path: Path) -> dict[int, Any]:
    """The fields of the footer by their numbers (parquet.thrift: FileMetaData)."""
    with path.open("rb") as file:
        end = file.seek(0, 2)
        file.seek(max(0, end - 8))
        length, mark = struct.unpack("<I4s", file.read(8))
        if mark != b"PAR1" or not 0 < length <= end - 12:
            raise ValueError("no footer")
        refuse_above_limit(path.name, _GROWTH * length)
        file.seek(end - 8 - length)
        return _Thrift(file.read(length)).struct()


class _Thrift:
    """Values in Thrift's compact protocol; what they are called stands in another file."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The fields of a structure, up to its end."""
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._whole()
            fields[number] = (
                head & 15 == 1 if head & 15 in (1, 2) else self._value(head & 15, depth)
            )
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2, 3):  # a truth value takes a byte where it has no head of its own
            return self._byte()
        if kind in (4, 5, 6):
            return self._whole()
        if kind in (7, 8):
            length = 8 if kind == 7 else self._varint()
            text = self._content.read(length)
            if len(text) < length:
                raise ValueError("cut short")
            return text
        if kind in (9, 10):
            head = self._byte()
            count = self._varint() if head >> 4 == 15 else head >> 4
            return [self._value(head & 15, depth + 1) for _ in range(count)]
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError("a kind that no footer has")

    def _byte(self) -> int:
        return self._content.read(1)[0]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("no number")

    def _whole(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
