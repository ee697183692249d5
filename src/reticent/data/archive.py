"""Arrays of .npz and .npy files: the headers are read first, and pickles are never opened.

A header says shape and type before a byte of data is unpacked. So an array of 2**42 numbers, or a
member that would unpack to gigabytes, is refused by what it declares; one that holds more or less
than it declares is damaged.

A large array that is stored as it is (``np.savez``) is not read but mapped into memory: its pages
are those of the file, which the system loads when they are looked at and drops when memory is
short. Its check sum is computed first. The file must stay as it is while it is used.
"""

import lzma
import math
import struct
import tokenize
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import numpy as np

from reticent.arrays import Array
from reticent.read_limit import refuse_above_limit
from reticent.validation import InputError

_DAMAGED: Final = (
    *(ValueError, TypeError, KeyError, OverflowError, MemoryError, SyntaxError),
    *(EOFError, RuntimeError, struct.error, tokenize.TokenError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""What numpy and zipfile raise on bytes that are not what they seem."""
_ENDING: Final = ".npy"
_LOCAL_HEADER: Final = struct.Struct("<4s22xHH")
"""Of a zip member: a mark, and how long the name and the extra field behind it are."""
_CHECKED: Final = 1 << 24
MAPPED_FROM: Final = 1 << 26
"""Bytes of an array from which on it is mapped; smaller ones are read."""


class _Header(NamedTuple):
    """What a .npy header declares, and how long it is itself."""

    shape: tuple[int, ...]
    kind: np.dtype[np.generic]
    length: int
    by_rows: bool = True
    """C order: the numbers of a record stand together."""

    @property
    def size(self) -> int:
        """The bytes that the header promises, from its shape and type: nothing is read."""
        return math.prod(self.shape) * self.kind.itemsize

    @property
    def needed(self) -> int:
        """Bytes in memory: the array, and the float64 table or the sorted texts made of it."""
        if self.kind.kind == "U":
            return 3 * self.size
        as_table = self.kind != np.float64 and len(self.shape) <= 2
        return self.size + (8 * math.prod(self.shape) if as_table else 0)

    def is_mapped(self, info: zipfile.ZipInfo) -> bool:
        """Whether the member is large, and stored as tables of features are held in memory."""
        stored = info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size
        held = self.kind in (np.float64, np.float32) and self.kind.isnative
        return (
            stored and held and self.by_rows and len(self.shape) == 2 and self.size >= MAPPED_FROM
        )


def archive(path: Path) -> dict[str, Array]:
    """The arrays of an .npz file by name, if all of them fit below the limit (``read_limit``)."""
    try:
        with path.open("rb") as stream:
            if stream.read(6) == np.lib.format.MAGIC_PREFIX:
                raise InputError(f"{path.name} must be an .npz archive, got a single array")
            with zipfile.ZipFile(stream) as file:
                return _members(path, file)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path.name} must be readable, got {_reason(error)}") from None
    except _DAMAGED:
        raise InputError(
            f"{path.name} must be a whole .npz archive, got one cut short or another file"
        ) from None


def single_array(path: Path, *, role: str) -> Array:
    """The array of a .npy file."""
    refused = InputError(f"{role} must be a file of one plain array, got {path.name!r}")
    try:
        with path.open("rb") as stream:
            header = _header(stream)
            if header.kind.hasobject or path.stat().st_size != header.length + header.size:
                raise refused
            refuse_above_limit(path.name, header.needed)
            stream.seek(0)
            return _data(stream)
    except InputError:
        raise
    except (OSError, *_DAMAGED):
        raise refused from None


def _members(path: Path, file: zipfile.ZipFile) -> dict[str, Array]:
    """All members after all headers: what does not fit is known before anything is unpacked."""
    infos = {info.filename.removesuffix(_ENDING): info for info in file.infolist()}
    if len(infos) < len(file.infolist()):
        raise InputError(f"{path.name} must name its arrays differently, got a name twice")
    needed = 0
    headers = {}
    for name, info in infos.items():
        if not name.isprintable() or not info.filename.endswith(_ENDING):
            raise _not_plain(path, name)
        with file.open(info) as stream:
            header = headers[name] = _header(stream)
        if header.kind.hasobject:
            raise _not_plain(path, name)
        if header.length + header.size != info.file_size:
            raise InputError(
                f"{path.name} must hold arrays as long as their headers say, got {name!r} of"
                f" shape {header.shape} in {info.file_size} bytes"
            )
        needed += 0 if header.is_mapped(info) else header.needed
    refuse_above_limit(path.name, needed)
    return {name: _array(file, info, headers[name]) for name, info in infos.items()}


def _array(file: zipfile.ZipFile, info: zipfile.ZipInfo, header: _Header) -> Array:
    if header.is_mapped(info):
        return _mapped(file, info, header)
    with file.open(info) as stream:
        array = _data(stream)
        stream.read()  # the check sum stands behind the last byte
        return array


def _mapped(file: zipfile.ZipFile, info: zipfile.ZipInfo, header: _Header) -> Array:
    """The array of a stored member as pages of the file, after one look at all of them."""
    stream: Any = file.fp
    stream.seek(info.header_offset)
    _, name, extra = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
    start = info.header_offset + _LOCAL_HEADER.size + name + extra
    stream.seek(start)
    if _check_sum(stream, info.file_size) != info.CRC:
        raise zipfile.BadZipFile("another check sum")
    return np.memmap(
        stream, dtype=header.kind, mode="r", offset=start + header.length, shape=header.shape
    )


def _check_sum(stream: IO[bytes], size: int) -> int:
    check_sum = 0
    while size:
        part = stream.read(min(size, _CHECKED))
        if not part:
            raise EOFError("cut short")
        check_sum, size = zlib.crc32(part, check_sum), size - len(part)
    return check_sum


def _data(stream: IO[bytes]) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a header is of Python 2: it was read
        array: Array = np.lib.format.read_array(stream, allow_pickle=False)
        return array


def _header(stream: IO[bytes]) -> _Header:
    reading = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[np.lib.format.read_magic(stream)]  # others are of arrays that are not plain
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shape, by_columns, kind = reading(stream)
    if any(size < 0 for size in shape):
        raise ValueError("a negative size")
    return _Header(shape=shape, kind=kind, length=stream.tell(), by_rows=not by_columns)


def _not_plain(path: Path, name: str) -> InputError:
    return InputError(
        f"{path.name} must hold plain arrays, got pickled objects or another file in {name!r}:"
        " store numbers or fixed-length texts"
    )


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
