"""The data folder: where files are looked for, and the one line that says which is missing."""

import gzip
import os
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reticent.arrays import Array
from reticent.validation import InputError

VARIABLE: Final = "RETICENT_DATA"


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


def content(path: Path) -> bytes:
    """All bytes of a file, unpacked where its name ends in .gz."""
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as stream:
                return stream.read()
        return path.read_bytes()
    except EOFError:
        raise InputError(f"{path.name} must be a whole gzip file, got one cut short") from None
    except (gzip.BadGzipFile, zlib.error):
        raise InputError(f"{path.name} must be a gzip file, got a damaged or other one") from None
    except OSError as error:
        raise _unreadable(path, error) from None


def decoded(path: Path) -> str:
    """The text of a UTF-8 file."""
    try:
        return content(path).decode("utf-8-sig")
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
    return np.memmap(path, dtype=np.uint8, mode="r", shape=(length // size, size))


def archive(path: Path) -> dict[str, Array]:
    """The arrays of an .npz file by name; pickled objects are never opened."""
    try:
        with path.open("rb") as stream:
            return _members(path, np.load(stream, allow_pickle=False))
    except InputError:
        raise
    except OSError as error:
        raise _unreadable(path, error) from None
    except (ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error):
        raise InputError(
            f"{path.name} must be a whole .npz archive, got one cut short or another file"
        ) from None


def _members(path: Path, stored: Any) -> dict[str, Array]:
    if not isinstance(stored, np.lib.npyio.NpzFile):
        raise InputError(f"{path.name} must be an .npz archive, got a single array")
    return {name: _member(path, stored, name) for name in stored.files}


def _member(path: Path, stored: Any, name: str) -> Array:
    try:
        array = stored[name]
    except ValueError as error:
        if "Object arrays" not in str(error):
            raise
        array = None
    if not isinstance(array, np.ndarray):
        raise InputError(
            f"{path.name} must hold plain arrays, got pickled objects or another file in {name!r}:"
            " store numbers or fixed-length texts"
        )
    return array


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path.name} must be readable, got {error.strerror or error}")
