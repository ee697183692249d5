"""How much memory the reading of one file may take: said by headers before it is taken.

Packed files grow: 3 MB of .npz and 261 KB of .csv.gz became more than 2 GiB. A reader adds up what
the headers of a file declare, or what it has unpacked so far, and refuses to go on above the limit.
Whoever trusts a larger file raises it: ``reticent --read-limit 16G``, or RETICENT_READ_LIMIT.
"""

import os
import re
from pathlib import Path
from typing import Final

from reticent.validation import InputError

VARIABLE: Final = "RETICENT_READ_LIMIT"
DEFAULT: Final = "1792M"
"""With the interpreter and its libraries the process stays below 2 GiB."""
_SIZE: Final = re.compile(r"(\d{1,12})(|[kKmMgGtT])(?:i?B)?")
_SHOWN: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes"))
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def read_limit() -> int:
    """Bytes; the variable is asked anew each time, and worker processes inherit it."""
    return size_of(os.environ.get(VARIABLE) or DEFAULT)


def size_of(written: str) -> int:
    """Bytes of a size as people write it.

    >>> size_of("3M"), size_of("1792MiB")
    (3145728, 1879048192)
    """
    match = _SIZE.fullmatch(written.strip())
    if match is None or not int(match[1]):
        raise InputError(f"{VARIABLE} must be a size such as 512M or 16G, got {written!r}")
    return int(match[1]) * _UNITS[match[2].lower()]


def refuse_above_limit(file: str, needed: int) -> None:
    """Stop before so many bytes are taken for a file; the line says how to allow them."""
    limit = read_limit()
    if needed > limit:
        raise InputError(
            f"{file} must take at most {_shown(limit)} of memory to read, got"
            f" {_shown(needed)} or more: if you trust the file, raise the limit"
            f" ({VARIABLE}={_enough(needed)}, or reticent --read-limit {_enough(needed)})"
        )


def bounded_bytes(path: Path, *, most: int | None = None, role: str | None = None) -> bytes:
    """All bytes of a file, and never more than allowed: a pipe or device has no end to wait for."""
    allowed = read_limit() if most is None else min(most, read_limit())
    try:
        with path.open("rb") as file:
            content = file.read(allowed + 1)
    except OSError as error:
        what = f"{role} {path}" if role else str(path)
        raise InputError(f"{what} must be a readable file, got {error.strerror}") from None
    if len(content) <= allowed:
        return content
    if most is None or allowed < most:
        refuse_above_limit(path.name, max(len(content), path.stat().st_size))
    raise InputError(f"{path} must be a file of at most {allowed} bytes, got a larger one")


def _shown(size: int) -> str:
    unit, name = next((unit, name) for unit, name in _SHOWN if size >= unit // 4)
    return f"{size / unit:.3g} {name}"


def _enough(size: int) -> str:
    """A round size that suffices."""
    return f"{-(-size // 2**30)}G" if size > 1 << 28 else f"{-(-size // 2**20)}M"
