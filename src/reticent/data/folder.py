"""The data folder: where files are looked for, and the one line that says which is missing."""

import gzip
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reticent.read_limit import read_limit, refuse_above_limit
from reticent.validation import InputError

VARIABLE: Final = "RETICENT_DATA"
_GROWTH: Final = 32
"""A Python text of two characters takes 51 bytes, and the place in a list 8 more."""


def data_folder(path: str | os.PathLike[str] | None = None) -> Path:
    """The folder that was given, or else the one that the variable RETICENT_DATA names."""
    chosen = path if path is not None else os.environ.get(VARIABLE)
    if not chosen:
        raise InputError(f"data folder must be given, got none: pass it or set {VARIABLE}")
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        raise InputError(f"data folder must be a folder, got {str(folder)!r}")
    return folder


def find(folder: Path, names: Sequence[str], *, get: str) -> Path:
    """The first of these files that exists; otherwise an error that says how to get it.

    A name is a path from the data folder on; the same file is accepted in the folder itself.
    """
    places = [folder / name for name in names]
    places += [folder / Path(name).name for name in names]
    for place in places:
        if place.is_file():
            return place
    wanted = " or ".join(dict.fromkeys(names))
    raise InputError(f"{wanted} must be in {str(folder)!r}, got no such file: get {get}")


def content(path: Path, *, growth: int = 1) -> bytes:
    """All bytes of a file, unpacked where its name ends in .gz.

    What is made of them takes ``growth`` times as much memory, at most; they are unpacked no
    further than fits below the limit (``read_limit``).
    """
    most = read_limit() // growth
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            data = stream.read(most + 1)
    except EOFError:
        raise InputError(f"{path.name} must be a whole gzip file, got one cut short") from None
    except (gzip.BadGzipFile, zlib.error):
        raise InputError(f"{path.name} must be a gzip file, got a damaged or other one") from None
    except OSError as error:
        raise _unreadable(path, error) from None
    refuse_above_limit(path.name, growth * len(data))
    return data


def decoded(path: Path) -> str:
    """The text of a UTF-8 file, to be cut into small texts."""
    try:
        return content(path, growth=_GROWTH).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name} must be UTF-8, got byte {error.start} that is not") from None


def records(path: Path, size: int) -> NDArray[np.uint8]:
    """A binary file of records of one size, as rows that stay on disk until they are read."""
    length = path.stat().st_size
    if length == 0 or length % size:
        raise InputError(
            f"{path.name} must hold whole records of {size} bytes, got {length} bytes in all:"
            " it is cut short or another file"
        )
    refuse_above_limit(path.name, 2 * length)  # the images are turned, one copy
    return np.memmap(path, dtype=np.uint8, mode="r", shape=(length // size, size))


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path.name} must be readable, got {error.strerror or error}")
