"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from reticent.validation import InputError


def write_whole(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write under another name first, which an interruption leaves nothing of.

    A ``private`` file can be read by its owner alone.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _mode(private))
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise InputError(f"{path} must be writable, got: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)


def writable_folder(path: Path) -> Path:
    """The folder, made where it is not there; before long work, not after it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path} must be a folder, got: {error.strerror}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(f"{path} must be writable, got a folder that is not")
    return path


def _mode(private: bool) -> int:
    return 0o600 if private else 0o666
