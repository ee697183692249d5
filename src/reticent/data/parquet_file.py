"""A Parquet file as an Arrow table that was looked at before it was read.

A page may say "the same value a billion times" in a few bytes. So the numbers of values that the
footer declares are added up first; texts, of which a dictionary may hold a long one, are read a few
rows at a time, and counted. Afterwards every offset and index is checked: Arrow trusts them.
"""

import io
import struct
from pathlib import Path
from typing import Any, Final

from reticent.read_limit import read_limit, refuse_above_limit
from reticent.validation import InputError

_ROWS: Final = 1 << 16
_COLUMN: Final = 10_000  # as of a column of a CSV file
_TEXTS: Final = (6, 7)  # parquet.thrift: BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY
_DEEPEST: Final = 16
_GROWTH: Final = 64
"""A number of one byte in a footer takes so many in Python, at most."""


def read_parquet(path: Path) -> Any:
    """The table of a whole file; one that is cut short, damaged or too large is refused."""
    import pyarrow
    from pyarrow import parquet

    damaged = (pyarrow.ArrowException, OSError, ValueError, TypeError, LookupError, struct.error)
    try:
        with parquet.ParquetFile(path) as file:
            table = _table(path, file)
        table.validate(full=True)
    except InputError:
        raise
    except (*damaged, AttributeError, OverflowError, MemoryError, NotImplementedError):
        raise InputError(
            f"{path.name} must be a whole Parquet file, got one cut short or another file"
        ) from None
    return table


def _table(path: Path, file: Any) -> Any:
    import pyarrow

    batches, size = [], 0
    for batch in file.iter_batches(batch_size=_batch_rows(path), use_threads=False):
        size += batch.nbytes
        refuse_above_limit(path.name, 2 * size)
        batches.append(batch)
    return pyarrow.Table.from_batches(batches, schema=file.schema_arrow)


def _batch_rows(path: Path) -> int:
    """How many rows to read at a time, after a look at what the footer declares.

    pyarrow's own view of a column in a damaged footer ends the process (a C++ exception that nobody
    catches), so the few fields that count are read here.
    """
    chunks = [
        column.get(3, {}) for group in _footer(path).get(4, []) for column in group.get(1, [])
    ]
    values = [_size(chunk.get(5)) for chunk in chunks]
    bytes_ = [_size(chunk.get(6)) for chunk in chunks]
    pairs = zip(values, bytes_, strict=True)
    refuse_above_limit(path.name, sum(_COLUMN + max(16 * n, size) for n, size in pairs))
    texts = (size for chunk, size in zip(chunks, bytes_, strict=True) if chunk.get(1) in _TEXTS)
    return min(_ROWS, max(1, read_limit() // 8 // max(1, max(texts, default=0))))


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
        found: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._whole()
            found[number] = head & 15 == 1 if head & 15 in (1, 2) else self._value(head & 15, depth)
        return found

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
