"""Files that appear whole or not at all."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from reticent.validation import InputError


def write_atomic(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write under another name first, which an interruption leaves nothing of.

    A ``private`` file can be read by its owner alone.
    """
    write_together({path: content}, private=private)


def write_together(contents: Mapping[Path, bytes], *, private: bool = False) -> None:
    """Write files that belong together: on a full disk none of them is there."""
    partial = {path: path.with_name(f".{path.name}.{os.getpid()}") for path in contents}
    writing = next(iter(contents), Path())
    try:
        for writing, content in contents.items():
            descriptor = os.open(
                partial[writing], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _mode(private)
            )
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        for writing, written in partial.items():
            written.replace(writing)
    except OSError as error:
        raise InputError(f"{writing} must be writable, got: {error.strerror}") from None
    finally:
        for written in partial.values():
            with contextlib.suppress(OSError):  # what could not be made need not be removed
                written.unlink()


def writable_file(path: Path) -> Path:
    """The path, where a file can be written to it; before long work, not after it."""
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"{path} must be a file in a folder that exists, got another")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path} must be writable, got a folder that is not")
    return path


def writable_folder(path: Path) -> Path:
    """The folder, made where it is not there; before long work, not after it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path} must be a folder, got: {error.strerror}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(f"{path} must be writable, got a folder that is not")
    return path


@contextlib.contextmanager
def folder_for(path: Path) -> Iterator[Path]:
    """A writable folder for the results of long work; one made for it goes where the work fails."""
    was_there = path.exists()
    folder = writable_folder(path)
    try:
        yield folder
    except BaseException:
        if not was_there:
            with contextlib.suppress(OSError):  # something stands in it
                folder.rmdir()
        raise


def _mode(private: bool) -> int:
    return 0o600 if private else 0o666
